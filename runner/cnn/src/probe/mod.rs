//! Single layers for timing, from which the time of a network is computed.

use std::time::{Duration, Instant};

use burn::nn::conv::Conv2dConfig;
use burn::nn::pool::{AdaptiveAvgPool2dConfig, AvgPool2dConfig, MaxPool2dConfig};
use burn::nn::{BatchNormConfig, Initializer, LinearConfig, PaddingConfig2d};
use burn::tensor::{Device, Distribution, Tensor, activation};
use foreglow_onnx::LayerCost;
use serde::Deserialize;

use crate::activation::Activation;
use crate::convolution::max_pool;
use crate::layers::{ConvNorm, global_average};
use crate::normalisation::normalise;
use crate::shapes::Trace;

/// The layers that a calibration times: first layers of networks, and layers from few channels and
/// many pixels to many channels and one pixel.
const TYPICAL: &str = include_str!("layers.json");
/// Bytes of weights that exceed the caches of a core.
const UNCACHED_BYTES: usize = 48 << 20;
/// Most copies of a layer's weights.
const MOST_COPIES: usize = 12;
/// Shortest timed interval; shorter layers are repeated within it.
const SHORTEST_SECS: f64 = 200e-6;
/// Lower bound on the share of a layer in the time of the layer and of writing its inputs.
const LEAST_SHARE: f64 = 0.05;

/// A layer to be timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Probe {
    /// A convolution with batch normalisation and ReLU, padded by half of the kernel.
    Conv {
        /// Input and output channels.
        channels: [usize; 2],
        /// Height and width of the kernel.
        kernel: [usize; 2],
        /// Stride, pixels.
        stride: usize,
        /// Groups of channels.
        groups: usize,
        /// Side of the input, pixels.
        side: usize,
    },
    /// A fully connected layer: inputs and outputs.
    Linear([usize; 2]),
    /// A pool or an operation on each number, by its operator in ONNX, on an input of this many
    /// channels and this side.
    Other(Other, [usize; 2]),
}

/// A layer whose time does not depend on weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Other {
    /// Max-pool: kernel and stride.
    MaxPool(usize, usize),
    /// Average pool: kernel and stride.
    AveragePool(usize, usize),
    /// Average pool to a side of 7 px.
    AdaptivePool,
    /// Mean of each channel.
    GlobalAveragePool,
    /// max(x, 0).
    Relu,
    /// max(x, 0.01 x).
    LeakyRelu,
    /// Hyperbolic tangent.
    Tanh,
    /// Logistic function.
    Sigmoid,
    /// x · clip(x / 6 + 0.5, 0, 1).
    HardSwish,
    /// x · Φ(x).
    Gelu,
    /// Sum of two tensors.
    Add,
    /// Product with a number per channel and image.
    Mul,
    /// Concatenation along the channels with a tensor of the same shape.
    Concat,
    /// Channels last.
    Transpose,
    /// Batch normalisation alone.
    BatchNormalization,
    /// Normalisation over the channels of each pixel, which come last.
    LayerNormalization,
    /// Softmax over the last axis.
    Softmax,
}

/// The computation of a probe, on inputs of `[n, channels, height, width]`.
type Forward = Box<dyn Fn(Tensor<4>)>;

/// A probe on a device, with inputs.
pub struct ProbeLayer {
    inputs: Tensor<4>,
    /// One for each copy of the weights.
    copies: Vec<Forward>,
}

/// Returns the layers that a calibration times.
pub fn typical() -> Vec<Probe> {
    serde_json::from_str(TYPICAL).expect("the list of layers has the form of probes")
}

impl Probe {
    /// Returns the shape of one input.
    pub fn shape(&self) -> [usize; 3] {
        match *self {
            Self::Conv { channels: [inputs, _], side, .. } => [inputs, side, side],
            Self::Linear([inputs, _]) => [inputs, 1, 1],
            Self::Other(_, [channels, side]) => [channels, side, side],
        }
    }

    /// Returns the cost for one input.
    pub fn cost(&self) -> LayerCost {
        let mut trace = Trace::new(self.shape());
        let device = Device::flex();
        match *self {
            Self::Conv { .. } => {
                self.conv(&device).trace(&mut trace);
            }
            Self::Linear(sizes) => {
                trace.linear(&linear(sizes, &device));
            }
            Self::Other(other, _) => other.trace(&mut trace),
        }
        // Batch normalisation is part of a convolution's time.
        trace.layers().first().cloned().unwrap_or_default()
    }

