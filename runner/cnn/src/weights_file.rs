//! Weights of a network in a safetensors file.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use burn::tensor::{Device, Tensor, TensorData};
use foreglow_architectures::Architecture;
use foreglow_exit::{create_in_place, read_data, unreadable, unusable};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use super::{Cnn, StateDict, device::failure, tensor_names};

/// The tensors of a network in a file.
#[derive(Debug)]
pub struct Stored<'a> {
    /// Name of the network.
    pub network: &'a str,
    /// Classes, if the user can choose their number.
    pub classes: Option<usize>,
    /// The tensors, the running statistics of batch normalisation last.
    pub tensors: Vec<StoredTensor>,
}

/// A tensor in a file.
#[derive(Debug, PartialEq)]
pub struct StoredTensor {
    /// Name.
    pub name: String,
    /// Dimensions in the file.
    pub dims: Vec<usize>,
    /// Whether it is a matrix `[out, in]`, which Burn stores transposed.
    pub is_transposed: bool,
    /// Whether it is a running statistic of batch normalisation.
    pub is_running: bool,
}

impl StoredTensor {
    /// Returns a learned tensor that Burn stores in the same layout.
    pub fn of(name: &str, dims: &[usize]) -> Self {
        Self { name: name.to_owned(), dims: dims.to_vec(), is_transposed: false, is_running: false }
    }
}

impl<'a> Stored<'a> {
    /// Returns the tensors of a built-in CNN, with the names and layouts of PyTorch, which stores
    /// fully connected layers as `[out, in]`.
    pub fn built_in(architecture: &'a Architecture, cnn: &dyn Cnn) -> Self {
        let tensor = |parameter: crate::Parameter| {
            let (is_transposed, mut dims) = (parameter.dims.len() == 2, parameter.dims);
            if is_transposed {
                dims.reverse();
            }
            let field = parameter.path.rsplit('.').next();
            let is_running = field.is_some_and(|name| name.starts_with("running_"));
            let name = tensor_names::of(architecture.name, &parameter.path);
            StoredTensor { name, dims, is_transposed, is_running }
        };
        let tensors = cnn.layout().into_iter().map(tensor).collect();
        Self { network: architecture.name, classes: Some(architecture.classes), tensors }
    }
}

/// Reads the weights of a network onto a device.
///
/// # Errors
/// The file cannot be read, a tensor is missing or has another shape, or a number is not finite.
pub fn load(path: &Path, stored: &Stored<'_>, device: &Device) -> anyhow::Result<StateDict> {
    let mut numbers = StateDict::default();
    read(path, stored, |tensor, values| {
        let list = if tensor.is_running { &mut numbers.running } else { &mut numbers.learned };
        let count = values.len();
        list.push(Tensor::<1>::from_data(TensorData::new(values, [count]), device));
    })?;
    Ok(numbers)
}

/// Checks that a file has the weights of a network.
///
/// # Errors
/// As for [`load`].
pub fn check(path: &Path, stored: &Stored<'_>) -> anyhow::Result<()> {
    read(path, stored, |_, _| {})
}

/// Saves weights; an existing file is replaced only after all weights are written.
///
/// # Errors
/// The device fails, or the file cannot be written.
pub fn save(path: &Path, stored: &Stored<'_>, numbers: &StateDict) -> anyhow::Result<()> {
    let mut tensors = Vec::new();
    for (tensor, of) in stored.tensors.iter().zip(numbers.learned.iter().chain(&numbers.running)) {
        let data = of.clone().try_into_data().map_err(failure).context("the weights could not be read")?;
        let mut values: Vec<f32> = data.iter::<f32>().collect();
        if let (true, [outputs, inputs]) = (tensor.is_transposed, &tensor.dims[..]) {
            values = transposed(&values, *inputs, *outputs);
        }
        let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
        tensors.push((&tensor.name, &tensor.dims, bytes));
    }
    let views =
        tensors.iter().map(|(name, dims, bytes)| Ok((name, TensorView::new(Dtype::F32, dims.to_vec(), bytes)?)));
    let write = || -> anyhow::Result<()> {
        let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        create_in_place(part.as_ref())?.write_all(&safetensors::serialize(views, None)?)?;
        Ok(std::fs::rename(&part, path)?)
    };
    write().with_context(|| format!("the weights could not be saved to {}", path.display()))
}

