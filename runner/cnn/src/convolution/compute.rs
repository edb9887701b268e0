//! A convolution and its gradients as matrix products (im2col and GEMM), several images at a time.

use super::patches::{add_back, interleave, lay_out, separate};
use super::product::{Into, Matrix, product};
use crate::activation::limit;
use crate::geometry::{Geometry, Portion};
use crate::vectorised::vectorised;

/// Element-wise operation on each output: `limit(x · scale + shift + residual, range)`.
#[derive(Clone, Copy, Debug)]
pub struct After<'a> {
    /// Factor of each output channel.
    pub scale: &'a [f32],
    /// Summand of each output channel.
    pub shift: &'a [f32],
    /// Summand of each output, in the layout of the output.
    pub residual: Option<&'a [f32]>,
    /// Lower and upper bound of the result.
    pub range: [f32; 2],
}

/// Gradients of a convolution; `None` where they were not requested.
#[derive(Debug, Default)]
pub struct Gradients {
    /// Gradient of the images, in their layout.
    pub images: Option<Vec<f32>>,
    /// Gradient of the weights, in their layout.
    pub weights: Option<Vec<f32>>,
}

/// Convolves `images` (`[n, channels, height, width]`) with `weights`
/// (`[out, channels, down, across]`) and returns `[n, out, height, width]`.
pub fn forward(shape: &Geometry, images: &[f32], weights: &[f32], after: Option<After<'_>>) -> Vec<f32> {
    let weights = Matrix { numbers: weights, steps: [shape.patch(), 1] };
    let channels = shape.channels[1];
    let count = shape.images * channels * shape.outputs();
    let mut all = Vec::with_capacity(count);
    let room = &mut all.spare_capacity_mut()[..count];
    let (mut planes, mut columns, mut joined) = (Room::default(), Room::default(), Room::default());
    for portion in shape.portions() {
        let width = portion.columns(shape);
        let size = [channels, shape.patch(), width];
        let patches = patches(shape, &portion, images, [&mut planes, &mut columns]);
        let step = shape.outputs();
        let first = portion.first(channels, step);
        match portion.lone(shape) {
            Some(row) => product(Into::Room(&mut room[first + row..]), [step, 1], size, weights, patches),
            None => {
                let joined = joined.of(channels * width);
                product(Into::Replaced(joined), [width, 1], size, weights, patches);
                separate(joined, [portion.images.len(), channels, step], &mut room[first..], |to, from| {
                    to.write(from);
                });
            }
        }
        if let Some(after) = after {
            let length = portion.rows.len() * shape.out[1];
            let first = first + portion.rows.start * shape.out[1];
            for line in 0..portion.images.len() * channels {
                let place = first + line * step..first + line * step + length;
                // SAFETY: the product or `separate` above has written the rows of this portion.
                #[allow(unsafe_code, reason = "skips filling a buffer that is overwritten")]
                let numbers = unsafe { room[place.clone()].assume_init_mut() };
                finish(after, line % channels, numbers, place.start);
            }
        }
    }
    // SAFETY: the portions cover every output of every image (`portions_cover_every_output_once`),
    // and all channels of each were written.
    #[allow(unsafe_code, reason = "skips filling a buffer that is overwritten")]
    unsafe {
        all.set_len(count);
    }
    all
}

