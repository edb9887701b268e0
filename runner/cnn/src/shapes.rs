//! Multiply-accumulates of a forward pass, counted by walking its layers on shapes.

use burn::nn::{
    BatchNorm, Linear, PaddingConfig2d,
    conv::Conv2d,
    pool::{AdaptiveAvgPool2d, AvgPool2d, MaxPool2d},
};

use foreglow_onnx::{Convolution, Costs, LayerCost, Operand, Rule, StepBytes, Tape, TensorId, useful_taps};

use super::Shape;
use super::lstm::Lstm;

/// Shape of one input at a layer of a CNN, and the multiply-accumulates so far.
#[derive(Clone, Debug)]
pub struct Trace {
    pub(super) channels: usize,
    /// Height and width.
    pub(super) px: [usize; 2],
    layers: Vec<LayerCost>,
    /// Numbers held for other paths of the network.
    held: usize,
    /// Peak of the numbers alive at the same time.
    most_alive: usize,
    /// The layers as a framework that keeps tensors for the backward pass runs them.
    tape: Tape,
    /// The present tensor on the tape.
    tensor: TensorId,
    /// The tensor that is added to the result of a block, if it is not the input of the block.
    shortcut: Option<TensorId>,
}

impl Trace {
    /// Starts with the shape of an input.
    pub fn new([channels, height, width]: Shape) -> Self {
        Self {
            channels,
            px: [height, width],
            layers: Vec::new(),
            held: 0,
            most_alive: 0,
            tape: Tape::new((channels * height * width) as u64),
            tensor: 0,
            shortcut: None,
        }
    }

    /// Returns the peaks of the tensors of a step on a GPU.
    pub fn step_bytes(&self) -> StepBytes {
        self.tape.step_bytes()
    }

    /// Returns the peak of the numbers alive at the same time in a forward pass of one input.
    pub fn most_alive(&self) -> usize {
        self.most_alive
    }

    /// Returns the numbers that the backward pass of one input needs: the outputs of all layers. A
    /// convolution without batch normalisation has two, because its bias and ReLU are computed
    /// separately.
    pub fn kept_for_training(&self) -> u64 {
        let next = self.layers.iter().skip(1).map(|layer| layer.operator.as_str()).chain([""]);
        let kept = self.layers.iter().zip(next).map(|(layer, next)| match layer.operator.as_str() {
            "Conv" if next != "BatchNormalization" => 2 * layer.activations,
            _ => layer.activations,
        });
        kept.sum()
    }

    /// Returns the cost of each layer so far for one input. ReLU is part of the previous layer, as
    /// in the execution.
    pub fn layers(&self) -> &[LayerCost] {
        &self.layers
    }

    /// Adds the layers of a network whose costs are known; it gives `outputs` numbers.
    pub fn costs(&mut self, costs: &Costs, outputs: usize) -> &mut Self {
        self.layers.extend(costs.layers.iter().cloned());
        (self.channels, self.px) = (outputs, [1, 1]);
        self
    }

    /// Records an operation on the present tensor, which gives one of the present shape.
    fn record(&mut self, rule: Rule, parameters: usize) {
        let mut operands = vec![Operand::Tensor(self.tensor)];
        operands.extend((parameters > 0).then_some(Operand::Parameter(parameters as u64)));
        self.tensor = self.tape.push(rule, operands, (self.channels * self.pixels()) as u64);
    }

    fn layer(&mut self, (operator, rule): (&str, Rule), inputs: usize, parameters: usize, multiply_accumulates: usize) {
        self.record(rule, parameters);
        let activations = self.channels * self.pixels();
        self.most_alive = self.most_alive.max(inputs + activations + self.held);
        let output =
            if self.px == [1, 1] { vec![1, self.channels] } else { vec![1, self.channels, self.px[0], self.px[1]] };
        self.layers.push(LayerCost {
            name: format!("{}", self.layers.len() + 1),
            operator: operator.to_owned(),
            output,
            parameters: parameters as u64,
            multiply_accumulates: multiply_accumulates as u64,
            activations: activations as u64,
            weights: parameters as u64,
            convolution: None,
            traffic_bytes: 4 * (inputs + parameters + activations) as u64,
            is_view: false,
        });
    }