/// Reads the tensors of a network in their order, in Burn's layout.
fn read(path: &Path, stored: &Stored<'_>, mut take: impl FnMut(&StoredTensor, Vec<f32>)) -> anyhow::Result<()> {
    let (shown, network) = (path.display(), stored.network);
    let bytes = read_data(path).map_err(|error| unreadable(path, &error))?;
    let file = SafeTensors::deserialize(&bytes)
        .map_err(|error| unusable(format!("{shown} is not a complete safetensors file: {error}")))?;
    for expected in &stored.tensors {
        let name = &expected.name;
        let tensor = file.tensor(name).map_err(|_| {
            unusable(format!("{shown} has no tensor {name}, which {network} needs; it belongs to another network"))
        })?;
        if tensor.shape() != expected.dims {
            let (there, expected) = (times(tensor.shape()), times(&expected.dims));
            return Err(unusable(match stored.classes {
                Some(classes) => format!(
                    "the tensor {name} in {shown} is {there}, and {network} with {classes} classes needs {expected}; \
                     give the --classes and the size that the weights were trained for"
                ),
                None => format!(
                    "the tensor {name} in {shown} is {there}, and {network} needs {expected}; it belongs to another \
                     network"
                ),
            }));
        }
        if tensor.dtype() != Dtype::F32 {
            let format = tensor.dtype();
            return Err(unusable(format!("the tensor {name} in {shown} is in {format:?}; convert it to F32")));
        }
        let number = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes);
        let (numbers, _) = tensor.data().as_chunks::<4>();
        let mut values: Vec<f32> = numbers.iter().map(number).collect();
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(unusable(format!("the tensor {name} in {shown} contains {value}; weights are finite")));
        }
        if let (true, [outputs, inputs]) = (expected.is_transposed, &expected.dims[..]) {
            values = transposed(&values, *outputs, *inputs);
        }
        take(expected, values);
    }
    Ok(())
}

/// Transposes a matrix stored row by row.
fn transposed(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| (0..rows).map(move |row| values[row * columns + column])).collect()
}

fn times(dims: &[usize]) -> String {
    dims.iter().map(usize::to_string).collect::<Vec<_>>().join("×")
}

#[cfg(test)]
mod tests {
    use foreglow_architectures::{LENET5, RESNET20_CIFAR};

    use super::*;
    use crate::Build as _;

    fn flat(numbers: &StateDict) -> Vec<f32> {
        let tensors = numbers.learned.iter().chain(&numbers.running);
        tensors.flat_map(|tensor| tensor.clone().into_data().try_to_vec::<f32>().unwrap()).collect()
    }

    fn bytes(entries: &[(&str, Vec<usize>, Vec<f32>)]) -> Vec<u8> {
        let tensors: Vec<(&str, Vec<usize>, Vec<u8>)> = entries
            .iter()
            .map(|(name, dims, values)| (*name, dims.clone(), values.iter().flat_map(|v| v.to_le_bytes()).collect()))
            .collect();
        let views = tensors
            .iter()
            .map(|(name, dims, bytes)| (*name, TensorView::new(Dtype::F32, dims.clone(), bytes).unwrap()));
        safetensors::serialize(views, None).unwrap()
    }

    #[test]
    fn saved_weights_are_loaded_unchanged_and_fully_connected_layers_are_transposed_in_the_file() {
        let (device, folder) = (Device::flex(), tempfile::tempdir().unwrap());
        let path = folder.path().join("w.safetensors");
        let (architecture, shape) = (Architecture { classes: 7, ..RESNET20_CIFAR }, [3, 32, 32]);
        let cnn = architecture.build(3, shape, &device);
        let stored = Stored::built_in(&architecture, cnn.as_ref());
        save(&path, &stored, &cnn.numbers()).unwrap();
        let loaded = load(&path, &stored, &device).unwrap();
        assert_eq!(flat(&loaded), flat(&cnn.numbers()));
        let file = std::fs::read(&path).unwrap();
        let file = SafeTensors::deserialize(&file).unwrap();
        assert_eq!(file.tensor("fc.weight").unwrap().shape(), [7, 64]);
        assert_eq!(file.tensor("stem.norm.running_var").unwrap().shape(), [16]);
        assert_eq!(transposed(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn a_file_that_does_not_fit_is_refused_in_one_sentence() {
        let (device, folder) = (Device::flex(), tempfile::tempdir().unwrap());
        let path = folder.path().join("w.safetensors");
        let cnn = LENET5.build(3, [1, 32, 32], &device);
        let stored = Stored::built_in(&LENET5, cnn.as_ref());
        let said = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            check(&path, &stored).unwrap_err().to_string()
        };
        assert!(said(b"shopping list").contains("is not a complete safetensors file"));
        let zeros = |count: usize| vec![0.0; count];
        assert!(
            said(&bytes(&[("fc.bias", vec![2], zeros(2))])).contains("has no tensor conv1.weight, which lenet5 needs")
        );
        let misshapen = said(&bytes(&[("conv1.weight", vec![6, 1, 3, 3], zeros(54))]));
        assert!(misshapen.contains("is 6×1×3×3, and lenet5 with 10 classes needs 6×1×5×5"), "{misshapen}");
        let mut values = zeros(150);
        values[149] = f32::NAN;
        let nan = said(&bytes(&[("conv1.weight", vec![6, 1, 5, 5], values)]));
        assert!(nan.contains("the tensor conv1.weight in") && nan.contains("contains NaN"), "{nan}");
        save(&path, &stored, &cnn.numbers()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        assert!(said(&whole[..whole.len() - 9]).contains("is not a complete safetensors file"));
    }
}