/// Returns the gradients of the images and of the weights for the gradient of the output.
pub fn backward(shape: &Geometry, images: &[f32], weights: &[f32], output: &[f32], wants: [bool; 2]) -> Gradients {
    let turned = Matrix { numbers: weights, steps: [1, shape.patch()] };
    let [inputs, channels] = shape.channels;
    let mut of_images = wants[0].then(|| vec![0.0; shape.images * inputs * shape.inputs()]);
    let mut of_weights = wants[1].then(|| Vec::with_capacity(channels * shape.patch()));
    let (mut planes, mut columns, mut joined) = (Room::default(), Room::default(), Room::default());
    for (number, portion) in shape.portions().into_iter().enumerate() {
        let (width, step, count) = (portion.columns(shape), shape.outputs(), portion.images.len());
        let first = portion.first(channels, step);
        let output = match portion.lone(shape) {
            Some(row) => Matrix { numbers: &output[first + row..], steps: [step, 1] },
            None => {
                let joined = joined.of(channels * width);
                interleave(&output[first..], [count, channels, step], joined);
                Matrix { numbers: joined, steps: [width, 1] }
            }
        };
        if let Some(found) = &mut of_weights {
            let Matrix { numbers, steps: [down, across] } =
                patches(shape, &portion, images, [&mut planes, &mut columns]);
            let patches = Matrix { numbers, steps: [across, down] };
            let (steps, size) = ([shape.patch(), 1], [channels, width, shape.patch()]);
            if number == 0 {
                let count = channels * shape.patch();
                product(Into::Room(&mut found.spare_capacity_mut()[..count]), steps, size, output, patches);
                // SAFETY: the product has written all `count` numbers.
                #[allow(unsafe_code, reason = "skips filling a buffer that is overwritten")]
                unsafe {
                    found.set_len(count);
                }
            } else {
                product(Into::Added(found), steps, size, output, patches);
            }
        }
        if let Some(images) = &mut of_images {
            let size = [shape.patch(), channels, width];
            let images = &mut images[portion.first(inputs, shape.inputs())..];
            match portion.lone(shape) {
                Some(row) if shape.is_pointwise() => {
                    product(Into::Replaced(&mut images[row..]), [step, 1], size, turned, output);
                }
                Some(_) => {
                    let patches = columns.of(shape.patch() * width);
                    product(Into::Replaced(patches), [width, 1], size, turned, output);
                    add_back(shape, &portion.rows, 1, patches, images);
                }
                None => {
                    let planes = planes.of(inputs * shape.inputs() * count);
                    if shape.is_pointwise() {
                        product(Into::Replaced(planes), [width, 1], size, turned, output);
                    } else {
                        let patches = columns.of(shape.patch() * width);
                        product(Into::Replaced(patches), [width, 1], size, turned, output);
                        planes.fill(0.0);
                        add_back(shape, &portion.rows, count, patches, planes);
                    }
                    separate(planes, [count, inputs, shape.inputs()], images, |to, from| *to = from);
                }
            }
        }
    }
    Gradients { images: of_images, weights: of_weights }
}

vectorised! {
    /// Calls [`After::apply`].
    fn finish<'a>(after: After<'a>, channel: usize, numbers: &'a mut [f32], first: usize) {
        after.apply(channel, numbers, first);
    }
}

impl After<'_> {
    /// Applies the operation to numbers of one channel, which start at index `first` of the output.
    #[inline(always)]
    pub fn apply(&self, channel: usize, numbers: &mut [f32], first: usize) {
        let (scale, shift) = (self.scale[channel], self.shift[channel]);
        match self.residual {
            None => numbers.iter_mut().for_each(|number| *number = limit(*number * scale + shift, self.range)),
            Some(residual) => {
                let both = numbers.iter_mut().zip(&residual[first..]);
                both.for_each(|(number, residual)| *number = limit(*number * scale + shift + residual, self.range));
            }
        }
    }
}

impl Portion {
    /// Returns the index at which the portion's first image starts in a tensor of
    /// `[n, channels, pixels]`.
    fn first(&self, channels: usize, pixels: usize) -> usize {
        self.images.start * channels * pixels
    }

    /// Returns the start of the portion's first row in each channel if the portion has a single
    /// image, whose numbers need no interleaving.
    fn lone(&self, shape: &Geometry) -> Option<usize> {
        (self.images.len() == 1).then_some(self.rows.start * shape.out[1])
    }
}

/// A buffer that the portions reuse.
#[derive(Default)]
struct Room(Vec<f32>);

impl Room {
    fn of(&mut self, numbers: usize) -> &mut [f32] {
        if self.0.len() < numbers {
            self.0.resize(numbers, 0.0);
        }
        &mut self.0[..numbers]
    }
}

/// Returns the patches of a portion as a matrix. For a pointwise convolution this is the image
/// itself.
fn patches<'a>(
    shape: &Geometry,
    portion: &Portion,
    images: &'a [f32],
    [planes, columns]: [&'a mut Room; 2],
) -> Matrix<'a> {
    let (count, pixels, width) = (portion.images.len(), shape.inputs(), portion.columns(shape));
    let images = &images[portion.first(shape.channels[0], pixels)..];
    let planes = match portion.lone(shape) {
        Some(row) if shape.is_pointwise() => return Matrix { numbers: &images[row..], steps: [pixels, 1] },
        Some(_) => images,
        None => {
            let planes = planes.of(shape.channels[0] * pixels * count);
            interleave(images, [count, shape.channels[0], pixels], planes);
            planes
        }
    };
    if shape.is_pointwise() {
        return Matrix { numbers: planes, steps: [width, 1] };
    }
    let columns = columns.of(shape.patch() * width);
    lay_out(shape, &portion.rows, count, planes, columns);
    Matrix { numbers: columns, steps: [width, 1] }
}
