//! The cost of each layer, computed from the graph alone.

use crate::Operation;
use crate::network::Network;
use crate::plan::{Argument, Plan, Step};
use crate::tape::{StepBytes, Tape};

/// Bytes of a number in the CNN's format.
const FLOAT: u64 = 4;

/// Sizes of a convolution, which determine the speed of a multiply-accumulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// Weights of one output from one input channel: 9 for 3×3.
    pub kernel: u64,
    /// Weights of `kernel` that reach the image for at least one output: for 3×3 on one pixel 1.
    pub useful: u64,
    /// Input and output channels of a group.
    pub channels: [u64; 2],
    /// Groups of channels.
    pub groups: u64,
}

/// Cost of a layer for the inputs of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerCost {
    /// Name of the node.
    pub name: String,
    /// Its operator.
    pub operator: String,
    /// Shape of its first output.
    pub output: Vec<usize>,
    /// Learned numbers, without the running statistics of batch normalisation.
    pub parameters: u64,
    /// Multiply-accumulates of convolutions and products of matrices.
    pub multiply_accumulates: u64,
    /// Numbers in its outputs.
    pub activations: u64,
    /// Bytes that it reads and writes in 32-bit floats, each number once.
    pub traffic_bytes: u64,
    /// Numbers that it reads from the file's constants, such as learned ones and running
    /// statistics.
    pub weights: u64,
    /// Sizes of a convolution; `None` for other layers.
    pub convolution: Option<Convolution>,
    /// Whether it computes nothing: a view of its input.
    pub is_view: bool,
}

impl LayerCost {
    /// Returns the numbers that the layer reads and writes, without weights.
    pub fn numbers(&self) -> u64 {
        (self.traffic_bytes / FLOAT).saturating_sub(self.weights)
    }
}

/// Costs of a network for the inputs of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// The layers, in the order in which they run.
    pub layers: Vec<LayerCost>,
    /// Learned numbers; a weight shared by several layers counts once.
    pub parameters: u64,
    /// Peak of the bytes of activations alive at the same time in inference.
    pub inference_bytes: u64,
    /// Bytes of all activations, which a backward pass needs.
    pub training_bytes: u64,
    /// Peaks of the tensors of a step on a GPU.
    pub step: StepBytes,
}

impl Costs {
    /// Returns the multiply-accumulates of all layers.
    pub fn multiply_accumulates(&self) -> u64 {
        sum(self.layers.iter().map(|layer| layer.multiply_accumulates))
    }

    /// Returns the numbers in the outputs of all layers that compute something.
    pub fn activations(&self) -> u64 {
        sum(self.layers.iter().filter(|layer| !layer.is_view).map(|layer| layer.activations))
    }

    /// Returns the bytes that all layers read and write.
    pub fn traffic_bytes(&self) -> u64 {
        sum(self.layers.iter().map(|layer| layer.traffic_bytes))
    }

    /// Returns the layers that compute something.
    pub fn launches(&self) -> usize {
        self.layers.iter().filter(|layer| !layer.is_view).count()
    }
}

impl Network {
    /// Computes the costs of a plan of this network.
    pub fn costs(&self, plan: &Plan) -> Costs {
        let mut seen = vec![false; self.weights.len()];
        let mut costs = Costs::default();
        for step in &plan.steps {
            let cost = self.layer(plan, step);
            costs.layers.push(cost);
            for weight in self.learned(step) {
                if !std::mem::replace(&mut seen[weight], true) {
                    costs.parameters = costs.parameters.saturating_add(self.weights[weight].len() as u64);
                }
            }
        }
        costs.inference_bytes = alive(plan).saturating_mul(FLOAT);
        costs.training_bytes = costs.activations().saturating_add(count(&plan.shapes[0])).saturating_mul(FLOAT);
        costs.step = Tape::of_plan(self, plan).step_bytes();
        costs
    }

    /// Returns the weights of a step that training changes: floats, and more than one number.
    pub fn learned<'a>(&'a self, step: &'a Step) -> impl Iterator<Item = usize> + 'a {
        let is_norm = matches!(step.operation, Operation::BatchNorm { .. });
        step.arguments.iter().enumerate().filter_map(move |(place, argument)| match argument {
            Argument::Weight(weight) if !(is_norm && place > 2) && self.is_learned(*weight) => Some(*weight),
            _ => None,
        })
    }

    /// Returns whether training changes a weight: it is more than one float, and stands for a
    /// parameter.
    pub fn is_learned(&self, weight: usize) -> bool {
        let weight = &self.weights[weight];
        weight.is_float() && (weight.len() > 1 || !weight.dims.is_empty()) && !weight.is_neutral
    }

    fn layer(&self, plan: &Plan, step: &Step) -> LayerCost {
        let shape = |argument: &Argument| match argument {
            Argument::Value(value) => plan.shapes[*value].clone(),
            Argument::Weight(weight) => self.weights[*weight].dims.clone(),
            Argument::Known(known) => known.dims.clone(),
        };
        let shapes: Vec<Vec<usize>> = step.arguments.iter().map(shape).collect();
        let output = step.results.first().map_or_else(Vec::new, |result| plan.shapes[*result].clone());
        let activations = sum(step.results.iter().map(|result| count(&plan.shapes[*result])));
        let is_view = step.operation.is_view();
        let read = sum(shapes.iter().map(|shape| count(shape)));
        LayerCost {
            name: step.name.clone(),
            operator: step.operator.clone(),
            parameters: sum(self.learned(step).map(|weight| self.weights[weight].len() as u64)),
            multiply_accumulates: products(&step.operation, &shapes, &output),
            activations,
            weights: sum(step.arguments.iter().zip(&shapes).map(|(argument, shape)| match argument {
                Argument::Value(_) => 0,
                Argument::Weight(_) | Argument::Known(_) => count(shape),
            })),
            convolution: convolution(&step.operation, &shapes),
            traffic_bytes: if is_view { 0 } else { read.saturating_add(activations).saturating_mul(FLOAT) },
            output,
            is_view,
        }
    }
}

