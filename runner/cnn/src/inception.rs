//! Inception-v4: Szegedy, Ioffe, Vanhoucke and Alemi, "Inception-v4, Inception-ResNet and the
//! Impact of Residual Connections on Learning" (AAAI 2017), figures 3 to 9, as in timm: ε = 1e-3 in
//! batch normalisation, average pools that do not count padding.

use burn::module::Module;
use burn::nn::{
    Linear, LinearConfig, PaddingConfig2d,
    conv::Conv2dConfig,
    pool::{AvgPool2d, AvgPool2dConfig, MaxPool2d},
};
use burn::tensor::{Device, Tensor};

use foreglow_onnx::Rule;

use super::Trace;
use super::convolution::max_pool;
use super::dropout::Dropout;
use super::layers::{ConvNorm, connect, conv, global_average, halving_max_pool};

/// Layer of a branch, as in the figures of the paper.
enum Draw {
    /// Convolution that keeps the side: channels and kernel.
    Conv(usize, [usize; 2]),
    /// Convolution without padding: channels, kernel side and stride.
    Valid(usize, usize, usize),
    /// A 1×3 and a 3×1 convolution of the same input, each with this many channels.
    Fork(usize),
    /// 3×3 average pool with stride 1.
    Average,
    /// 3×3 max-pool with stride 2.
    Max,
}
use Draw::{Average, Conv, Fork, Max, Valid};

/// Parallel branches, each a sequence of layers.
type Drawing = &'static [&'static [Draw]];

const STEM: [Drawing; 4] = [
    &[&[Valid(32, 3, 2), Valid(32, 3, 1), Conv(64, [3, 3])]],
    &[&[Max], &[Valid(96, 3, 2)]],
    &[&[Conv(64, [1, 1]), Valid(96, 3, 1)], &[Conv(64, [1, 1]), Conv(64, [1, 7]), Conv(64, [7, 1]), Valid(96, 3, 1)]],
    &[&[Valid(192, 3, 2)], &[Max]],
];
const INCEPTION_A: Drawing = &[
    &[Conv(96, [1, 1])],
    &[Conv(64, [1, 1]), Conv(96, [3, 3])],
    &[Conv(64, [1, 1]), Conv(96, [3, 3]), Conv(96, [3, 3])],
    &[Average, Conv(96, [1, 1])],
];
const REDUCTION_A: Drawing = &[&[Valid(384, 3, 2)], &[Conv(192, [1, 1]), Conv(224, [3, 3]), Valid(256, 3, 2)], &[Max]];
const INCEPTION_B: Drawing = &[
    &[Conv(384, [1, 1])],
    &[Conv(192, [1, 1]), Conv(224, [1, 7]), Conv(256, [7, 1])],
    &[Conv(192, [1, 1]), Conv(192, [7, 1]), Conv(224, [1, 7]), Conv(224, [7, 1]), Conv(256, [1, 7])],
    &[Average, Conv(128, [1, 1])],
];
const REDUCTION_B: Drawing = &[
    &[Conv(192, [1, 1]), Valid(192, 3, 2)],
    &[Conv(256, [1, 1]), Conv(256, [1, 7]), Conv(320, [7, 1]), Valid(320, 3, 2)],
    &[Max],
];
const INCEPTION_C: Drawing = &[
    &[Conv(256, [1, 1])],
    &[Conv(384, [1, 1]), Fork(256)],
    &[Conv(384, [1, 1]), Conv(448, [3, 1]), Conv(512, [1, 3]), Fork(256)],
    &[Average, Conv(256, [1, 1])],
];

/// Stem, inception and reduction modules in sequence, and one fully connected layer.
#[derive(Module, Debug)]
pub struct InceptionV4 {
    mixed: Vec<Mixed>,
    dropout: Dropout,
    fc: Linear,
}

/// Branches with the same input, concatenated along the channels.
#[derive(Module, Debug)]
pub struct Mixed {
    branches: Vec<Vec<Layer>>,
}

/// Layer of a branch.
#[derive(Module, Debug)]
pub enum Layer {
    /// Convolutions of the same input with ReLU, concatenated along the channels.
    Convs(Vec<ConvNorm>),
    /// Average pool.
    Average(AvgPool2d),
    /// Max-pool.
    Max(MaxPool2d),
}

