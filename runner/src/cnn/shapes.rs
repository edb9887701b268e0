//! Counting on shapes: what a forward pass multiplies, read off the layers that run.

use burn::nn::{
    BatchNorm, Linear, PaddingConfig2d,
    conv::Conv2d,
    pool::{AdaptiveAvgPool2d, AvgPool2d, MaxPool2d},
};

use super::Shape;
use super::lstm::Lstm;

/// The shape of one input on its way through a CNN, and the multiply-accumulates so far.
#[derive(Clone, Debug)]
pub struct Trace {
    pub(super) channels: usize,
    /// Height and width.
    pub(super) px: [usize; 2],
    multiply_accumulates: u64,
}

impl Trace {
    /// An input before the first layer.
    pub fn new([channels, height, width]: Shape) -> Self {
        Self { channels, px: [height, width], multiply_accumulates: 0 }
    }

    /// Multiplications with an addition of every convolution and matrix product so far.
    pub fn multiply_accumulates(&self) -> u64 {
        self.multiply_accumulates
    }

    /// A convolution.
    pub fn conv(&mut self, conv: &Conv2d) -> &mut Self {
        let [channels_out, channels_in, height, width] = conv.weight.dims();
        debug_assert_eq!(channels_in * conv.groups, self.channels);
        self.slide([height, width], conv.stride, &conv.padding);
        self.channels = channels_out;
        self.multiply_accumulates += (channels_out * self.pixels() * channels_in * height * width) as u64;
        self
    }

    /// Batch normalisation changes no shape and multiplies no matrix.
    pub fn norm(&mut self, norm: &BatchNorm) -> &mut Self {
        debug_assert_eq!(norm.gamma.dims(), [self.channels]);
        self
    }

    /// A window that keeps the largest value.
    pub fn max_pool(&mut self, pool: &MaxPool2d) -> &mut Self {
        self.slide(pool.kernel_size, pool.stride, &pool.padding);
        self
    }

    /// A window that keeps the mean.
    pub fn avg_pool(&mut self, pool: &AvgPool2d) -> &mut Self {
        self.slide(pool.kernel_size, pool.stride, &pool.padding);
        self
    }

    /// The means of so many windows that the output has a fixed size.
    pub fn adaptive_avg_pool(&mut self, pool: &AdaptiveAvgPool2d) -> &mut Self {
        self.px = pool.output_size;
        self
    }

    /// One number of each channel: its mean, or its largest.
    pub fn global_pool(&mut self) -> &mut Self {
        self.px = [1, 1];
        self
    }

    /// What a shortcut multiplies beside the main path; the shape stays that of the main path.
    pub fn beside(&mut self, shortcut: impl FnOnce(&mut Self)) -> &mut Self {
        let mut side = self.clone();
        shortcut(&mut side);
        self.multiply_accumulates = side.multiply_accumulates;
        self
    }

    /// Branches that see the same input, and whose channels follow each other.
    pub fn side_by_side<B>(&mut self, branches: &[B], walk: impl Fn(&B, &mut Self)) -> &mut Self {
        let input = self.clone();
        self.channels = 0;
        for branch in branches {
            let mut side = Self { multiply_accumulates: self.multiply_accumulates, ..input };
            walk(branch, &mut side);
            debug_assert!(self.channels == 0 || side.px == self.px);
            *self = Self { channels: self.channels + side.channels, ..side };
        }
        self
    }

    /// All numbers of an image in one row.
    pub fn flatten(&mut self) -> &mut Self {
        self.channels *= self.pixels();
        self.px = [1, 1];
        self
    }

    /// A fully connected layer.
    pub fn linear(&mut self, linear: &Linear) -> &mut Self {
        let [inputs, outputs] = linear.weight.dims();
        debug_assert_eq!([inputs, 1], [self.channels, self.pixels()]);
        self.channels = outputs;
        self.multiply_accumulates += (inputs * outputs) as u64;
        self
    }

    /// A recurrent layer that walks down the rows and keeps its last state.
    pub fn lstm(&mut self, lstm: &Lstm) -> &mut Self {
        let [rows, columns] = self.px;
        debug_assert_eq!([self.channels, columns], [1, lstm.inputs()]);
        self.multiply_accumulates += (rows * lstm.products()) as u64;
        self.channels = lstm.units();
        self.px = [1, 1];
        self
    }

    fn pixels(&self) -> usize {
        self.px[0] * self.px[1]
    }

    fn slide(&mut self, kernel: [usize; 2], stride: [usize; 2], padding: &PaddingConfig2d) {
        let border = match padding {
            PaddingConfig2d::Valid => [0, 0],
            PaddingConfig2d::Same => kernel.map(|side| side - 1),
            PaddingConfig2d::Explicit(top, left, bottom, right) => [top + bottom, left + right],
        };
        for axis in 0..2 {
            self.px[axis] = (self.px[axis] + border[axis]).saturating_sub(kernel[axis]) / stride[axis] + 1;
        }
    }
}
