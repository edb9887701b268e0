//! Layers that several CNNs share.

use burn::module::Module;
use burn::nn::{
    BatchNorm, BatchNormConfig, Linear, PaddingConfig2d,
    conv::{Conv2d, Conv2dConfig},
    pool::{MaxPool2d, MaxPool2dConfig},
};
use burn::tensor::{Device, Tensor};

use super::Trace;
use super::activation::Activation;
use super::convolution::convolve_and_normalise;
use super::graphics;

/// Returns a convolution without bias, padded so that stride 1 keeps the side of the image.
pub fn conv(channels: [usize; 2], kernel: [usize; 2], stride: usize) -> Conv2dConfig {
    let [height, width] = kernel;
    Conv2dConfig::new(channels, kernel)
        .with_stride([stride, stride])
        .with_padding(border(height / 2, width / 2))
        .with_bias(false)
}

/// Returns a 3×3 depthwise convolution without bias.
pub fn depthwise(channels: usize, stride: usize) -> Conv2dConfig {
    conv([channels, channels], [3, 3], stride).with_groups(channels)
}

/// Applies a fully connected layer: `[n, inputs]` to `[n, outputs]`.
pub fn connect(linear: &Linear, x: Tensor<2>) -> Tensor<2> {
    graphics::connect(linear, &x).unwrap_or_else(|| linear.forward(x))
}

/// Returns a 3×3 max-pool with stride 2.
pub fn halving_max_pool(padding: usize) -> MaxPool2d {
    MaxPool2dConfig::new([3, 3]).with_strides([2, 2]).with_padding(border(padding, padding)).init()
}

/// Averages each channel: `[n, channels, height, width]` to `[n, channels]`.
pub fn global_average(x: Tensor<4>) -> Tensor<2> {
    let [images, channels, _, _] = x.dims();
    x.mean_dims(&[2, 3]).reshape([images, channels])
}

fn border(height: usize, width: usize) -> PaddingConfig2d {
    PaddingConfig2d::Explicit(height, width, height, width)
}

/// Convolution followed by batch normalisation.
#[derive(Module, Debug)]
pub struct ConvNorm {
    conv: Conv2d,
    norm: BatchNorm,
}

impl ConvNorm {
    /// Creates the layers with the usual ε of 1e-5.
    pub fn new(conv: &Conv2dConfig, device: &Device) -> Self {
        Self::with_epsilon(conv, 1e-5, device)
    }

    /// Creates the layers with this ε in batch normalisation.
    pub fn with_epsilon(conv: &Conv2dConfig, epsilon: f64, device: &Device) -> Self {
        let norm = BatchNormConfig::new(conv.channels[1]).with_epsilon(epsilon);
        Self { conv: conv.init(device), norm: norm.init(device) }
    }

    /// Convolves and normalises `[n, channels, height, width]`, without activation.
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        convolve_and_normalise(&self.conv, &self.norm, x, None, Activation::None)
    }

    /// Convolves, normalises and adds `residual`.
    pub fn forward_residual(&self, x: Tensor<4>, residual: Tensor<4>) -> Tensor<4> {
        convolve_and_normalise(&self.conv, &self.norm, x, Some(residual), Activation::None)
    }

    /// Convolves, normalises, adds `residual` and applies ReLU.
    pub fn forward_residual_relu(&self, x: Tensor<4>, residual: Tensor<4>) -> Tensor<4> {
        convolve_and_normalise(&self.conv, &self.norm, x, Some(residual), Activation::Relu)
    }

    /// Convolves, normalises and applies ReLU.
    pub fn forward_relu(&self, x: Tensor<4>) -> Tensor<4> {
        convolve_and_normalise(&self.conv, &self.norm, x, None, Activation::Relu)
    }

    /// Convolves, normalises and applies ReLU6.
    pub fn forward_relu6(&self, x: Tensor<4>) -> Tensor<4> {
        convolve_and_normalise(&self.conv, &self.norm, x, None, Activation::Relu6)
    }

    /// Traces the shapes through both layers.
    pub fn trace(&self, trace: &mut Trace) {
        trace.conv(&self.conv).norm(&self.norm);
    }
}
