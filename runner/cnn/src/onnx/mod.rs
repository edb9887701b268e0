//! Networks from ONNX files, executed on Burn's tensors.
//!
//! `foreglow-onnx` prepares a plan for each batch size; [`Program`] fuses its steps as the built-in
//! CNNs do (a convolution with the normalisation, the shortcut and the activation after it), and
//! [`run`] executes them. Weights are parameters of a Burn module, so that training works as it
//! does for the built-in CNNs.

mod compute;
mod file;
#[cfg(test)]
mod operators_tests;
mod parameters;
mod program;
mod run;
#[cfg(test)]
mod settings_tests;
mod stored;
#[cfg(test)]
mod tests;
mod value;
#[cfg(test)]
#[path = "../../../../shared/onnx/tests/writer/mod.rs"]
mod writer;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::{Device, Gradients, Tensor};
use foreglow_architectures::Shape;

pub use self::file::OnnxFile;
use self::parameters::Parameters;
use self::program::Program;
use super::{Cnn, Parameter, StateDict, Trace, learning, weights};

/// A network from a file, with its weights on a device.
pub struct OnnxCnn {
    file: Arc<OnnxFile>,
    shape: Shape,
    device: Device,
    parameters: Parameters,
    /// The program of each batch size, shared by all handles.
    programs: Arc<Mutex<BTreeMap<usize, Arc<Program>>>>,
}

impl OnnxCnn {
    /// Loads the weights onto a device, for inputs of this shape.
    ///
    /// # Errors
    /// The network does not take the shape, or its weights cannot be read.
    pub fn load(file: &Arc<OnnxFile>, shape: Shape, device: &Device) -> anyhow::Result<Self> {
        let program = Program::new(file, shape, 1, device)?;
        let parameters = Parameters::load(file, &program, device)?;
        let programs = Arc::new(Mutex::new(BTreeMap::from([(1, Arc::new(program))])));
        Ok(Self { file: Arc::clone(file), shape, device: device.clone(), parameters, programs })
    }

    fn program(&self, batch: usize) -> Arc<Program> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let program = programs.entry(batch).or_insert_with(|| {
            let program = Program::new(&self.file, self.shape, batch, &self.device);
            Arc::new(program.expect("a network that takes one image of this shape takes a batch of them"))
        });
        Arc::clone(program)
    }

    fn with(&self, parameters: Parameters) -> Box<dyn Cnn> {
        Box::new(Self {
            file: Arc::clone(&self.file),
            shape: self.shape,
            device: self.device.clone(),
            parameters,
            programs: Arc::clone(&self.programs),
        })
    }
}

impl Cnn for OnnxCnn {
    fn forward(&self, inputs: Tensor<4>) -> Tensor<2> {
        let [batch, ..] = inputs.dims();
        run::run(&self.program(batch), &self.parameters, inputs)
    }

    fn trace(&self, trace: &mut Trace) {
        let program = self.program(1);
        trace.costs(&self.file.network.costs(&program.plan), self.file.classes(&program.plan));
    }

    fn parameters(&self) -> usize {
        weights::count(&self.parameters)
    }

    fn share(&self) -> Box<dyn Cnn> {
        self.with(self.parameters.clone())
    }

    /// Keeps the weights of the file.
    fn seeded(self: Box<Self>, _: u64) -> Box<dyn Cnn> {
        self
    }

    fn numbers(&self) -> StateDict {
        learning::numbers(&self.parameters)
    }

    fn take(&mut self, numbers: &StateDict) {
        self.parameters = learning::with_numbers(self.parameters.clone(), numbers);
    }

    fn gradients(&self, all: &mut Gradients) -> Vec<Tensor<1>> {
        learning::gradients(&self.parameters, all)
    }

    fn layout(&self) -> Vec<Parameter> {
        weights::layout(&self.parameters)
    }

    fn trained(&self) -> Box<dyn Cnn> {
        self.with(burn::module::Module::valid(&self.parameters))
    }
}
