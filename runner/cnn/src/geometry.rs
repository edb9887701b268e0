//! The shape of a convolution and its division into portions of work.

use std::ops::Range;

use burn::nn::PaddingConfig2d;

/// Numbers in the patches and outputs of a portion of a large input: half of a core's cache.
const PORTION: usize = 1 << 18;
/// Fewest outputs per channel in a portion: with fewer, packing the weights costs more than the
/// product.
const FEWEST_COLUMNS: usize = 256;

/// Shape of a convolution with one group and no dilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Images in the mini-batch.
    pub images: usize,
    /// Input and output channels.
    pub channels: [usize; 2],
    /// Height and width of the input, pixels.
    pub side: [usize; 2],
    /// Height and width of the kernel.
    pub kernel: [usize; 2],
    /// Vertical and horizontal stride, pixels.
    pub stride: [usize; 2],
    /// Rows of zero padding above the input and columns to its left.
    pub padding: [usize; 2],
    /// Height and width of the output, pixels.
    pub out: [usize; 2],
}

/// Rows of the output of one or more images, worked through at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion {
    /// The images.
    pub images: Range<usize>,
    /// The rows; all of them if there are several images.
    pub rows: Range<usize>,
}

impl Geometry {
    /// Returns the geometry for images `[n, channels, height, width]`, or `None` if the kernel is
    /// larger than the padded image or the padding is `Same`.
    pub fn of(
        [images, inputs, height, width]: [usize; 4],
        outputs: usize,
        kernel: [usize; 2],
        stride: [usize; 2],
        padding: &PaddingConfig2d,
    ) -> Option<Self> {
        let (top, left, bottom, right) = match padding {
            PaddingConfig2d::Valid => (0, 0, 0, 0),
            PaddingConfig2d::Explicit(top, left, bottom, right) => (*top, *left, *bottom, *right),
            PaddingConfig2d::Same => return None,
        };
        let out = |side: usize, padding: usize, kernel: usize, stride: usize| {
            Some((side + padding).checked_sub(kernel)? / stride + 1)
        };
        Some(Self {
            images,
            channels: [inputs, outputs],
            side: [height, width],
            kernel,
            stride,
            padding: [top, left],
            out: [out(height, top + bottom, kernel[0], stride[0])?, out(width, left + right, kernel[1], stride[1])?],
        })
    }

    /// Returns the shape of the output: images, channels, height and width.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "for graphics devices"))]
    pub fn out_dims(&self) -> [usize; 4] {
        [self.images, self.channels[1], self.out[0], self.out[1]]
    }

    /// Returns the number of inputs per output pixel: channels × kernel height × kernel width.
    pub fn patch(&self) -> usize {
        self.channels[0] * self.kernel[0] * self.kernel[1]
    }

    /// Returns the pixels of an output channel.
    pub fn outputs(&self) -> usize {
        self.out[0] * self.out[1]
    }

    /// Returns the pixels of an input channel.
    pub fn inputs(&self) -> usize {
        self.side[0] * self.side[1]
    }

    /// Returns whether each output pixel depends on the input pixel at the same position only.
    pub fn is_pointwise(&self) -> bool {
        (self.kernel, self.stride, self.padding) == ([1, 1], [1, 1], [0, 0]) && self.side == self.out
    }

    /// Returns the range of outputs along `axis` for which a kernel tap lies inside the input.
    pub fn reach(&self, axis: usize, tap: usize) -> Range<usize> {
        let (padding, stride) = (self.padding[axis], self.stride[axis]);
        let start = padding.saturating_sub(tap).div_ceil(stride);
        let end = (self.side[axis] + padding).saturating_sub(tap).div_ceil(stride).min(self.out[axis]);
        start.min(end)..end
    }

    /// Returns the range of taps that lie inside the input for at least one output, vertical and
    /// horizontal. For a 3×3 kernel on a one-pixel image this is the middle tap.
    pub fn useful_taps(&self) -> [Range<usize>; 2] {
        [0, 1].map(|axis| {
            let is_useful = |tap: &usize| !self.reach(axis, *tap).is_empty();
            let first = (0..self.kernel[axis]).find(is_useful).unwrap_or(0);
            let last = (0..self.kernel[axis]).rev().find(is_useful).unwrap_or(0);
            first..last + 1
        })
    }

