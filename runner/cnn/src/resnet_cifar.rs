//! ResNet-20 for CIFAR-10: He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition"
//! (CVPR 2016), section 4.2, as Matteussi et al. ("Analysis and Performance Evaluation of Deep
//! Learning on Big Data", 2019) ran it: BigDL 0.7.1, `models/resnet/ResNet.scala` with data set
//! CIFAR-10 and shortcuts of type A, which have no weights. The stem is a 3×3 convolution with
//! stride 1, and there is no max-pool.

use burn::module::Module;
use burn::nn::pool::{AvgPool2d, AvgPool2dConfig};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};

use super::Trace;
use super::layers::{ConvNorm, connect, conv, global_average};

/// ε of batch normalisation inside the blocks.
const EPSILON: f64 = 1e-3;
/// Channels of each stage, and its blocks.
const STAGES: [usize; 3] = [16, 32, 64];
const BLOCKS: usize = 3;

/// Stem, three stages of residual blocks and one fully connected layer.
#[derive(Module, Debug)]
pub struct ResNet20 {
    stem: ConvNorm,
    blocks: Vec<Block>,
    fc: Linear,
}

/// Residual block of two 3×3 convolutions.
#[derive(Module, Debug)]
pub struct Block {
    conv1: ConvNorm,
    conv2: ConvNorm,
    /// Takes every other pixel of the shortcut where the block halves the side and doubles the
    /// channels.
    halve: Option<AvgPool2d>,
}

impl ResNet20 {
    /// Creates the network with Burn's initial weights.
    pub fn new(classes: usize, device: &Device) -> Self {
        let mut channels = STAGES[0];
        let mut blocks = Vec::new();
        for width in STAGES {
            for _ in 0..BLOCKS {
                blocks.push(Block::new(channels, width, device));
                channels = width;
            }
        }
        Self {
            stem: ConvNorm::new(&conv([3, STAGES[0]], [3, 3], 1), device),
            blocks,
            fc: LinearConfig::new(channels, classes).init(device),
        }
    }

    /// Returns the class scores: images `[n, 3, px, px]` to `[n, classes]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let stem = self.stem.forward_relu(images);
        let x = self.blocks.iter().fold(stem, |x, block| block.forward(x));
        connect(&self.fc, global_average(x))
    }

    fn trace(&self, trace: &mut Trace) {
        self.stem.trace(trace);
        for block in &self.blocks {
            trace.residual(|trace| block.trace(trace));
        }
        trace.global_pool().linear(&self.fc);
    }
}

super::burn_cnn!(ResNet20);

impl Block {
    fn new(channels: usize, width: usize, device: &Device) -> Self {
        let halves = channels != width;
        let stride = if halves { 2 } else { 1 };
        Self {
            conv1: ConvNorm::with_epsilon(&conv([channels, width], [3, 3], stride), EPSILON, device),
            conv2: ConvNorm::with_epsilon(&conv([width, width], [3, 3], 1), EPSILON, device),
            halve: halves.then(|| AvgPool2dConfig::new([1, 1]).with_strides([2, 2]).init()),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let shortcut = match &self.halve {
            None => x.clone(),
            Some(halve) => {
                let x = halve.forward(x.clone());
                let zeros = x.zeros_like();
                Tensor::cat(vec![x, zeros], 1)
            }
        };
        self.conv2.forward_residual_relu(self.conv1.forward_relu(x), shortcut)
    }

    fn trace(&self, trace: &mut Trace) {
        if let Some(halve) = &self.halve {
            trace.shortcut(|shortcut| {
                shortcut.avg_pool(halve);
            });
        }
        self.conv1.trace(trace);
        self.conv2.trace(trace);
    }
}

#[cfg(test)]
mod tests {
    use foreglow_architectures::RESNET20_CIFAR;

    use crate::Build as _;

    /// He et al., table 6: 0.27 M parameters. 432 + 32 for the stem, 14,016 + 51,072 + 203,520 for
    /// the stages, 650 for the classes; one multiply-accumulate per weight and output pixel.
    #[test]
    fn resnet20_has_the_published_size() {
        let size = RESNET20_CIFAR.size([3, 32, 32]);
        assert_eq!((size.parameters, size.multiply_accumulates), (269_722, 40_551_040));
    }
}
