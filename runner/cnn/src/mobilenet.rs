//! MobileNet-v2: Sandler, Howard, Zhu, Zhmoginov and Chen, "MobileNetV2: Inverted Residuals and
//! Linear Bottlenecks" (CVPR 2018), table 2, width 1, as in torchvision.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};

use foreglow_onnx::Rule;

use super::Trace;
use super::dropout::Dropout;
use super::layers::{ConvNorm, connect, conv, depthwise, global_average};

/// ReLU6 on a tape: its derivative follows from its argument.
const RELU6: Rule = Rule::FUNCTION;

/// Rows of table 2: expansion, channels, blocks, stride of the first block.
const STAGES: [(usize, usize, usize, usize); 7] =
    [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)];

/// Stem, inverted residual blocks, a wide 1×1 convolution and one fully connected layer.
#[derive(Module, Debug)]
pub struct MobileNetV2 {
    stem: ConvNorm,
    blocks: Vec<Block>,
    last: ConvNorm,
    dropout: Dropout,
    fc: Linear,
}

/// Inverted residual block: expand, depthwise convolution, project; with a shortcut if the shape
/// stays the same.
#[derive(Module, Debug)]
pub struct Block {
    expand: Option<ConvNorm>,
    depthwise: ConvNorm,
    project: ConvNorm,
    has_shortcut: bool,
}

impl MobileNetV2 {
    /// Creates the network with Burn's initial weights.
    pub fn new(classes: usize, device: &Device) -> Self {
        let mut blocks = Vec::new();
        let mut channels = 32;
        for (expansion, out, count, first_stride) in STAGES {
            for block in 0..count {
                let stride = if block == 0 { first_stride } else { 1 };
                blocks.push(Block::new(channels, out, expansion, stride, device));
                channels = out;
            }
        }
        Self {
            stem: ConvNorm::new(&conv([3, 32], [3, 3], 2), device),
            blocks,
            last: ConvNorm::new(&conv([channels, 1280], [1, 1], 1), device),
            dropout: Dropout::new(0.2),
            fc: LinearConfig::new(1280, classes).init(device),
        }
    }

    /// Returns the class scores: images `[n, 3, px, px]` to `[n, classes]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let mut x = self.stem.forward_relu6(images);
        for block in &self.blocks {
            x = block.forward(x);
        }
        let x = global_average(self.last.forward_relu6(x));
        connect(&self.fc, self.dropout.forward(x))
    }

    fn trace(&self, trace: &mut Trace) {
        self.stem.trace(trace);
        trace.fused(RELU6);
        for block in &self.blocks {
            trace.residual(|trace| block.trace(trace));
        }
        self.last.trace(trace);
        trace.fused(RELU6).global_pool().linear(&self.fc);
    }
}

super::burn_cnn!(MobileNetV2);

impl Block {
    fn new(channels_in: usize, channels_out: usize, expansion: usize, stride: usize, device: &Device) -> Self {
        let wide = channels_in * expansion;
        Self {
            expand: (expansion > 1).then(|| ConvNorm::new(&conv([channels_in, wide], [1, 1], 1), device)),
            depthwise: ConvNorm::new(&depthwise(wide, stride), device),
            project: ConvNorm::new(&conv([wide, channels_out], [1, 1], 1), device),
            has_shortcut: stride == 1 && channels_in == channels_out,
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let wide = match &self.expand {
            Some(expand) => expand.forward_relu6(x.clone()),
            None => x.clone(),
        };
        let wide = self.depthwise.forward_relu6(wide);
        if self.has_shortcut { self.project.forward_residual(wide, x) } else { self.project.forward(wide) }
    }

    fn trace(&self, trace: &mut Trace) {
        if let Some(expand) = &self.expand {
            expand.trace(trace);
            trace.fused(RELU6);
        }
        self.depthwise.trace(trace);
        trace.fused(RELU6);
        self.project.trace(trace);
    }
}

#[cfg(test)]
mod tests {
    use foreglow_architectures::MOBILENET_V2;

    use crate::Build as _;

    /// torchvision.models.mobilenet_v2 at 224 px: 3,504,872 parameters, 0.301 G
    /// multiply-accumulates.
    #[test]
    fn mobilenet_v2_has_the_published_size() {
        let size = MOBILENET_V2.size([3, 224, 224]);
        assert_eq!((size.parameters, size.multiply_accumulates), (3_504_872, 300_774_272));
    }
}
