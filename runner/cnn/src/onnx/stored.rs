//! The weights of a network as tensors of a safetensors file, with the names of the ONNX file.

use std::sync::Arc;

use burn::tensor::Device;
use foreglow_architectures::Shape;
use foreglow_onnx::{Argument, Operation, Step};

use super::program::Program;
use super::{OnnxCnn, OnnxFile};
use crate::weights_file::{Stored, StoredTensor};

impl OnnxCnn {
    /// Returns the tensors of a network, in the order of its parameters.
    ///
    /// # Errors
    /// The network does not take the shape.
    pub fn stored(file: &Arc<OnnxFile>, shape: Shape) -> anyhow::Result<Stored<'_>> {
        let program = Program::new(file, shape, 1, &Device::flex())?;
        let steps = |places: &[usize]| places.iter().map(|place| &program.plan.steps[*place]).collect::<Vec<_>>();
        let argument = |step, place, field| tensor(file, step, place, field);
        let mut tensors = Vec::new();
        for step in steps(&program.convs) {
            tensors.push(argument(step, 1, "weight"));
            tensors.extend(has_bias(step).then(|| argument(step, 2, "bias")));
        }
        for step in steps(&program.norms) {
            tensors.extend([argument(step, 1, "weight"), argument(step, 2, "bias")]);
        }
        for step in steps(&program.linears) {
            // Burn has `[in, out]`.
            let is_transposed = matches!(step.operation, Operation::Gemm { transposed: [_, true], .. });
            tensors.push(StoredTensor { is_transposed, ..argument(step, 1, "weight") });
            tensors.extend(has_bias(step).then(|| argument(step, 2, "bias")));
        }
        for weight in &program.tensors {
            tensors.push(StoredTensor::of(&file.network.weights[*weight].name, &file.network.weights[*weight].dims));
        }
        for step in steps(&program.norms) {
            let running = |place, field| StoredTensor { is_running: true, ..argument(step, place, field) };
            tensors.extend([running(3, "running_mean"), running(4, "running_var")]);
        }
        Ok(Stored { network: &file.name, classes: None, tensors })
    }
}

fn has_bias(step: &Step) -> bool {
    step.arguments.len() > 2
}

/// Returns the tensor of a step's argument: the initialiser, or for folded numbers one with the
/// name of the node.
fn tensor(file: &OnnxFile, step: &Step, place: usize, field: &str) -> StoredTensor {
    let weights = &file.network.weights;
    let of_node = format!("{}.{field}", step.name);
    match &step.arguments[place] {
        Argument::Weight(weight) => StoredTensor::of(&weights[*weight].name, &weights[*weight].dims),
        Argument::Known(known) => StoredTensor::of(&of_node, &known.dims),
        Argument::Value(_) => StoredTensor::of(&of_node, &[]),
    }
}
