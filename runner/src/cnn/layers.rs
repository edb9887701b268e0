//! What several CNNs are made of.

use burn::module::Module;
use burn::nn::{
    BatchNorm, BatchNormConfig, PaddingConfig2d,
    conv::{Conv2d, Conv2dConfig},
    pool::{MaxPool2d, MaxPool2dConfig},
};
use burn::tensor::{Device, Tensor};

use super::Trace;
use super::convolution::{Activation, convolve_and_normalise};

/// A convolution without bias that keeps the side of the image where its stride is 1.
pub fn conv(channels: [usize; 2], kernel: [usize; 2], stride: usize) -> Conv2dConfig {
    let [height, width] = kernel;
    Conv2dConfig::new(channels, kernel)
        .with_stride([stride, stride])
        .with_padding(border(height / 2, width / 2))
        .with_bias(false)
}

/// A convolution without bias in which each channel sees itself alone.
pub fn depthwise(channels: usize, stride: usize) -> Conv2dConfig {
    conv([channels, channels], [3, 3], stride).with_groups(channels)
}

/// The largest of 3×3 pixels, every other pixel.
pub fn halving_max_pool(padding: usize) -> MaxPool2d {
    MaxPool2dConfig::new([3, 3]).with_strides([2, 2]).with_padding(border(padding, padding)).init()
}

/// The mean of each channel: `[n, channels, height, width]` to `[n, channels]`.
pub fn global_average(x: Tensor<4>) -> Tensor<2> {
    let [images, channels, _, _] = x.dims();
    x.mean_dims(&[2, 3]).reshape([images, channels])
}

fn border(height: usize, width: usize) -> PaddingConfig2d {
    PaddingConfig2d::Explicit(height, width, height, width)
}

/// A convolution and batch normalisation.
#[derive(Module, Debug)]
pub struct ConvNorm {
    conv: Conv2d,
    norm: BatchNorm,
}

impl ConvNorm {
    /// With the usual 1e-5 beside the variance.
    pub fn new(conv: &Conv2dConfig, device: &Device) -> Self {
        Self::with_epsilon(conv, 1e-5, device)
    }

    /// With that number beside the variance.
    pub fn with_epsilon(conv: &Conv2dConfig, epsilon: f64, device: &Device) -> Self {
        let norm = BatchNormConfig::new(conv.channels[1]).with_epsilon(epsilon);
        Self { conv: conv.init(device), norm: norm.init(device) }
    }

    /// `[n, channels, height, width]`, normalised; no activation.
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        convolve_and_normalise(&self.conv, &self.norm, x, None, Activation::None)
    }

    /// The same, and the sum of it and what lies beside it.
    pub fn forward_beside(&self, x: Tensor<4>, beside: Tensor<4>) -> Tensor<4> {
        convolve_and_normalise(&self.conv, &self.norm, x, Some(beside), Activation::None)
    }

    /// The same, and ReLU.
    pub fn forward_beside_relu(&self, x: Tensor<4>, beside: Tensor<4>) -> Tensor<4> {
        convolve_and_normalise(&self.conv, &self.norm, x, Some(beside), Activation::Relu)
    }

    /// Normalised, and ReLU.
    pub fn forward_relu(&self, x: Tensor<4>) -> Tensor<4> {
        convolve_and_normalise(&self.conv, &self.norm, x, None, Activation::Relu)
    }

    /// Normalised, and ReLU of no more than 6.
    pub fn forward_relu6(&self, x: Tensor<4>) -> Tensor<4> {
        convolve_and_normalise(&self.conv, &self.norm, x, None, Activation::Relu6)
    }

    /// The same on shapes.
    pub fn trace(&self, trace: &mut Trace) {
        trace.conv(&self.conv).norm(&self.norm);
    }
}