/// Returns the multiply-accumulates of an operation.
fn products(operation: &Operation, shapes: &[Vec<usize>], output: &[usize]) -> u64 {
    let per_output = |weights: &[usize]| count(&weights[1..]);
    match (operation, shapes) {
        (Operation::Conv { .. }, [_, weights, ..]) => count(output).saturating_mul(per_output(weights)),
        (Operation::ConvTranspose { .. }, [images, weights, ..]) => count(images).saturating_mul(per_output(weights)),
        (Operation::Gemm { transposed, .. }, [left, ..]) => {
            count(output).saturating_mul(left[if transposed[0] { 0 } else { 1 }] as u64)
        }
        (Operation::MatMul, [left, ..]) => count(output).saturating_mul(left[left.len() - 1] as u64),
        _ => 0,
    }
}

/// Returns the sizes of a convolution.
fn convolution(operation: &Operation, shapes: &[Vec<usize>]) -> Option<Convolution> {
    let weights = shapes.get(1)?;
    let kernel = count(weights.get(2..)?);
    let (groups, inputs, outputs, useful) = match operation {
        Operation::Conv { groups, window } => {
            // A one-dimensional convolution is one over images of one row.
            let sides = match *shapes[0].as_slice() {
                [_, _, height, width] => [height, width],
                [.., len] => [1, len],
                [] => [1, 1],
            };
            let taps = |axis: usize| {
                let padding = [window.padding[axis], window.padding[axis + 2]];
                useful_taps(sides[axis], window.kernel[axis], window.stride[axis], padding, window.dilation[axis])
            };
            (*groups, weights[1], weights[0] / (*groups).max(1), taps(0).saturating_mul(taps(1)))
        }
        Operation::ConvTranspose { groups, .. } => (*groups, weights[0] / (*groups).max(1), weights[1], kernel),
        _ => return None,
    };
    let channels = [inputs as u64, outputs as u64];
    Some(Convolution { kernel, useful, channels, groups: groups as u64 })
}

/// Returns the number of elements of a kernel along an axis that read the input, not only padding,
/// for at least one output.
pub fn useful_taps(side: usize, kernel: usize, stride: usize, padding: [usize; 2], dilation: usize) -> u64 {
    let (stride, dilation) = (stride.max(1), dilation.max(1));
    let reach = dilation * kernel.saturating_sub(1) + 1;
    let outputs = (side + padding[0] + padding[1]).saturating_sub(reach) / stride + 1;
    let is_useful = |tap: &usize| {
        // The outputs whose window starts late enough for this tap to be inside, and early enough.
        let place = tap * dilation;
        let first = padding[0].saturating_sub(place).div_ceil(stride);
        let end = (side + padding[0]).saturating_sub(place).div_ceil(stride).min(outputs);
        first < end
    };
    (0..kernel).filter(is_useful).count() as u64
}

fn count(dims: &[usize]) -> u64 {
    dims.iter().fold(1, |product, dim| product.saturating_mul(*dim as u64))
}

/// Adds counts with saturation, because the sizes in a file can overflow 64 bits.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Returns the peak of the numbers alive at the same time: a tensor lives from the step that
/// computes it to the last step that reads it. Views share the numbers of their input.
fn alive(plan: &Plan) -> u64 {
    let mut owner: Vec<usize> = (0..plan.shapes.len()).collect();
    let mut last = vec![0; plan.shapes.len()];
    for (place, step) in plan.steps.iter().enumerate() {
        for value in step.values() {
            last[owner[value]] = place;
        }
        if let (true, Some(value)) = (step.operation.is_view(), step.values().next()) {
            step.results.iter().for_each(|result| owner[*result] = owner[value]);
        }
    }
    last[owner[plan.output]] = plan.steps.len();
    let (mut now, mut most) = (count(&plan.shapes[0]), count(&plan.shapes[0]));
    for (place, step) in plan.steps.iter().enumerate() {
        now += step.results.iter().filter(|it| owner[**it] == **it).map(|it| count(&plan.shapes[*it])).sum::<u64>();
        most = most.max(now);
        let mut ended: Vec<usize> = step
            .values()
            .chain(step.results.iter().copied())
            .map(|value| owner[value])
            .filter(|it| last[*it] <= place)
            .collect();
        ended.sort_unstable();
        ended.dedup();
        now -= ended.into_iter().map(|value| count(&plan.shapes[value])).sum::<u64>();
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_of_a_kernel_that_only_meet_padding_are_not_useful() {
        // Side, kernel, stride, padding, dilation.
        assert_eq!(useful_taps(8, 3, 1, [1, 1], 1), 3);
        assert_eq!(useful_taps(1, 3, 1, [1, 1], 1), 1);
        assert_eq!(useful_taps(2, 3, 2, [1, 1], 1), 2);
        assert_eq!(useful_taps(4, 7, 1, [3, 3], 1), 7);
        assert_eq!(useful_taps(2, 7, 1, [3, 3], 1), 3);
        assert_eq!(useful_taps(4, 3, 1, [6, 6], 6), 1);
        assert_eq!(useful_taps(5, 5, 1, [0, 0], 1), 5);
    }
}
