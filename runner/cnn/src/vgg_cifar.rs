//! VGG-16 for CIFAR-10, as Matteussi et al. ("Analysis and Performance Evaluation of Deep Learning
//! on Big Data", 2019) ran it: BigDL 0.7.1, `models/vgg/VggForCifar10.scala`, after Zagoruyko,
//! "92.45% on CIFAR-10 in Torch" (2015). The convolutions of Simonyan and Zisserman's configuration
//! D, each with batch normalisation and dropout, and two small fully connected layers.

use burn::module::Module;
use burn::nn::{
    BatchNorm, BatchNormConfig, Linear, LinearConfig,
    pool::{MaxPool2d, MaxPool2dConfig},
};
use burn::tensor::{Device, Tensor};

use super::Trace;
use super::activation::Activation;
use super::convolution::max_pool;
use super::dropout::Dropout;
use super::layers::{ConvNorm, connect, conv};
use super::normalisation::normalise;
use super::vgg::STAGES;

/// ε of batch normalisation after the convolutions.
const EPSILON: f64 = 1e-3;
/// Units of the hidden layer.
const HIDDEN: usize = 512;

/// Five stages of convolutions, each with a pool, and two fully connected layers.
#[derive(Module, Debug)]
pub struct VggCifar {
    stages: Vec<Vec<ConvNorm>>,
    pool: MaxPool2d,
    fc1: Linear,
    norm: BatchNorm,
    fc2: Linear,
    first_dropout: Dropout,
    dropout: Dropout,
    fc_dropout: Dropout,
}

impl VggCifar {
    /// Creates the network with Burn's initial weights.
    pub fn new(classes: usize, device: &Device) -> Self {
        let mut channels = 3;
        let stages = STAGES.map(|(out, count)| {
            let mut conv = || {
                let config = conv([std::mem::replace(&mut channels, out), out], [3, 3], 1).with_bias(true);
                ConvNorm::with_epsilon(&config, EPSILON, device)
            };
            (0..count).map(|_| conv()).collect()
        });
        Self {
            stages: stages.into(),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            fc1: LinearConfig::new(channels, HIDDEN).init(device),
            norm: BatchNormConfig::new(HIDDEN).init(device),
            fc2: LinearConfig::new(HIDDEN, classes).init(device),
            first_dropout: Dropout::new(0.3),
            dropout: Dropout::new(0.4),
            fc_dropout: Dropout::new(0.5),
        }
    }

    /// Returns the class scores: images `[n, 3, 32, 32]` to `[n, classes]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let mut x = images;
        for (number, stage) in self.stages.iter().enumerate() {
            let dropout = if number == 0 { &self.first_dropout } else { &self.dropout };
            for (place, conv) in stage.iter().enumerate() {
                x = conv.forward_relu(x);
                // The pool follows the last convolution of a stage without dropout.
                if place + 1 < stage.len() {
                    x = dropout.forward(x);
                }
            }
            x = max_pool(&self.pool, x);
        }
        let x: Tensor<2> = x.flatten(1, 3);
        let x = connect(&self.fc1, self.fc_dropout.forward(x));
        let [n, units] = x.dims();
        let x = normalise(&self.norm, x.reshape([n, units, 1, 1]), Activation::Relu);
        connect(&self.fc2, self.fc_dropout.forward(x.reshape([n, units])))
    }

    fn trace(&self, trace: &mut Trace) {
        for stage in &self.stages {
            for conv in stage {
                conv.trace(trace);
            }
            trace.max_pool(&self.pool);
        }
        trace.flatten();
        trace.linear(&self.fc1).norm(&self.norm).linear(&self.fc2);
    }
}

super::burn_cnn!(VggCifar);

#[cfg(test)]
mod tests {
    use foreglow_architectures::VGG16_CIFAR;

    use crate::Build as _;

    /// Derived from the program's layers: 14,710,464 weights, 4,224 biases and 8,448 scales and
    /// shifts of the convolutions, 262,656 + 1,024 + 5,130 of the fully connected layers.
    #[test]
    fn vgg16_for_cifar_has_the_size_of_the_programs_layers() {
        let size = VGG16_CIFAR.size([3, 32, 32]);
        assert_eq!((size.parameters, size.multiply_accumulates), (14_991_946, 313_463_808));
    }
}
