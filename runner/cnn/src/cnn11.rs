//! The 11-layer CNN of Bagari, "Accelerating Deep Learning on an Apache Spark Environment using
//! GPUs" (University College Cork, 2018), for the 143 categories of a shop's photographs.
//!
//! The thesis gives the number of layers (11), of parameters (1,922,023) and of classes, the image
//! size (32×32×3) and the first layer of each kind (section 5.7): a 5×5 convolution with 20 outputs
//! and no padding, a 2×2 max-pool, a dense layer of 128 and the output layer, with leaky ReLU
//! between them. It has no layer table. Several layouts fit; this one continues with 3×3
//! convolutions and round channel counts, and has exactly the published number of parameters.

use burn::module::Module;
use burn::nn::{
    Linear, LinearConfig,
    conv::{Conv2d, Conv2dConfig},
    pool::{MaxPool2d, MaxPool2dConfig},
};
use burn::tensor::{Device, Tensor, activation::leaky_relu};

use super::Trace;
use super::convolution::{convolve, max_pool};
use super::layers::connect;

/// Negative slope of the leaky ReLU: the default of Deeplearning4j.
const SLOPE: f64 = 0.01;

/// Five convolutions, two pools and four dense layers.
#[derive(Module, Debug)]
pub struct Cnn11 {
    conv1: Conv2d,
    pool: MaxPool2d,
    convs: Vec<Conv2d>,
    dense: Vec<Linear>,
    output: Linear,
}

impl Cnn11 {
    /// Creates the network with Burn's initial weights.
    pub fn new(classes: usize, device: &Device) -> Self {
        let convs = [[20, 20], [20, 200], [200, 200], [200, 500]];
        let dense = [[500 * 3 * 3, 128], [128, 128], [128, 100]];
        Self {
            conv1: Conv2dConfig::new([3, 20], [5, 5]).init(device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            convs: convs.iter().map(|channels| Conv2dConfig::new(*channels, [3, 3]).init(device)).collect(),
            dense: dense.iter().map(|[inputs, outputs]| LinearConfig::new(*inputs, *outputs).init(device)).collect(),
            output: LinearConfig::new(100, classes).init(device),
        }
    }

    /// Returns the class scores: images `[n, 3, 32, 32]` to `[n, classes]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let mut x = max_pool(&self.pool, leaky_relu(convolve(&self.conv1, images), SLOPE));
        for conv in &self.convs {
            x = leaky_relu(convolve(conv, x), SLOPE);
        }
        let mut x: Tensor<2> = max_pool(&self.pool, x).flatten(1, 3);
        for dense in &self.dense {
            x = leaky_relu(dense.forward(x), SLOPE);
        }
        connect(&self.output, x)
    }

    fn trace(&self, trace: &mut Trace) {
        trace.conv(&self.conv1).max_pool(&self.pool);
        for conv in &self.convs {
            trace.conv(conv);
        }
        trace.max_pool(&self.pool).flatten();
        for dense in &self.dense {
            trace.linear(dense);
        }
        trace.linear(&self.output);
    }
}

super::burn_cnn!(Cnn11);

#[cfg(test)]
mod tests {
    use foreglow_architectures::CNN11;

    use crate::Build as _;

    /// 1,922,023 parameters (Bagari 2018, figure 6.12): 1,520 + 3,620 + 36,200 + 360,200 +
    /// 900,500 + 576,128 + 16,512 + 12,900 + 14,443. Multiply-accumulates: 20·28²·75 + 20·12²·180 +
    /// 200·10²·180 + 200·8²·1,800 + 500·6²·1,800 and the weights of the dense layers.
    #[test]
    fn the_11_layer_cnn_has_the_published_size() {
        let size = CNN11.size([3, 32, 32]);
        let convs = 20 * 784 * 75 + 20 * 144 * 180 + 200 * 100 * 180 + 200 * 64 * 1800 + 500 * 36 * 1800;
        let dense = 4500 * 128 + 128 * 128 + 128 * 100 + 100 * 143;
        assert_eq!((size.parameters, size.multiply_accumulates), (1_922_023, convs + dense));
    }
}