impl InceptionV4 {
    /// Creates the network with Burn's initial weights.
    pub fn new(classes: usize, device: &Device) -> Self {
        let drawings = STEM
            .into_iter()
            .chain([INCEPTION_A; 4])
            .chain([REDUCTION_A])
            .chain([INCEPTION_B; 7])
            .chain([REDUCTION_B])
            .chain([INCEPTION_C; 3]);
        let mut channels = 3;
        Self {
            mixed: drawings.map(|drawing| Mixed::new(&mut channels, drawing, device)).collect(),
            dropout: Dropout::new(0.2),
            fc: LinearConfig::new(channels, classes).init(device),
        }
    }

    /// Returns the class scores: images `[n, 3, px, px]` to `[n, classes]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let x = self.mixed.iter().fold(images, |x, mixed| mixed.forward(&x));
        connect(&self.fc, self.dropout.forward(global_average(x)))
    }

    fn trace(&self, trace: &mut Trace) {
        for mixed in &self.mixed {
            mixed.trace(trace);
        }
        trace.global_pool().linear(&self.fc);
    }
}

super::burn_cnn!(InceptionV4);

impl Mixed {
    /// Creates the module and updates `channels` from its input to its output.
    fn new(channels: &mut usize, drawing: Drawing, device: &Device) -> Self {
        let channels_in = std::mem::take(channels);
        let branches = drawing
            .iter()
            .map(|branch| {
                let mut out = channels_in;
                let layers = branch.iter().map(|layer| Layer::new(&mut out, layer, device)).collect();
                *channels += out;
                layers
            })
            .collect();
        Self { branches }
    }

    fn forward(&self, x: &Tensor<4>) -> Tensor<4> {
        let forward = |branch: &Vec<Layer>| branch.iter().fold(x.clone(), |x, layer| layer.forward(x));
        Tensor::cat(self.branches.iter().map(forward).collect(), 1)
    }

    fn trace(&self, trace: &mut Trace) {
        trace.side_by_side(&self.branches, |branch, trace| {
            for layer in branch {
                layer.trace(trace);
            }
        });
    }
}

impl Layer {
    /// Creates the layer and updates `channels` from its input to its output.
    fn new(channels: &mut usize, layer: &Draw, device: &Device) -> Self {
        let channels_in = *channels;
        let mut convs = |out, convs: &[Conv2dConfig]| {
            *channels = out * convs.len();
            Self::Convs(convs.iter().map(|conv| ConvNorm::with_epsilon(conv, 1e-3, device)).collect())
        };
        match *layer {
            Conv(out, kernel) => convs(out, &[conv([channels_in, out], kernel, 1)]),
            Valid(out, side, stride) => {
                let conv = conv([channels_in, out], [side, side], stride);
                convs(out, &[conv.with_padding(PaddingConfig2d::Valid)])
            }
            Fork(out) => convs(out, &[[1, 3], [3, 1]].map(|kernel| conv([channels_in, out], kernel, 1))),
            Average => Self::Average(
                AvgPool2dConfig::new([3, 3])
                    .with_strides([1, 1])
                    .with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1))
                    .with_count_include_pad(false)
                    .init(),
            ),
            Max => Self::Max(halving_max_pool(0)),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        match self {
            Self::Convs(convs) => Tensor::cat(convs.iter().map(|conv| conv.forward_relu(x.clone())).collect(), 1),
            Self::Average(pool) => pool.forward(x),
            Self::Max(pool) => max_pool(pool, x),
        }
    }

    fn trace(&self, trace: &mut Trace) {
        match self {
            Self::Convs(convs) => {
                trace.side_by_side(convs, |conv, trace| {
                    conv.trace(trace);
                    // The result of ReLU is kept besides its copy in the concatenation.
                    trace.fused(Rule::ACTIVATION);
                });
            }
            Self::Average(pool) => {
                trace.avg_pool(pool);
            }
            Self::Max(pool) => {
                trace.max_pool(pool);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use foreglow_architectures::INCEPTION_V4;

    use crate::Build as _;

    /// timm's `inception_v4` at 299 px: 42,679,816 parameters; 12,253,974,624 multiply-accumulates
    /// in its convolutions and its matrix product, counted by hooks on the reference.
    #[test]
    fn inception_v4_has_the_published_size() {
        let size = INCEPTION_V4.size([3, 299, 299]);
        assert_eq!((size.parameters, size.multiply_accumulates), (42_679_816, 12_253_974_624));
    }
}