    /// Builds it on a device, with inputs for a mini-batch.
    pub fn build(self, batch: usize, device: &Device) -> ProbeLayer {
        let [channels, height, width] = self.shape();
        let inputs = Tensor::random([batch, channels, height, width], Distribution::Normal(0.0, 1.0), device);
        let bytes = 4 * self.cost().weights as usize;
        let copies = if bytes == 0 { 1 } else { UNCACHED_BYTES.div_ceil(bytes).clamp(1, MOST_COPIES) };
        ProbeLayer { inputs, copies: (0..copies).map(|_| self.forward(device)).collect() }
    }

    fn conv(&self, device: &Device) -> ConvNorm {
        let Self::Conv { channels, kernel, stride, groups, .. } = *self else {
            unreachable!("only a convolution is built as one")
        };
        let [down, across] = kernel.map(|side| side / 2);
        let config = Conv2dConfig::new(channels, kernel)
            .with_stride([stride, stride])
            .with_padding(PaddingConfig2d::Explicit(down, across, down, across))
            .with_groups(groups)
            .with_bias(false)
            .with_initializer(Initializer::Constant { value: 0.01 });
        ConvNorm::new(&config, device)
    }

    fn forward(self, device: &Device) -> Forward {
        match self {
            Self::Conv { .. } => {
                let conv = self.conv(device);
                Box::new(move |x| drop(conv.forward_relu(x)))
            }
            Self::Linear(sizes) => {
                let linear = linear(sizes, device);
                Box::new(move |x| drop(linear.forward(x.flatten::<2>(1, 3))))
            }
            Self::Other(other, [channels, side]) => other.forward(channels, side, device),
        }
    }
}

fn linear([inputs, outputs]: [usize; 2], device: &Device) -> burn::nn::Linear {
    LinearConfig::new(inputs, outputs).with_initializer(Initializer::Constant { value: 0.01 }).init(device)
}

impl Other {
    /// Returns its operator in ONNX.
    pub fn operator(self) -> &'static str {
        match self {
            Self::MaxPool(..) => "MaxPool",
            Self::AveragePool(..) | Self::AdaptivePool => "AveragePool",
            Self::GlobalAveragePool => "GlobalAveragePool",
            Self::Relu => "Relu",
            Self::LeakyRelu => "LeakyRelu",
            Self::Tanh => "Tanh",
            Self::Sigmoid => "Sigmoid",
            Self::HardSwish => "HardSwish",
            Self::Gelu => "Gelu",
            Self::Add => "Add",
            Self::Mul => "Mul",
            Self::Concat => "Concat",
            Self::Transpose => "Transpose",
            Self::BatchNormalization => "BatchNormalization",
            Self::LayerNormalization => "LayerNormalization",
            Self::Softmax => "Softmax",
        }
    }

    fn trace(self, trace: &mut Trace) {
        let channels = trace.channels;
        let device = Device::flex();
        match self {
            Self::MaxPool(kernel, stride) => trace.max_pool(&max_pool_of(kernel, stride)),
            Self::AveragePool(kernel, stride) => trace.avg_pool(&average_pool_of(kernel, stride)),
            Self::AdaptivePool => trace.adaptive_avg_pool(&AdaptiveAvgPool2dConfig::new([7, 7]).init()),
            Self::GlobalAveragePool => trace.global_pool(),
            Self::BatchNormalization => trace.norm(&BatchNormConfig::new(channels).init(&device)),
            Self::Add => trace.pointwise(self.operator(), 2, channels),
            Self::Concat => trace.pointwise(self.operator(), 2, 2 * channels),
            other => trace.pointwise(other.operator(), 1, channels),
        };
    }

    fn forward(self, channels: usize, side: usize, device: &Device) -> Forward {
        match self {
            Self::MaxPool(kernel, stride) => {
                let pool = max_pool_of(kernel, stride);
                Box::new(move |x| drop(max_pool(&pool, x)))
            }
            Self::AveragePool(kernel, stride) => {
                let pool = average_pool_of(kernel, stride);
                Box::new(move |x| drop(pool.forward(x)))
            }
            Self::AdaptivePool => {
                let pool = AdaptiveAvgPool2dConfig::new([7, 7]).init();
                Box::new(move |x| drop(pool.forward(x)))
            }
            Self::GlobalAveragePool => Box::new(|x| drop(global_average(x))),
            Self::Relu => Box::new(|x| drop(activation::relu(x))),
            Self::LeakyRelu => Box::new(|x| drop(activation::leaky_relu(x, 0.01))),
            Self::Tanh => Box::new(|x| drop(x.tanh())),
            Self::Sigmoid => Box::new(|x| drop(activation::sigmoid(x))),
            Self::HardSwish => Box::new(|x| drop(activation::hard_swish(x))),
            Self::Gelu => Box::new(|x| drop(activation::gelu(x))),
            Self::Add => {
                let other = Tensor::<4>::ones([1, channels, side, side], device);
                Box::new(move |x| {
                    let [images, ..] = x.dims();
                    drop(x + other.clone().expand([images, channels, side, side]));
                })
            }
            Self::Mul => {
                let scale = Tensor::<4>::full([1, channels, 1, 1], 0.5, device);
                Box::new(move |x| drop(x * scale.clone()))
            }
            Self::Concat => Box::new(|x| drop(Tensor::cat(vec![x.clone(), x], 1))),
            Self::Transpose => Box::new(|x| drop(x.permute([0, 2, 3, 1]) + 0.0)),
            Self::BatchNormalization => {
                let norm = BatchNormConfig::new(channels).init(device);
                Box::new(move |x| drop(normalise(&norm, x, Activation::Relu)))
            }
            Self::LayerNormalization => {
                let norm = burn::nn::LayerNormConfig::new(channels).init(device);
                Box::new(move |x| {
                    let [images, ..] = x.dims();
                    drop(norm.forward(x.reshape([images * side * side, channels])));
                })
            }
            Self::Softmax => Box::new(|x| drop(activation::softmax(x, 3))),
        }
    }
}