    /// Returns the multiply-accumulates of all convolutions and matrix products so far.
    pub fn multiply_accumulates(&self) -> u64 {
        self.layers.iter().map(|layer| layer.multiply_accumulates).sum()
    }

    /// Adds a convolution.
    pub fn conv(&mut self, conv: &Conv2d) -> &mut Self {
        let [channels_out, channels_in, height, width] = conv.weight.dims();
        debug_assert_eq!(channels_in * conv.groups, self.channels);
        let inputs = self.channels * self.pixels();
        let border = border(&conv.padding, [height, width]);
        let taps = |axis: usize| {
            let kernel = [height, width][axis];
            useful_taps(self.px[axis], kernel, conv.stride[axis], border[axis], conv.dilation[axis])
        };
        let useful = taps(0) * taps(1);
        self.slide([height, width], conv.stride, &conv.padding);
        self.channels = channels_out;
        let weights = channels_out * channels_in * height * width;
        let bias = if conv.bias.is_some() { channels_out } else { 0 };
        self.layer(("Conv", Rule::PRODUCT), inputs, weights + bias, weights * self.pixels());
        let channels = [channels_in as u64, (channels_out / conv.groups.max(1)) as u64];
        let (kernel, groups) = ((height * width) as u64, conv.groups as u64);
        if let Some(layer) = self.layers.last_mut() {
            layer.convolution = Some(Convolution { kernel, useful, channels, groups });
        }
        self
    }

    /// Adds batch normalisation, which changes no shape and has no matrix product.
    pub fn norm(&mut self, norm: &BatchNorm) -> &mut Self {
        debug_assert_eq!(norm.gamma.dims(), [self.channels]);
        self.layer(("BatchNormalization", Rule::BATCH_NORM), self.channels * self.pixels(), 2 * self.channels, 0);
        self
    }

    /// Adds an activation function that is not part of the layer before it.
    pub fn activation(&mut self, operator: &str) -> &mut Self {
        self.pointwise(operator, 1, self.channels)
    }

    /// Records an activation function that the execution computes with the previous layer. ReLU
    /// needs no record where it overwrites its operand and the next layer keeps that.
    pub fn fused(&mut self, activation: Rule) -> &mut Self {
        self.record(activation, 0);
        self
    }

    /// Adds an operation on each number, which reads this many tensors of the present shape and
    /// gives this many channels.
    pub fn pointwise(&mut self, operator: &str, tensors: usize, channels: usize) -> &mut Self {
        let inputs = tensors * self.channels * self.pixels();
        self.channels = channels;
        self.layer((operator, Rule::ACTIVATION), inputs, 0, 0);
        self
    }

    /// Adds a max-pool.
    pub fn max_pool(&mut self, pool: &MaxPool2d) -> &mut Self {
        let inputs = self.channels * self.pixels();
        self.slide(pool.kernel_size, pool.stride, &pool.padding);
        self.layer(("MaxPool", Rule::MAX_POOL), inputs, 0, 0);
        self
    }

    /// Adds an average pool.
    pub fn avg_pool(&mut self, pool: &AvgPool2d) -> &mut Self {
        let inputs = self.channels * self.pixels();
        self.slide(pool.kernel_size, pool.stride, &pool.padding);
        self.layer(("AveragePool", Rule::AVERAGE_POOL), inputs, 0, 0);
        self
    }

    /// Adds an average pool with a fixed output size.
    pub fn adaptive_avg_pool(&mut self, pool: &AdaptiveAvgPool2d) -> &mut Self {
        let inputs = self.channels * self.pixels();
        self.px = pool.output_size;
        self.layer(("AveragePool", Rule::AVERAGE_POOL), inputs, 0, 0);
        self
    }

    /// Adds a global pool, which leaves one number per channel.
    pub fn global_pool(&mut self) -> &mut Self {
        let inputs = self.channels * self.pixels();
        self.px = [1, 1];
        self.layer(("GlobalAveragePool", Rule::MEAN), inputs, 0, 0);
        self
    }

