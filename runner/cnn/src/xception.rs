//! Xception: Chollet, "Xception: Deep Learning with Depthwise Separable Convolutions" (CVPR 2017),
//! figure 5, as in timm (`legacy_xception`).

use burn::module::Module;
use burn::nn::{Linear, LinearConfig, PaddingConfig2d, conv::Conv2d, pool::MaxPool2d};
use burn::tensor::{Device, Tensor, activation::relu};

use foreglow_onnx::Rule;

use super::Trace;
use super::convolution::{convolve, max_pool};
use super::dropout::Dropout;
use super::layers::{ConvNorm, connect, conv, depthwise, global_average, halving_max_pool};

/// Two plain convolutions, twelve blocks of separable convolutions, two more separable convolutions
/// and one fully connected layer.
#[derive(Module, Debug)]
pub struct Xception {
    stem: Vec<ConvNorm>,
    blocks: Vec<Block>,
    exit: Vec<Separable>,
    dropout: Dropout,
    fc: Linear,
}

/// Separable convolutions with a shortcut; where the shape changes, a pool and a projection halve
/// the side.
#[derive(Module, Debug)]
pub struct Block {
    projection: Option<ConvNorm>,
    convs: Vec<Separable>,
    pool: Option<MaxPool2d>,
    starts_with_relu: bool,
}

/// Depthwise convolution, pointwise convolution and batch normalisation.
#[derive(Module, Debug)]
pub struct Separable {
    depthwise: Conv2d,
    pointwise: ConvNorm,
}

impl Xception {
    /// Creates the network with Burn's initial weights.
    pub fn new(classes: usize, device: &Device) -> Self {
        let stem = [conv([3, 32], [3, 3], 2), conv([32, 64], [3, 3], 1)];
        let entry = [[64, 128, 128], [128, 256, 256], [256, 728, 728]];
        let mut blocks: Vec<_> = entry.iter().map(|channels| Block::new(channels, device)).collect();
        blocks[0].starts_with_relu = false;
        blocks.extend((0..8).map(|_| Block::new(&[728; 4], device)));
        blocks.push(Block::new(&[728, 728, 1024], device));
        Self {
            stem: stem.map(|conv| ConvNorm::new(&conv.with_padding(PaddingConfig2d::Valid), device)).into(),
            blocks,
            exit: vec![Separable::new([1024, 1536], device), Separable::new([1536, 2048], device)],
            dropout: Dropout::new(0.5),
            fc: LinearConfig::new(2048, classes).init(device),
        }
    }

    /// Returns the class scores: images `[n, 3, px, px]` to `[n, classes]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let mut x = images;
        for conv in &self.stem {
            x = conv.forward_relu(x);
        }
        for block in &self.blocks {
            x = block.forward(x);
        }
        for conv in &self.exit {
            x = conv.forward_relu(x);
        }
        connect(&self.fc, self.dropout.forward(global_average(x)))
    }

    fn trace(&self, trace: &mut Trace) {
        for conv in &self.stem {
            conv.trace(trace);
        }
        for block in &self.blocks {
            trace.residual(|trace| block.trace(trace));
        }
        for conv in &self.exit {
            conv.trace(trace);
        }
        trace.global_pool().linear(&self.fc);
    }
}

super::burn_cnn!(Xception);

impl Block {
    /// Creates a block from the channels before the first, between, and after the last convolution.
    fn new(channels: &[usize], device: &Device) -> Self {
        let (first, last) = (channels[0], channels[channels.len() - 1]);
        let halves = first != last;
        Self {
            projection: halves.then(|| ConvNorm::new(&conv([first, last], [1, 1], 2), device)),
            convs: channels.windows(2).map(|pair| Separable::new([pair[0], pair[1]], device)).collect(),
            pool: halves.then(|| halving_max_pool(1)),
            starts_with_relu: true,
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let Some((last, convs)) = self.convs.split_last() else { return x };
        let first = if self.starts_with_relu { relu(x.clone()) } else { x.clone() };
        let out = convs.iter().fold(first, |out, conv| conv.forward_relu(out));
        match (&self.pool, &self.projection) {
            (Some(pool), Some(projection)) => projection.forward_residual(x, max_pool(pool, last.forward(out))),
            _ => last.forward_residual(out, x),
        }
    }

    fn trace(&self, trace: &mut Trace) {
        if let Some(projection) = &self.projection {
            trace.shortcut(|shortcut| projection.trace(shortcut));
        }
        if self.starts_with_relu {
            trace.fused(Rule::ACTIVATION);
        }
        for conv in &self.convs {
            conv.trace(trace);
        }
        if let Some(pool) = &self.pool {
            trace.max_pool(pool);
        }
    }
}

impl Separable {
    fn new(channels: [usize; 2], device: &Device) -> Self {
        Self {
            depthwise: depthwise(channels[0], 1).init(device),
            pointwise: ConvNorm::new(&conv(channels, [1, 1], 1), device),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        self.pointwise.forward(convolve(&self.depthwise, x))
    }

    fn forward_relu(&self, x: Tensor<4>) -> Tensor<4> {
        self.pointwise.forward_relu(convolve(&self.depthwise, x))
    }

    fn forward_residual(&self, x: Tensor<4>, residual: Tensor<4>) -> Tensor<4> {
        self.pointwise.forward_residual(convolve(&self.depthwise, x), residual)
    }

    fn trace(&self, trace: &mut Trace) {
        trace.conv(&self.depthwise);
        self.pointwise.trace(trace);
    }
}

#[cfg(test)]
mod tests {
    use foreglow_architectures::XCEPTION;

    use crate::Build as _;

    /// timm's `legacy_xception` at 299 px: 22,855,952 parameters; 8,357,403,496
    /// multiply-accumulates in its convolutions and its matrix product, counted by hooks on the
    /// reference.
    #[test]
    fn xception_has_the_published_size() {
        let size = XCEPTION.size([3, 299, 299]);
        assert_eq!((size.parameters, size.multiply_accumulates), (22_855_952, 8_357_403_496));
    }
}
