//! ResNet: He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition" (CVPR 2016),
//! table 1, as in torchvision: projections where the shape changes, batch normalisation after every
//! convolution, and in ResNet-50 the stride in the 3×3 convolution.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig, pool::MaxPool2d};
use burn::tensor::{Device, Tensor};

use super::Trace;
use super::convolution::max_pool;
use super::layers::{ConvNorm, connect, conv, global_average, halving_max_pool};

/// Blocks of each stage.
pub const RESNET18_BLOCKS: [usize; 4] = [2, 2, 2, 2];
/// Blocks of each stage.
pub const RESNET50_BLOCKS: [usize; 4] = [3, 4, 6, 3];

/// Stem, four stages of residual blocks and one fully connected layer.
#[derive(Module, Debug)]
pub struct ResNet {
    stem: ConvNorm,
    pool: MaxPool2d,
    blocks: Vec<Block>,
    fc: Linear,
}

/// Residual block.
#[derive(Module, Debug)]
pub struct Block {
    convs: Vec<ConvNorm>,
    projection: Option<ConvNorm>,
}

/// Returns kernel, channels and stride of each convolution of a block, for the width and stride of
/// its stage.
type Convs = fn(width: usize, stride: usize) -> Vec<(usize, usize, usize)>;

/// Two 3×3 convolutions.
fn basic(width: usize, stride: usize) -> Vec<(usize, usize, usize)> {
    vec![(3, width, stride), (3, width, 1)]
}

/// A 3×3 convolution between two 1×1 convolutions that reduce and restore the channels.
fn bottleneck(width: usize, stride: usize) -> Vec<(usize, usize, usize)> {
    vec![(1, width, 1), (3, width, stride), (1, 4 * width, 1)]
}

impl ResNet {
    /// Creates ResNet-18.
    pub fn resnet18(classes: usize, device: &Device) -> Self {
        Self::new(RESNET18_BLOCKS, basic, classes, device)
    }

    /// Creates ResNet-50.
    pub fn resnet50(classes: usize, device: &Device) -> Self {
        Self::new(RESNET50_BLOCKS, bottleneck, classes, device)
    }

    fn new(blocks_per_stage: [usize; 4], convs: Convs, classes: usize, device: &Device) -> Self {
        let mut blocks = Vec::new();
        let mut channels = 64;
        for (stage, count) in blocks_per_stage.into_iter().enumerate() {
            for block in 0..count {
                let stride = if stage > 0 && block == 0 { 2 } else { 1 };
                blocks.push(Block::new(&mut channels, stride, &convs(64 << stage, stride), device));
            }
        }
        Self {
            stem: ConvNorm::new(&conv([3, 64], [7, 7], 2), device),
            pool: halving_max_pool(1),
            blocks,
            fc: LinearConfig::new(channels, classes).init(device),
        }
    }

    /// Returns the class scores: images `[n, 3, px, px]` to `[n, classes]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let mut x = max_pool(&self.pool, self.stem.forward_relu(images));
        for block in &self.blocks {
            x = block.forward(x);
        }
        connect(&self.fc, global_average(x))
    }

    fn trace(&self, trace: &mut Trace) {
        self.stem.trace(trace);
        trace.max_pool(&self.pool);
        for block in &self.blocks {
            trace.residual(|trace| block.trace(trace));
        }
        trace.global_pool().linear(&self.fc);
    }
}

super::burn_cnn!(ResNet);

impl Block {
    /// Creates the block and updates `channels` from its input to its output.
    fn new(channels: &mut usize, stride: usize, convs: &[(usize, usize, usize)], device: &Device) -> Self {
        let channels_in = *channels;
        let convs = convs
            .iter()
            .map(|(kernel, out, stride)| {
                let config = conv([std::mem::replace(channels, *out), *out], [*kernel, *kernel], *stride);
                ConvNorm::new(&config, device)
            })
            .collect();
        let changes_shape = stride != 1 || channels_in != *channels;
        let projection = changes_shape.then(|| ConvNorm::new(&conv([channels_in, *channels], [1, 1], stride), device));
        Self { convs, projection }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let shortcut = match &self.projection {
            Some(projection) => projection.forward(x.clone()),
            None => x.clone(),
        };
        let Some((last, convs)) = self.convs.split_last() else { return shortcut };
        let residual = convs.iter().fold(x, |x, conv| conv.forward_relu(x));
        last.forward_residual_relu(residual, shortcut)
    }

    fn trace(&self, trace: &mut Trace) {
        if let Some(projection) = &self.projection {
            trace.shortcut(|shortcut| projection.trace(shortcut));
        }
        for conv in &self.convs {
            conv.trace(trace);
        }
    }
}

#[cfg(test)]
mod tests {
    use foreglow_architectures::{RESNET18, RESNET50};

    use crate::Build as _;

    /// torchvision.models.resnet18 at 224 px: 11,689,512 parameters, 1.814 G multiply-accumulates.
    #[test]
    fn resnet18_has_the_published_size() {
        let size = RESNET18.size([3, 224, 224]);
        assert_eq!((size.parameters, size.multiply_accumulates), (11_689_512, 1_814_073_344));
    }

    /// torchvision.models.resnet50 at 224 px: 25,557,032 parameters, 4.089 G multiply-accumulates.
    #[test]
    fn resnet50_has_the_published_size() {
        let size = RESNET50.size([3, 224, 224]);
        assert_eq!((size.parameters, size.multiply_accumulates), (25_557_032, 4_089_184_256));
    }
}
