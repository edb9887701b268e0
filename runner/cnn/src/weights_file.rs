//! Weights of a built-in CNN in a safetensors file, with the names and layouts of PyTorch.

use std::path::Path;

use anyhow::Context as _;
use burn::tensor::{Device, Tensor, TensorData};
use foreglow_architectures::Architecture;
use foreglow_exit::{unreadable, unusable};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use super::weights::Parameter;
use super::{Cnn, Numbers, device::failure, tensor_names};

/// Reads the weights of a CNN onto a device.
///
/// # Errors
/// The file cannot be read, a tensor is missing or has another shape, or a number is not finite.
pub fn load(path: &Path, architecture: &Architecture, cnn: &dyn Cnn, device: &Device) -> anyhow::Result<Numbers> {
    let mut numbers = Numbers::default();
    read(path, architecture, cnn, |parameter, values| {
        let count = values.len();
        let tensor = Tensor::<1>::from_data(TensorData::new(values, [count]), device);
        let list = if is_running(parameter) { &mut numbers.running } else { &mut numbers.learned };
        list.push(tensor);
    })?;
    Ok(numbers)
}

/// Checks that a file has the weights of a CNN.
///
/// # Errors
/// As for [`load`].
pub fn check(path: &Path, architecture: &Architecture, cnn: &dyn Cnn) -> anyhow::Result<()> {
    read(path, architecture, cnn, |_, _| {})
}

/// Saves weights; an existing file is replaced only once all of them are written.
///
/// # Errors
/// The device fails, or the file cannot be written.
pub fn save(path: &Path, architecture: &Architecture, cnn: &dyn Cnn, numbers: &Numbers) -> anyhow::Result<()> {
    let mut tensors = Vec::new();
    for (parameter, tensor) in cnn.layout().iter().zip(numbers.learned.iter().chain(&numbers.running)) {
        let data = tensor.clone().try_into_data().map_err(failure).context("the weights could not be read")?;
        let mut values: Vec<f32> = data.iter::<f32>().collect();
        if let [inputs, outputs] = parameter.dims[..] {
            values = transposed(&values, inputs, outputs);
        }
        let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
        tensors.push((tensor_names::of(architecture.name, &parameter.path), dims(parameter), bytes));
    }
    let views = tensors.iter().map(|(name, dims, bytes)| Ok((name, TensorView::new(Dtype::F32, dims.clone(), bytes)?)));
    let write = || -> anyhow::Result<()> {
        let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        std::fs::write(&part, safetensors::serialize(views, None)?)?;
        Ok(std::fs::rename(&part, path)?)
    };
    write().with_context(|| format!("the weights could not be saved to {}", path.display()))
}

/// Reads the tensors of a CNN in the order of [`Cnn::layout`], in Burn's layout.
fn read(
    path: &Path,
    architecture: &Architecture,
    cnn: &dyn Cnn,
    mut take: impl FnMut(&Parameter, Vec<f32>),
) -> anyhow::Result<()> {
    let (shown, name) = (path.display(), architecture.name);
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    let file = SafeTensors::deserialize(&bytes)
        .map_err(|error| unusable(format!("{shown} is not a complete safetensors file: {error}")))?;
    for parameter in cnn.layout() {
        let tensor_name = tensor_names::of(name, &parameter.path);
        let tensor = file.tensor(&tensor_name).map_err(|_| {
            unusable(format!("{shown} has no tensor {tensor_name}, which {name} needs; it belongs to another network"))
        })?;
        let expected = dims(&parameter);
        if tensor.shape() != expected {
            let (there, expected) = (times(tensor.shape()), times(&expected));
            let classes = architecture.classes;
            return Err(unusable(format!(
                "the tensor {tensor_name} in {shown} is {there}, and {name} with {classes} classes needs {expected}; \
                 give the --classes and the size that the weights were trained for"
            )));
        }
        if tensor.dtype() != Dtype::F32 {
            let format = tensor.dtype();
            return Err(unusable(format!("the tensor {tensor_name} in {shown} is in {format:?}; convert it to F32")));
        }
        let number = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes);
        let (numbers, _) = tensor.data().as_chunks::<4>();
        let mut values: Vec<f32> = numbers.iter().map(number).collect();
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(unusable(format!("the tensor {tensor_name} in {shown} contains {value}; weights are finite")));
        }
        if let [inputs, outputs] = parameter.dims[..] {
            values = transposed(&values, outputs, inputs);
        }
        take(&parameter, values);
    }
    Ok(())
}

fn is_running(parameter: &Parameter) -> bool {
    parameter.path.rsplit('.').next().is_some_and(|name| name.starts_with("running_"))
}

/// Returns the dimensions in a file: PyTorch stores fully connected layers as `[out, in]`, Burn as
/// `[in, out]`.
fn dims(parameter: &Parameter) -> Vec<usize> {
    match parameter.dims[..] {
        [inputs, outputs] => vec![outputs, inputs],
        _ => parameter.dims.clone(),
    }
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

    fn flat(numbers: &Numbers) -> Vec<f32> {
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
        save(&path, &architecture, cnn.as_ref(), &cnn.numbers()).unwrap();
        let empty = architecture.build_empty(shape, &device);
        let loaded = load(&path, &architecture, empty.as_ref(), &device).unwrap();
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
        let said = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            check(&path, &LENET5, cnn.as_ref()).unwrap_err().to_string()
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
        save(&path, &LENET5, cnn.as_ref(), &cnn.numbers()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        assert!(said(&whole[..whole.len() - 9]).contains("is not a complete safetensors file"));
    }
}