    /// Returns the same convolution restricted to these taps.
    pub fn with_taps(self, taps: &[Range<usize>; 2]) -> Self {
        Self {
            kernel: [taps[0].len(), taps[1].len()],
            padding: [self.padding[0] - taps[0].start, self.padding[1] - taps[1].start],
            ..self
        }
    }

    /// Divides the work into portions: several small images each, or some rows of a large one.
    pub fn portions(self) -> Vec<Portion> {
        let columns = (PORTION / (self.patch() + self.channels[1])).max(FEWEST_COLUMNS);
        let mut portions = Vec::new();
        if self.outputs() < FEWEST_COLUMNS {
            for images in evenly(self.images, columns / self.outputs().max(1)) {
                portions.push(Portion { images, rows: 0..self.out[0] });
            }
            return portions;
        }
        for image in 0..self.images {
            for rows in evenly(self.out[0], columns / self.out[1].max(1)) {
                portions.push(Portion { images: image..image + 1, rows });
            }
        }
        portions
    }
}

/// Divides `things` into the fewest equal parts of at most `at_once`.
fn evenly(things: usize, at_once: usize) -> impl Iterator<Item = Range<usize>> {
    let parts = things.div_ceil(at_once.max(1));
    let size = things.div_ceil(parts.max(1)).max(1);
    (0..things).step_by(size).map(move |first| first..(first + size).min(things))
}

impl Portion {
    /// Returns the output pixels per channel.
    pub fn columns(&self, geometry: &Geometry) -> usize {
        self.images.len() * self.rows.len() * geometry.out[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(side: usize, kernel: usize, stride: usize, padding: usize) -> Geometry {
        let out = (side + 2 * padding - kernel) / stride + 1;
        Geometry {
            images: 3,
            channels: [4, 5],
            side: [side; 2],
            kernel: [kernel; 2],
            stride: [stride; 2],
            padding: [padding; 2],
            out: [out; 2],
        }
    }

    #[test]
    fn reach_is_the_outputs_whose_tap_lies_inside_the_input() {
        for (side, kernel, stride, padding) in [(5, 3, 1, 1), (5, 3, 2, 1), (4, 3, 2, 1), (1, 3, 1, 1), (8, 7, 2, 3)] {
            let shape = square(side, kernel, stride, padding);
            for tap in 0..kernel {
                let is_inside = |out: &usize| (padding..side + padding).contains(&(out * stride + tap));
                let expected: Vec<usize> = (0..shape.out[0]).filter(is_inside).collect();
                assert_eq!(shape.reach(0, tap).collect::<Vec<_>>(), expected, "{shape:?}, tap {tap}");
            }
        }
    }

    #[test]
    fn taps_that_never_reach_the_input_are_left_out() {
        let one = square(1, 3, 1, 1);
        assert_eq!(one.useful_taps(), [1..2, 1..2]);
        assert!(one.with_taps(&one.useful_taps()).is_pointwise());
        let two = square(2, 3, 2, 1);
        assert_eq!(two.useful_taps(), [1..3, 1..3]);
        assert_eq!(square(4, 3, 1, 1).useful_taps(), [0..3, 0..3]);
    }

    #[test]
    fn portions_cover_every_output_once() {
        for shape in [square(1, 1, 1, 0), square(30, 3, 1, 1), square(224, 7, 2, 3), square(600, 3, 1, 1)] {
            let mut seen = vec![0; shape.images * shape.out[0]];
            for portion in shape.portions() {
                assert!(portion.images.len() == 1 || portion.rows == (0..shape.out[0]));
                for image in portion.images.clone() {
                    portion.rows.clone().for_each(|row| seen[image * shape.out[0] + row] += 1);
                }
            }
            assert!(seen.iter().all(|count| *count == 1), "{shape:?}");
        }
    }
}
