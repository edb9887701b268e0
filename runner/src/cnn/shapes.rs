//! Counting on shapes: what a forward pass multiplies, read off the layers that run.

use burn::nn::{
    BatchNorm, Linear, PaddingConfig2d,
    conv::Conv2d,
    pool::{AvgPool2d, MaxPool2d},
};

/// The shape of one image on its way through a CNN, and the multiply-accumulates so far.
#[derive(Clone, Debug)]
pub struct Trace {
    pub(super) channels: usize,
    pub(super) px: usize,
    multiply_accumulates: u64,
}

impl Trace {
    /// An image before the first layer.
    pub fn new(channels: usize, px: usize) -> Self {
        Self { channels, px, multiply_accumulates: 0 }
    }

    /// Multiplications with an addition of every convolution and matrix product so far.
    pub fn multiply_accumulates(&self) -> u64 {
        self.multiply_accumulates
    }

    /// A convolution.
    pub fn conv(&mut self, conv: &Conv2d) -> &mut Self {
        let [channels_out, channels_in, height, width] = conv.weight.dims();
        debug_assert_eq!(channels_in * conv.groups, self.channels);
        self.slide(height, conv.stride[0], &conv.padding);
        self.channels = channels_out;
        self.multiply_accumulates += (channels_out * self.px * self.px * channels_in * height * width) as u64;
        self
    }

    /// Batch normalisation changes no shape and multiplies no matrix.
    pub fn norm(&mut self, norm: &BatchNorm) -> &mut Self {
        debug_assert_eq!(norm.gamma.dims(), [self.channels]);
        self
    }

    /// A window that keeps the largest value.
    pub fn max_pool(&mut self, pool: &MaxPool2d) -> &mut Self {
        self.slide(pool.kernel_size[0], pool.stride[0], &pool.padding);
        self
    }

    /// A window that keeps the mean.
    pub fn avg_pool(&mut self, pool: &AvgPool2d) -> &mut Self {
        self.slide(pool.kernel_size[0], pool.stride[0], &pool.padding);
        self
    }

    /// The mean of each channel.
    pub fn global_pool(&mut self) -> &mut Self {
        self.px = 1;
        self
    }

    /// What a shortcut multiplies beside the main path; the shape stays that of the main path.
    pub fn beside(&mut self, shortcut: impl FnOnce(&mut Self)) -> &mut Self {
        let mut side = self.clone();
        shortcut(&mut side);
        self.multiply_accumulates = side.multiply_accumulates;
        self
    }

    /// All numbers of an image in one row.
    pub fn flatten(&mut self) -> &mut Self {
        self.channels *= self.px * self.px;
        self.px = 1;
        self
    }

    /// A fully connected layer.
    pub fn linear(&mut self, linear: &Linear) -> &mut Self {
        let [inputs, outputs] = linear.weight.dims();
        debug_assert_eq!([inputs, 1], [self.channels, self.px]);
        self.channels = outputs;
        self.multiply_accumulates += (inputs * outputs) as u64;
        self
    }

    fn slide(&mut self, kernel: usize, stride: usize, padding: &PaddingConfig2d) {
        let padded = match padding {
            PaddingConfig2d::Valid => self.px,
            PaddingConfig2d::Same => self.px + kernel - 1,
            PaddingConfig2d::Explicit(top, _, bottom, _) => self.px + top + bottom,
        };
        self.px = padded.saturating_sub(kernel) / stride + 1;
    }
}
