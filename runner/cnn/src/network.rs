//! A network that the user names: a built-in CNN or an ONNX file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use burn::tensor::Device;
use foreglow_architectures::{Architecture, Colour, Input, Shape};
use foreglow_exit::unusable;
use foreglow_onnx::{Costs, Error};
use foreglow_shared::{NetworkFile, Workload};

use super::onnx::{OnnxCnn, OnnxFile};
use super::{Build as _, Cnn, Numbers, Size, Trace, weights_file};

/// Ending of the name of an ONNX file.
const ENDING: &str = ".onnx";
/// Bytes of a number.
const FLOAT: u64 = 4;
/// Largest side of an image, pixels, that a file which leaves the side open may get.
const LARGEST_PX: u32 = 4096;

/// A CNN of this crate with the user's choices.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    /// The CNN, with the number of classes of the job.
    architecture: Architecture,
    /// File with its weights; `None` to draw them from the seed.
    weights: Option<PathBuf>,
}

/// A network that can be built on a device.
#[derive(Clone, Debug)]
pub enum Network {
    /// One of the CNNs in this crate.
    BuiltIn(BuiltIn),
    /// A network in a file.
    Onnx(Arc<OnnxFile>),
}

impl Network {
    /// Returns the CNN with this name, or reads the ONNX file at this path.
    ///
    /// # Errors
    /// There is no such CNN, or the file is missing or cannot be used.
    pub fn named(model: &str) -> anyhow::Result<Self> {
        if model.ends_with(ENDING) {
            return Self::open(Path::new(model));
        }
        let built_in = |it: &Architecture| Self::BuiltIn(BuiltIn { architecture: it.clone(), weights: None });
        Architecture::named(model).map(built_in).ok_or_else(|| {
            let names = Architecture::names();
            unusable(format!("there is no CNN {model}; choose one of: {names}; or give an ONNX file, net.onnx"))
        })
    }

