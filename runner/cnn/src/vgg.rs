//! VGG-16: Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
//! Recognition" (ICLR 2015), table 1, configuration D, as in torchvision: sizes other than 224 px
//! are average-pooled to 7×7 before the fully connected layers.

use burn::module::Module;
use burn::nn::{
    Linear, LinearConfig,
    conv::Conv2d,
    pool::{AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig, MaxPool2d, MaxPool2dConfig},
};
use burn::tensor::{Device, Tensor, activation::relu};

use super::Trace;
use super::activation::Activation;
use super::convolution::{convolve_then, max_pool};
use super::dropout::Dropout;
use super::layers::{connect, conv};

/// Channels and number of convolutions of each stage.
pub const STAGES: [(usize, usize); 5] = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)];

/// Five stages of convolutions, each with a pool, and three fully connected layers.
#[derive(Module, Debug)]
pub struct Vgg16 {
    stages: Vec<Vec<Conv2d>>,
    pool: MaxPool2d,
    average: AdaptiveAvgPool2d,
    fc1: Linear,
    fc2: Linear,
    fc3: Linear,
    dropout: Dropout,
}

impl Vgg16 {
    /// Creates the network with Burn's initial weights.
    pub fn new(classes: usize, device: &Device) -> Self {
        let mut channels = 3;
        let stages = STAGES.map(|(out, count)| {
            let mut conv =
                || conv([std::mem::replace(&mut channels, out), out], [3, 3], 1).with_bias(true).init(device);
            (0..count).map(|_| conv()).collect()
        });
        Self {
            stages: stages.into(),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            average: AdaptiveAvgPool2dConfig::new([7, 7]).init(),
            fc1: LinearConfig::new(512 * 7 * 7, 4096).init(device),
            fc2: LinearConfig::new(4096, 4096).init(device),
            fc3: LinearConfig::new(4096, classes).init(device),
            dropout: Dropout::new(0.5),
        }
    }

    /// Returns the class scores: images `[n, 3, px, px]` to `[n, classes]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let mut x = images;
        for stage in &self.stages {
            for conv in stage {
                x = convolve_then(conv, x, None, Activation::Relu);
            }
            x = max_pool(&self.pool, x);
        }
        let x: Tensor<2> = self.average.forward(x).flatten(1, 3);
        let x = self.dropout.forward(relu(connect(&self.fc1, x)));
        let x = self.dropout.forward(relu(connect(&self.fc2, x)));
        connect(&self.fc3, x)
    }

    fn trace(&self, trace: &mut Trace) {
        for stage in &self.stages {
            for conv in stage {
                trace.conv(conv);
            }
            trace.max_pool(&self.pool);
        }
        trace.adaptive_avg_pool(&self.average).flatten();
        trace.linear(&self.fc1).linear(&self.fc2).linear(&self.fc3);
    }
}

super::burn_cnn!(Vgg16);

#[cfg(test)]
mod tests {
    use foreglow_architectures::VGG16;

    use crate::Build as _;

    /// torchvision.models.vgg16 at 224 px: 138,357,544 parameters, 15.470 G multiply-accumulates.
    #[test]
    fn vgg16_has_the_published_size() {
        let size = VGG16.size([3, 224, 224]);
        assert_eq!((size.parameters, size.multiply_accumulates), (138_357_544, 15_470_264_320));
    }
}