fn max_pool_of(kernel: usize, stride: usize) -> burn::nn::pool::MaxPool2d {
    let border = if stride < kernel { kernel / 2 } else { 0 };
    let padding = PaddingConfig2d::Explicit(border, border, border, border);
    MaxPool2dConfig::new([kernel; 2]).with_strides([stride; 2]).with_padding(padding).init()
}

fn average_pool_of(kernel: usize, stride: usize) -> burn::nn::pool::AvgPool2d {
    let border = if stride < kernel { kernel / 2 } else { 0 };
    let padding = PaddingConfig2d::Explicit(border, border, border, border);
    AvgPool2dConfig::new([kernel; 2])
        .with_strides([stride; 2])
        .with_padding(padding)
        .with_count_include_pad(false)
        .init()
}

impl ProbeLayer {
    /// Returns times of a mini-batch, seconds, over repeats that together take about `budget`. Each
    /// repeat reads another copy of the weights and newly written inputs, as in a network: there,
    /// other layers have evicted the weights from the cache, and the previous layer has just
    /// written the inputs, which may be overwritten. The time to write the inputs is subtracted.
    ///
    /// # Errors
    /// The device failed.
    pub fn secs(&self, budget: Duration, device: &Device) -> anyhow::Result<Vec<f64>> {
        let run = |repeats: usize, first: usize| -> anyhow::Result<[f64; 2]> {
            let clock = Instant::now();
            for repeat in 0..repeats {
                self.copies[(first + repeat) % self.copies.len()](self.write());
            }
            device.sync().map_err(crate::device::failure)?;
            let both = clock.elapsed().as_secs_f64();
            let clock = Instant::now();
            (0..repeats).for_each(|_| drop(self.write()));
            device.sync().map_err(crate::device::failure)?;
            Ok([both, clock.elapsed().as_secs_f64()].map(|secs| secs / repeats as f64))
        };
        let start = Instant::now();
        let [first, _] = run(1, 0)?;
        let [second, _] = run(1, 1)?;
        let repeats = (SHORTEST_SECS / first.min(second)).ceil().clamp(1.0, 1e4) as usize;
        let (mut secs, mut first) = (Vec::new(), 2);
        while secs.is_empty() || start.elapsed() < budget {
            let [both, write] = run(repeats, first)?;
            secs.push((both - write).max(LEAST_SHARE * both));
            first += repeats;
        }
        Ok(secs)
    }

    /// Returns inputs in newly allocated memory.
    fn write(&self) -> Tensor<4> {
        self.inputs.clone() * 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_typical_layer_runs_and_has_a_cost() {
        let device = Device::flex();
        for probe in typical() {
            let cost = probe.cost();
            assert!(cost.numbers() > 0 && cost.activations > 0, "{probe:?}");
            if let Probe::Other(other, _) = probe {
                assert_eq!(cost.operator, other.operator());
            }
        }
        for probe in [typical()[0], Probe::Linear([400, 120]), Probe::Other(Other::Concat, [84, 1])] {
            let secs = probe.build(2, &device).secs(Duration::ZERO, &device).unwrap();
            assert!(secs.len() == 1 && secs[0] > 0.0 && secs[0] < 1.0, "{probe:?}: {secs:?}");
        }
    }
}
