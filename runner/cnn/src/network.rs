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
use super::weights_file::{self, Stored};
use super::{Build as _, Cnn, Size, StateDict, Trace};

/// Ending of the name of an ONNX file.
const ENDING: &str = ".onnx";
/// Bytes of a number.
const FLOAT: u64 = 4;
/// Largest side of an image, pixels, for files that leave the side open.
const LARGEST_PX: u32 = 4096;

/// A network that can be built on a device.
#[derive(Clone, Debug)]
pub struct Network {
    origin: Origin,
    /// File with its weights; `None` to draw them from the seed, or for those of the ONNX file.
    weights: Option<PathBuf>,
}

#[derive(Clone, Debug)]
enum Origin {
    /// One of the CNNs in this crate, with the number of classes of the job.
    BuiltIn(Architecture),
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
        let built_in = |it: &Architecture| Self { origin: Origin::BuiltIn(it.clone()), weights: None };
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
        let network = Self { origin: Origin::Onnx(Arc::new(file)), weights: None };
        network.input()?;
        Ok(network)
    }

    /// Returns the network with this number of classes; `None` changes nothing.
    ///
    /// # Errors
    /// The classes of a network from a file are fixed.
    pub fn with_classes(mut self, classes: Option<u32>) -> anyhow::Result<Self> {
        match (&mut self.origin, classes) {
            (Origin::BuiltIn(architecture), Some(classes)) => architecture.classes = classes as usize,
            (Origin::Onnx(file), Some(_)) => {
                let name = &file.name;
                return Err(unusable(format!("--classes is for built-in CNNs, and {name} has its own; leave it out")));
            }
            (_, None) => {}
        }
        Ok(self)
    }

    /// Returns the network with the weights in this file; `None` changes nothing.
    pub fn with_weights(self, weights: Option<&Path>) -> Self {
        Self { weights: weights.map(Path::to_owned).or(self.weights), ..self }
    }

    /// Returns the tensors of its files of weights, for inputs of this shape.
    fn stored(&self, shape: Shape) -> anyhow::Result<Stored<'_>> {
        match &self.origin {
            Origin::BuiltIn(architecture) => {
                Ok(Stored::built_in(architecture, architecture.build_empty(shape, &Device::flex()).as_ref()))
            }
            Origin::Onnx(file) => OnnxCnn::stored(file, shape),
        }
    }

    /// Checks that the file with the weights, if there is one, fits a network for inputs of this
    /// shape.
    ///
    /// # Errors
    /// The file cannot be read, a tensor is missing or has another shape, or a number is not
    /// finite.
    pub fn check_weights(&self, shape: Shape) -> anyhow::Result<()> {
        self.weights.as_deref().map_or(Ok(()), |path| weights_file::check(path, &self.stored(shape)?))
    }

    /// Saves the weights of the network for inputs of this shape.
    ///
    /// # Errors
    /// The weights cannot be written.
    pub fn save_weights(&self, path: &Path, shape: Shape, numbers: &StateDict) -> anyhow::Result<()> {
        weights_file::save(path, &self.stored(shape)?, numbers)
    }

    /// Returns the network of a workload.
    ///
    /// # Errors
    /// The CNN is unknown, or its file is missing.
    pub fn of(workload: &Workload) -> anyhow::Result<Self> {
        match &workload.network {
            Some(path) => Self::open(Path::new(path)),
            None => Self::named(&workload.model)?.with_classes(workload.classes),
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
        match &self.origin {
            Origin::BuiltIn(architecture) => architecture.name,
            Origin::Onnx(file) => &file.name,
        }
    }

    /// Returns the file; `None` for a built-in CNN.
    pub fn file(&self) -> Option<&OnnxFile> {
        match &self.origin {
            Origin::BuiltIn(_) => None,
            Origin::Onnx(file) => Some(file),
        }
    }

    /// Returns a sentence for each property of an ONNX file that a user may not expect.
    pub fn remarks(&self) -> Vec<String> {
        let Some(file) = self.file() else { return Vec::new() };
        file.network.remarks().into_iter().map(|remark| format!("{}: {remark}", file.name)).collect()
    }

    /// Returns kind and size of the inputs. The default side is 0 if a file leaves it open.
    ///
    /// # Errors
    /// The network of a file does not take square images in grey or colour.
    pub fn input(&self) -> anyhow::Result<Input> {
        let file = match &self.origin {
            Origin::BuiltIn(architecture) => return Ok(architecture.input.clone()),
            Origin::Onnx(file) => file,
        };
        let (name, network) = (&file.name, &file.network);
        let (fixed, any) = (network.image_shape(None), network.image_shape(Some(LARGEST_PX as usize)));
        let [channels, height, width] = any.map_err(|error| said(name, &error))?;
        let colour = match channels {
            1 => Colour::Grey,
            3 => Colour::Rgb,
            _ => {
                return Err(unusable(format!(
                    "{name} takes images of {channels} channels; Foreglow has grey and colour ones, so export it \
                     with 1 or 3"
                )));
            }
        };
        // Open sides get the largest length here.
        if height != width {
            return Err(unusable(format!(
                "{name} takes images of {height}×{width} px; Foreglow has only square ones, so export it for those"
            )));
        }
        let side = if fixed.is_ok() { u32::try_from(height).unwrap_or(u32::MAX) } else { 0 };
        let px = if side == 0 { 1..=LARGEST_PX } else { side..=side };
        Ok(Input::Images { colour, default_px: side, px })
    }

    /// Returns the number of classes for inputs of this shape, after checking that a network from a
    /// file takes them in mini-batches of this size and of fewer inputs.
    ///
    /// # Errors
    /// A node does not take the shape, or the classes depend on the size of the mini-batch.
    pub fn classes(&self, shape: Shape, batch: usize) -> anyhow::Result<usize> {
        let file = match &self.origin {
            Origin::BuiltIn(architecture) => return Ok(architecture.classes),
            Origin::Onnx(file) => file,
        };
        let ([channels, height, width], name) = (shape, &file.name);
        let mut classes = None;
        // The last mini-batch of a partition may have any smaller size. A network that takes the
        // whole size, 1 and 2 is assumed to take the sizes between.
        for batch in [batch, 1, 2] {
            let plan = file.network.plan([batch, channels, height, width]).map_err(|error| said(name, &error))?;
            let output = &plan.shapes[plan.output];
            if output.first() != Some(&batch) {
                return Err(unusable(format!("{name} gives {output:?} for {batch} images, and not one row each")));
            }
            let found = file.classes(&plan);
            if *classes.get_or_insert(found) != found {
                return Err(unusable(format!("the classes of {name} depend on the size of the mini-batch")));
            }
        }
        classes.context("a network has classes for one image")
    }

    /// Checks that training can change the weights of a network from a file.
    ///
    /// # Errors
    /// There are none, or several nodes share one.
    pub fn check_training(&self, shape: Shape) -> anyhow::Result<()> {
        let Origin::Onnx(file) = &self.origin else { return Ok(()) };
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

    /// Builds the network with its weights: those of their file, otherwise drawn from the seed, or
    /// those of the ONNX file.
    ///
    /// # Errors
    /// The weights of a file cannot be read.
    pub fn build(&self, seed: u64, shape: Shape, device: &Device) -> anyhow::Result<Box<dyn Cnn>> {
        match (&self.origin, &self.weights) {
            (Origin::BuiltIn(architecture), None) => Ok(architecture.build(seed, shape, device)),
            (_, None) => self.build_empty(shape, device),
            (_, Some(path)) => {
                let mut cnn = self.build_empty(shape, device)?;
                cnn.take(&weights_file::load(path, &self.stored(shape)?, device)?);
                Ok(cnn)
            }
        }
    }

    /// Builds the network for parameters that are set later by [`Cnn::take`].
    ///
    /// # Errors
    /// The weights of a file cannot be read.
    pub fn build_empty(&self, shape: Shape, device: &Device) -> anyhow::Result<Box<dyn Cnn>> {
        match &self.origin {
            Origin::BuiltIn(architecture) => Ok(architecture.build_empty(shape, device)),
            Origin::Onnx(file) => Ok(Box::new(OnnxCnn::load(file, shape, device)?)),
        }
    }

    /// Returns the number of parameters, and the multiply-accumulates for one input of this shape.
    ///
    /// # Errors
    /// A node of a file does not take the shape.
    pub fn size(&self, shape: Shape) -> anyhow::Result<Size> {
        match &self.origin {
            Origin::BuiltIn(architecture) => Ok(architecture.size(shape)),
            Origin::Onnx(_) => {
                let costs = self.costs(shape)?;
                let parameters = usize::try_from(costs.parameters).context("there are too many parameters")?;
                Ok(Size { parameters, multiply_accumulates: costs.multiply_accumulates() })
            }
        }
    }

    /// Returns the cost of each layer for one input of this shape.
    ///
    /// # Errors
    /// A node of a file does not take the shape.
    pub fn costs(&self, shape: Shape) -> anyhow::Result<Costs> {
        match &self.origin {
            Origin::BuiltIn(architecture) => {
                let cnn = architecture.build_empty(shape, &Device::flex());
                let mut trace = Trace::new(shape);
                cnn.trace(&mut trace);
                let input = shape.iter().product::<usize>() as u64;
                Ok(Costs {
                    layers: trace.layers().to_vec(),
                    parameters: cnn.parameters() as u64,
                    inference_bytes: FLOAT * trace.most_alive() as u64,
                    training_bytes: FLOAT * (trace.kept_for_training() + input),
                    step: trace.step_bytes(),
                })
            }
            Origin::Onnx(file) => {
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
