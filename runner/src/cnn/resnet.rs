//! ResNet-18: He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition" (CVPR 2016), table 1, as torchvision
//! builds it: projections where the shape changes, batch normalisation after every convolution, 1,000 classes.

use burn::module::Module;
use burn::nn::{
    BatchNorm, BatchNormConfig, Linear, LinearConfig, PaddingConfig2d,
    conv::{Conv2d, Conv2dConfig},
    pool::{MaxPool2d, MaxPool2dConfig},
};
use burn::tensor::{Device, Tensor, activation::relu};

use super::{Architecture, Colour, Input, Trace};

/// What is known of it.
pub const RESNET18: Architecture = Architecture {
    name: "resnet18",
    source: "He et al. 2016",
    // The stem and the stages halve the side five times: from 32 px on, one pixel a channel is left at the end.
    input: Input { colour: Colour::Rgb, default_px: 64, px: 32..=1024 },
    classes: 1000,
    build: |device| Box::new(ResNet::new([2, 2, 2, 2], device)),
};

/// A stem, four stages of residual blocks, one fully connected layer.
#[derive(Module, Debug)]
pub struct ResNet {
    stem: ConvNorm,
    pool: MaxPool2d,
    blocks: Vec<Block>,
    fc: Linear,
}

/// Two 3×3 convolutions around a shortcut.
#[derive(Module, Debug)]
pub struct Block {
    conv1: ConvNorm,
    conv2: ConvNorm,
    projection: Option<ConvNorm>,
}

/// A convolution without bias, and batch normalisation.
#[derive(Module, Debug)]
pub struct ConvNorm {
    conv: Conv2d,
    norm: BatchNorm,
}

impl ResNet {
    fn new(blocks_per_stage: [usize; 4], device: &Device) -> Self {
        let mut blocks = Vec::new();
        let mut channels = 64;
        for (stage, count) in blocks_per_stage.into_iter().enumerate() {
            let out = 64 << stage;
            for block in 0..count {
                let stride = if stage > 0 && block == 0 { 2 } else { 1 };
                blocks.push(Block::new(channels, out, stride, device));
                channels = out;
            }
        }
        Self {
            stem: ConvNorm::new([3, 64], 7, 2, device),
            pool: MaxPool2dConfig::new([3, 3]).with_strides([2, 2]).with_padding(pad(1)).init(),
            blocks,
            fc: LinearConfig::new(channels, 1000).init(device),
        }
    }

    fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let mut x = self.pool.forward(relu(self.stem.forward(images)));
        for block in &self.blocks {
            x = block.forward(x);
        }
        let [images, channels, _, _] = x.dims();
        self.fc.forward(x.mean_dims(&[2, 3]).reshape([images, channels]))
    }

    fn trace(&self, trace: &mut Trace) {
        self.stem.trace(trace);
        trace.max_pool(&self.pool);
        for block in &self.blocks {
            block.trace(trace);
        }
        trace.global_pool().linear(&self.fc);
    }
}

super::burn_cnn!(ResNet);

impl Block {
    fn new(channels_in: usize, channels_out: usize, stride: usize, device: &Device) -> Self {
        let changes_shape = stride != 1 || channels_in != channels_out;
        Self {
            conv1: ConvNorm::new([channels_in, channels_out], 3, stride, device),
            conv2: ConvNorm::new([channels_out, channels_out], 3, 1, device),
            projection: changes_shape.then(|| ConvNorm::new([channels_in, channels_out], 1, stride, device)),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let residual = self.conv2.forward(relu(self.conv1.forward(x.clone())));
        let shortcut = match &self.projection {
            Some(projection) => projection.forward(x),
            None => x,
        };
        relu(residual + shortcut)
    }

    fn trace(&self, trace: &mut Trace) {
        if let Some(projection) = &self.projection {
            trace.beside(|shortcut| projection.trace(shortcut));
        }
        self.conv1.trace(trace);
        self.conv2.trace(trace);
    }
}

impl ConvNorm {
    fn new(channels: [usize; 2], kernel: usize, stride: usize, device: &Device) -> Self {
        Self {
            conv: Conv2dConfig::new(channels, [kernel, kernel])
                .with_stride([stride, stride])
                .with_padding(pad(kernel / 2))
                .with_bias(false)
                .init(device),
            norm: BatchNormConfig::new(channels[1]).init(device),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        self.norm.forward(self.conv.forward(x))
    }

    fn trace(&self, trace: &mut Trace) {
        trace.conv(&self.conv).norm(&self.norm);
    }
}

fn pad(px: usize) -> PaddingConfig2d {
    if px == 0 { PaddingConfig2d::Valid } else { PaddingConfig2d::Explicit(px, px, px, px) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// torchvision.models.resnet18: 11,689,512 parameters, 1.814 G multiply-accumulates at 224 px.
    #[test]
    fn resnet18_has_the_published_size() {
        let size = RESNET18.size(224, &Device::flex());
        assert_eq!((size.parameters, size.multiply_accumulates), (11_689_512, 1_814_073_344));
    }
}