    /// Reads an ONNX file.
    ///
    /// # Errors
    /// The file is missing, or its network cannot be used.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let file = OnnxFile::open(path)?;
        let network = Self::Onnx(Arc::new(file));
        network.input()?;
        Ok(network)
    }

    /// Returns the network with this number of classes; `None` leaves them as they are.
    ///
    /// # Errors
    /// The classes of a network from a file are fixed.
    pub fn with_classes(mut self, classes: Option<u32>) -> anyhow::Result<Self> {
        match (&mut self, classes) {
            (Self::BuiltIn(it), Some(classes)) => it.architecture.classes = classes as usize,
            (Self::Onnx(file), Some(_)) => {
                let name = &file.name;
                return Err(unusable(format!("--classes is for built-in CNNs, and {name} has its own; leave it out")));
            }
            (_, None) => {}
        }
        Ok(self)
    }

    /// Returns the network with the weights in this file; `None` leaves them as they are.
    ///
    /// # Errors
    /// A network from a file has its own weights.
    pub fn with_weights(mut self, weights: Option<&Path>) -> anyhow::Result<Self> {
        match (&mut self, weights) {
            (Self::BuiltIn(it), Some(path)) => it.weights = Some(path.to_owned()),
            (Self::Onnx(file), Some(_)) => {
                let name = &file.name;
                return Err(unusable(format!("--weights is for built-in CNNs, and {name} has its own; leave it out")));
            }
            (_, None) => {}
        }
        Ok(self)
    }

    /// Checks that the file with the weights, if there is one, fits a network for inputs of this
    /// shape.
    ///
    /// # Errors
    /// The file cannot be read, a tensor is missing or has another shape, or a number is not
    /// finite.
    pub fn check_weights(&self, shape: Shape) -> anyhow::Result<()> {
        let Self::BuiltIn(BuiltIn { architecture, weights: Some(path) }) = self else { return Ok(()) };
        let cnn = architecture.build_empty(shape, &Device::flex());
        weights_file::check(path, architecture, cnn.as_ref())
    }

    /// Saves the weights of a built-in CNN for inputs of this shape.
    ///
    /// # Errors
    /// The network is from a file, or the weights cannot be written.
    pub fn save_weights(&self, path: &Path, shape: Shape, numbers: &Numbers) -> anyhow::Result<()> {
        let Self::BuiltIn(BuiltIn { architecture, .. }) = self else {
            anyhow::bail!("the weights of a network from a file cannot be saved");
        };
        let cnn = architecture.build_empty(shape, &Device::flex());
        weights_file::save(path, architecture, cnn.as_ref(), numbers)
    }

    /// Returns the network of a workload.
    ///
    /// # Errors
    /// The CNN is unknown, or its file is missing.
    pub fn of(workload: &Workload) -> anyhow::Result<Self> {
        match workload.network_file() {
            Some(file) => Self::open(Path::new(&file.path)),
            None => Self::named(&workload.model)?.with_classes(workload.classes()),
        }
    }

    /// Returns the network of an executor's job. Its file must have the content for which the job
    /// was planned.
    ///
    /// # Errors
    /// As for [`Self::of`], or the file differs.
    pub fn of_job(model: &str, file: Option<&NetworkFile>) -> anyhow::Result<Self> {
        let Some(file) = file else { return Self::named(model) };
        let network = Self::open(Path::new(&file.path))?;
        let fingerprint = network.file().map(OnnxFile::fingerprint).transpose()?;
        anyhow::ensure!(
            fingerprint.as_ref() == Some(&file.fingerprint),
            "{} on this machine is not the network of the job: its content differs",
            file.path
        );
        Ok(network)
    }

    /// Returns the name in samples: that of the CNN, or of the file without its folder.
    pub fn name(&self) -> &str {
        match self {
            Self::BuiltIn(it) => it.architecture.name,
            Self::Onnx(file) => &file.name,
        }
    }

    /// Returns the file; `None` for a built-in CNN.
    pub fn file(&self) -> Option<&OnnxFile> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Onnx(file) => Some(file),
        }
    }

    /// Returns kind and size of the inputs. The default side is 0 if a file leaves it open.
    ///
    /// # Errors
    /// A file takes no square images in grey or colour.
    pub fn input(&self) -> anyhow::Result<Input> {
        let file = match self {
            Self::BuiltIn(it) => return Ok(it.architecture.input.clone()),
            Self::Onnx(file) => file,
        };
        let (name, network) = (&file.name, &file.network);
        let (fixed, any) = (network.image_shape(None), network.image_shape(Some(LARGEST_PX as usize)));
        let [channels, height, width] = any.map_err(|error| said(name, &error))?;
        let colour = match channels {
            1 => Colour::Grey,
            3 => Colour::Rgb,
            _ => {
                return Err(unusable(format!(
                    "{name} takes images of {channels} channels; Foreglow has grey and colour ones"
                )));
            }
        };
        // One side that is open, or both, gets the largest length here.
        if height != width {
            return Err(unusable(format!("{name} takes images of {height}×{width} px; Foreglow has only square ones")));
        }
        let side = if fixed.is_ok() { u32::try_from(height).unwrap_or(u32::MAX) } else { 0 };
        let px = if side == 0 { 1..=LARGEST_PX } else { side..=side };
        Ok(Input::Images { colour, default_px: side, px })
    }

    /// Returns the number of classes for inputs of this shape, after checking that a network from a
    /// file takes them in mini-batches of this size.
    ///
    /// # Errors
    /// A node does not take the shape.
    pub fn classes(&self, shape: Shape, batch: usize) -> anyhow::Result<usize> {
        match self {
            Self::BuiltIn(it) => Ok(it.architecture.classes),
            Self::Onnx(file) => {
                let [channels, height, width] = shape;
                let plan = file.network.plan([batch, channels, height, width]);
                let plan = plan.map_err(|error| said(&file.name, &error))?;
                if plan.shapes[plan.output].first() != Some(&batch) {
                    let output = &plan.shapes[plan.output];
                    return Err(unusable(format!(
                        "{} gives {output:?} for {batch} images, and not one row each",
                        file.name
                    )));
                }
                Ok(file.classes(&plan))
            }
        }
    }

    /// Checks that training can change the weights of a network from a file.
    ///
    /// # Errors
    /// There are none, or several nodes share one.
    pub fn check_training(&self, shape: Shape) -> anyhow::Result<()> {
        let Self::Onnx(file) = self else { return Ok(()) };
        let [channels, height, width] = shape;
        let name = &file.name;
        let plan = file.network.plan([1, channels, height, width]).map_err(|error| said(name, &error))?;
        if !file.is_trainable(&plan) {
            return Err(unusable(format!("{name} has no weights that training could change")));
        }
        match file.shared_weight(&plan) {
            Some(weight) => Err(unusable(format!(
                "{name} shares the weight {weight} between nodes, and training keeps none shared"
            ))),
            None => Ok(()),
        }
    }

    /// Builds the network with its weights: drawn from the seed, or those of the file.
    ///
    /// # Errors
    /// The weights of a file cannot be read.
    pub fn build(&self, seed: u64, shape: Shape, device: &Device) -> anyhow::Result<Box<dyn Cnn>> {
        match self {
            Self::BuiltIn(BuiltIn { architecture, weights: None }) => Ok(architecture.build(seed, shape, device)),
            Self::BuiltIn(BuiltIn { architecture, weights: Some(path) }) => {
                let mut cnn = architecture.build_empty(shape, device);
                cnn.take(&weights_file::load(path, architecture, cnn.as_ref(), device)?);
                Ok(cnn)
            }
            Self::Onnx(file) => Ok(Box::new(OnnxCnn::load(file, shape, device)?)),
        }
    }

    /// Builds the network for parameters that are set later by [`Cnn::take`].
    ///
    /// # Errors
    /// The weights of a file cannot be read.
    pub fn build_empty(&self, shape: Shape, device: &Device) -> anyhow::Result<Box<dyn Cnn>> {
        match self {
            Self::BuiltIn(it) => Ok(it.architecture.build_empty(shape, device)),
            Self::Onnx(_) => self.build(0, shape, device),
        }
    }

    /// Returns the number of parameters, and the multiply-accumulates for one input of this shape.
    ///
    /// # Errors
    /// A node of a file does not take the shape.
    pub fn size(&self, shape: Shape) -> anyhow::Result<Size> {
        match self {
            Self::BuiltIn(it) => Ok(it.architecture.size(shape)),
            Self::Onnx(_) => {
                let costs = self.costs(shape)?;
                let parameters = usize::try_from(costs.parameters).context("there are too many parameters")?;
                Ok(Size { parameters, multiply_accumulates: costs.multiply_accumulates() })
            }
        }
    }

    /// Returns what each layer costs for one input of this shape.
    ///
    /// # Errors
    /// A node of a file does not take the shape.
    pub fn costs(&self, shape: Shape) -> anyhow::Result<Costs> {
        match self {
            Self::BuiltIn(BuiltIn { architecture, .. }) => {
                let cnn = architecture.build_empty(shape, &Device::flex());
                let mut trace = Trace::new(shape);
                cnn.trace(&mut trace);
                let input = shape.iter().product::<usize>() as u64;
                Ok(Costs {
                    layers: trace.layers().to_vec(),
                    parameters: cnn.parameters() as u64,
                    inference_bytes: FLOAT * trace.most_alive() as u64,
                    training_bytes: FLOAT * (trace.kept_for_training() + input),
                })
            }
            Self::Onnx(file) => {
                let [channels, height, width] = shape;
                let plan = file.network.plan([1, channels, height, width]);
                let plan = plan.map_err(|error| said(&file.name, &error))?;
                Ok(file.network.costs(&plan))
            }
        }
    }
}

fn said(name: &str, error: &Error) -> anyhow::Error {
    unusable(format!("{name}: {error}"))
}
