//! Compares the runner's CNNs with reference implementations on the same weights. This program
//! draws weights and images, runs our CNNs, and writes the results; `reference.py` runs PyTorch on
//! the same numbers and compares.
//!
//! `make parity` runs both. The crate is compiled separately, so that its features do not reach the
//! other crates.

mod draw;
mod gradients;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use burn::module::Module;
use burn::store::{BurnToPyTorchAdapter, ModuleSnapshot as _, PyTorchToBurnAdapter, SafetensorsStore};
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use rand::{SeedableRng as _, rngs::ChaCha8Rng};
use safetensors::{Dtype, tensor::TensorView};

use foreglow_architectures::{ALL, Input, Shape, USUAL_VECTOR_DIMS};
use foreglow_cnn::text::{TextCnn, TextLstm};
use foreglow_cnn::{cnn11::Cnn11, inception::InceptionV4, lenet5::LeNet5, mobilenet::MobileNetV2};
use foreglow_cnn::{resnet::ResNet, resnet_cifar::ResNet20, vgg::Vgg16, vgg_cifar::VggCifar, xception::Xception};

use draw::{As, Draw, WithoutDropout, numbers};
use gradients::Gradients;

/// Images per batch: batch normalisation needs more than one.
const IMAGES: usize = 2;
/// Largest image. It leaves three pixels per side at the end of Inception-v4, which shrinks images
/// most; larger images would add no coverage.
const LARGEST_PX: u32 = 139;
/// Words per text: more than the recurrent classifier processes in one block.
const WORDS: usize = 60;
const SEED: u64 = 4;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().context("the first argument is the folder to write to")?);
    let names: Vec<String> = arguments.collect();
    for architecture in ALL {
        let (name, classes) = (architecture.name, architecture.classes);
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        eprintln!("running our {name}");
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder)?;
        let shape = match &architecture.input {
            Input::Images { colour, default_px, .. } => colour.shape((*default_px).min(LARGEST_PX)),
            Input::Texts { .. } => [1, WORDS, USUAL_VECTOR_DIMS],
        };
        let work = Work { folder, shape };
        match name {
            "lenet5" => work.run(|device| LeNet5::new(classes, device), LeNet5::forward),
            "cnn11" => work.run(|device| Cnn11::new(classes, device), Cnn11::forward),
            "vgg16" => work.run(|device| Vgg16::new(classes, device), Vgg16::forward),
            "resnet18" => work.run(|device| ResNet::resnet18(classes, device), ResNet::forward),
            "resnet50" => work.run(|device| ResNet::resnet50(classes, device), ResNet::forward),
            "inception_v4" => work.run(|device| InceptionV4::new(classes, device), InceptionV4::forward),
            "xception" => work.run(|device| Xception::new(classes, device), Xception::forward),
            "mobilenet_v2" => work.run(|device| MobileNetV2::new(classes, device), MobileNetV2::forward),
            "resnet20_cifar" => work.run(|device| ResNet20::new(classes, device), ResNet20::forward),
            "vgg16_cifar" => work.run(|device| VggCifar::new(classes, device), VggCifar::forward),
            "text_cnn" => work.run(|device| TextCnn::new(shape, classes, device), TextCnn::forward),
            "text_lstm" => work.run(|device| TextLstm::new(shape, classes, device), TextLstm::forward),
            _ => anyhow::bail!("{name} has no entry here and no reference in reference.py"),
        }
        .with_context(|| format!("{name} did not run"))?;
    }
    Ok(())
}

type Forward<M> = fn(&M, Tensor<4>) -> Tensor<2>;

/// Output folder and input shape of one CNN.
struct Work {
    folder: PathBuf,
    shape: Shape,
}

impl Work {
    fn run<M: Module>(&self, new: impl Fn(&Device) -> M, forward: Forward<M>) -> anyhow::Result<()> {
        let mut random = ChaCha8Rng::seed_from_u64(SEED);
        let device = Device::flex();
        let module = new(&device).map(&mut Draw::new(&mut random));
        self.save(&module)?;
        let [channels, height, width] = self.shape;
        let shape = [IMAGES, channels, height, width];
        let images = TensorData::new(numbers(&mut random, shape.iter().product(), 1.0), shape);
        let scores = forward(&module, Tensor::from_data(images.clone(), &device));
        // The differentiated quantity: a weighted sum of the scores.
        let share = TensorData::new(numbers(&mut random, scores.shape().num_elements(), 1.0), scores.dims());
        for (name, dtype) in [("float32", FloatDType::F32), ("float64", FloatDType::F64)] {
            let module = self.load(new(&device))?.map(&mut As(dtype));
            let of = |data: &TensorData, device: &Device| Tensor::<4>::from_data(data.clone(), device).cast(dtype);
            let scores = forward(&module, of(&images, &device));

            let device = device.clone().autodiff();
            let module = self.load(new(&device))?.map(&mut As(dtype)).map(&mut WithoutDropout::default());
            let input = of(&images, &device).detach().require_grad();
            let training_scores = forward(&module, input.clone());
            let share = Tensor::<2>::from_data(share.clone(), &device).cast(dtype);
            let gradients = (training_scores.clone() * share).sum().backward();
            let input_gradient = input.grad(&gradients).context("the images have no gradient")?;
            let mut written = vec![
                ("scores".to_owned(), scores.into_data()),
                ("training_scores".to_owned(), training_scores.into_data()),
                ("input_gradient".to_owned(), input_gradient.into_data()),
            ];
            written.extend(Gradients::of(&module, &gradients)?);
            write(&self.folder.join(format!("{name}.safetensors")), &written)?;
        }
        write(&self.folder.join("input.safetensors"), &[("images".to_owned(), images), ("share".to_owned(), share)])
    }

    fn weights(&self) -> SafetensorsStore {
        SafetensorsStore::from_file(self.folder.join("weights.safetensors")).skip_enum_variants(true)
    }

    /// Saves the weights in PyTorch's layout, with the names in layer order, because a safetensors
    /// file sorts them.
    fn save<M: Module>(&self, module: &M) -> anyhow::Result<()> {
        let adapter = Box::new(BurnToPyTorchAdapter);
        let order: Vec<String> =
            module.collect(None, Some(adapter), true).into_iter().map(|tensor| tensor.name.to_string()).collect();
        let mut store = self
            .weights()
            .overwrite(true)
            .with_to_adapter(BurnToPyTorchAdapter)
            .metadata("order", serde_json::to_string(&order)?);
        module.save_into(&mut store).map_err(|error| anyhow::anyhow!("the weights could not be saved: {error}"))
    }

    fn load<M: Module>(&self, mut module: M) -> anyhow::Result<M> {
        let mut store = self.weights().with_from_adapter(PyTorchToBurnAdapter);
        let result = module
            .load_from(&mut store)
            .map_err(|error| anyhow::anyhow!("the weights could not be loaded: {error}"))?;
        anyhow::ensure!(result.missing.is_empty() && result.unused.is_empty(), "other weights were saved: {result}");
        Ok(module)
    }
}

fn write(path: &Path, tensors: &[(String, TensorData)]) -> anyhow::Result<()> {
    let views = tensors
        .iter()
        .map(|(name, data)| {
            let dtype = if data.dtype() == DType::F64 { Dtype::F64 } else { Dtype::F32 };
            Ok((name, TensorView::new(dtype, data.shape().to_vec(), data.as_bytes())?))
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    Ok(safetensors::serialize_to_file(views, None, path)?)
}