    /// Adds the operations of a shortcut; the shape stays that of the main path.
    pub fn shortcut(&mut self, shortcut: impl FnOnce(&mut Self)) -> &mut Self {
        let mut side = self.clone();
        shortcut(&mut side);
        (self.layers, self.most_alive, self.tape) = (side.layers, side.most_alive, side.tape);
        self.shortcut = Some(side.tensor);
        self
    }

    /// Adds a block whose input is held until its end. Its result is added to its shortcut, or to
    /// its input if the shape stays.
    pub fn residual(&mut self, walk: impl FnOnce(&mut Self)) -> &mut Self {
        let (held, shape, input) = (self.held, (self.channels, self.px), self.tensor);
        self.held += self.channels * self.pixels();
        walk(self);
        self.held = held;
        let is_same_shape = (self.channels, self.px) == shape;
        if let Some(shortcut) = self.shortcut.take().or(is_same_shape.then_some(input)) {
            let operands = [self.tensor, shortcut].map(Operand::Tensor).to_vec();
            self.tensor = self.tape.push(Rule::SUM, operands, (self.channels * self.pixels()) as u64);
        }
        self
    }

    /// Adds branches with the same input, concatenated along the channels.
    pub fn side_by_side<B>(&mut self, branches: &[B], walk: impl Fn(&B, &mut Self)) -> &mut Self {
        let input = Self { layers: Vec::new(), tape: Tape::default(), ..*self };
        self.channels = 0;
        let mut results = Vec::with_capacity(branches.len());
        for branch in branches {
            // The input, and the outputs of the previous branches.
            let held = input.held + input.channels * input.pixels() + self.channels * self.pixels();
            let (layers, tape, most_alive) =
                (std::mem::take(&mut self.layers), std::mem::take(&mut self.tape), self.most_alive);
            let mut side = Self { layers, tape, held, most_alive, ..input.clone() };
            walk(branch, &mut side);
            results.push(Operand::Tensor(side.tensor));
            debug_assert!(self.channels == 0 || side.px == self.px);
            *self = Self { channels: self.channels + side.channels, held: input.held, ..side };
        }
        if results.len() > 1 {
            self.tensor = self.tape.push(Rule::CONCAT, results, (self.channels * self.pixels()) as u64);
        }
        self
    }

    /// Flattens the input to one row.
    pub fn flatten(&mut self) -> &mut Self {
        self.channels *= self.pixels();
        self.px = [1, 1];
        self
    }

    /// Adds a fully connected layer.
    pub fn linear(&mut self, linear: &Linear) -> &mut Self {
        let [inputs, outputs] = linear.weight.dims();
        debug_assert_eq!([inputs, 1], [self.channels, self.pixels()]);
        self.channels = outputs;
        let bias = if linear.bias.is_some() { outputs } else { 0 };
        self.layer(("Gemm", Rule::PRODUCT), inputs, inputs * outputs + bias, inputs * outputs);
        self
    }

    /// Adds a recurrent layer that reads the rows in order and returns its last output.
    pub fn lstm(&mut self, lstm: &Lstm) -> &mut Self {
        let [rows, columns] = self.px;
        debug_assert_eq!([self.channels, columns], [1, lstm.inputs()]);
        self.channels = lstm.units();
        self.px = [1, 1];
        self.layer(("LSTM", Rule::PRODUCT), rows * columns, super::weights::count(lstm), rows * lstm.products());
        self
    }

    fn pixels(&self) -> usize {
        self.px[0] * self.px[1]
    }

    fn slide(&mut self, kernel: [usize; 2], stride: [usize; 2], padding: &PaddingConfig2d) {
        let border = border(padding, kernel);
        for axis in 0..2 {
            let side = self.px[axis] + border[axis].iter().sum::<usize>();
            self.px[axis] = side.saturating_sub(kernel[axis]) / stride[axis] + 1;
        }
    }
}

/// Returns the padding before and after the image, vertical and horizontal.
fn border(padding: &PaddingConfig2d, kernel: [usize; 2]) -> [[usize; 2]; 2] {
    match *padding {
        PaddingConfig2d::Valid => [[0, 0]; 2],
        PaddingConfig2d::Same => kernel.map(|side| [(side - 1) / 2, side / 2]),
        PaddingConfig2d::Explicit(top, left, bottom, right) => [[top, bottom], [left, right]],
    }
}
