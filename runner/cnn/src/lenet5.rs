//! LeNet-5: LeCun, Bottou, Bengio and Haffner, "Gradient-Based Learning Applied to Document
//! Recognition" (Proceedings of the IEEE, 1998), in its common modern form: the second convolution
//! reads all six maps, the pools have no weights, and the last layer is linear.

use burn::module::Module;
use burn::nn::{
    Linear, LinearConfig,
    conv::{Conv2d, Conv2dConfig},
    pool::{AvgPool2d, AvgPool2dConfig},
};
use burn::tensor::{Device, Tensor};

use super::Trace;
use super::activation::Activation;
use super::graphics;
use super::layers::connect;

/// Two convolutions, two pools and three fully connected layers.
#[derive(Module, Debug)]
pub struct LeNet5 {
    conv1: Conv2d,
    conv2: Conv2d,
    pool: AvgPool2d,
    fc1: Linear,
    fc2: Linear,
    fc3: Linear,
}

impl LeNet5 {
    /// Creates the network with Burn's initial weights.
    pub fn new(classes: usize, device: &Device) -> Self {
        Self {
            conv1: Conv2dConfig::new([1, 6], [5, 5]).init(device),
            conv2: Conv2dConfig::new([6, 16], [5, 5]).init(device),
            pool: AvgPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            fc1: LinearConfig::new(16 * 5 * 5, 120).init(device),
            fc2: LinearConfig::new(120, 84).init(device),
            fc3: LinearConfig::new(84, classes).init(device),
        }
    }

    /// Returns the class scores: images `[n, 1, 32, 32]` to `[n, classes]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let x = self.pool.forward(convolve(&self.conv1, images).tanh());
        let x = self.pool.forward(convolve(&self.conv2, x).tanh());
        let x: Tensor<2> = x.flatten(1, 3);
        let x = connect(&self.fc1, x).tanh();
        let x = connect(&self.fc2, x).tanh();
        connect(&self.fc3, x)
    }

    fn trace(&self, trace: &mut Trace) {
        // Unlike ReLU, these take longer than the convolutions.
        trace.conv(&self.conv1).activation("Tanh").avg_pool(&self.pool);
        trace.conv(&self.conv2).activation("Tanh").avg_pool(&self.pool).flatten();
        trace.linear(&self.fc1).activation("Tanh").linear(&self.fc2).activation("Tanh").linear(&self.fc3);
    }
}

/// On the CPU uses Burn's convolution, which suits such small images.
fn convolve(conv: &Conv2d, images: Tensor<4>) -> Tensor<4> {
    graphics::convolve(conv, &images, None, Activation::None).unwrap_or_else(|| conv.forward(images))
}

super::burn_cnn!(LeNet5);

#[cfg(test)]
mod tests {
    use foreglow_architectures::LENET5;

    use crate::Build as _;

    /// 61,706 parameters: 156 + 2,416 + 48,120 + 10,164 + 850. 416,520 multiply-accumulates:
    /// 117,600 + 240,000 + 48,000 + 10,080 + 840.
    #[test]
    fn lenet5_has_the_published_size() {
        let size = LENET5.size([1, 32, 32]);
        assert_eq!((size.parameters, size.multiply_accumulates), (61_706, 416_520));
    }
}
