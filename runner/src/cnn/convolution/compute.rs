//! A convolution and its gradients as products of matrices, several images at a time.

use super::geometry::{Geometry, Portion};
use super::patches::{add_back, lay_out};
use super::product::{Matrix, MatrixMut, product};

/// What becomes of each output channel: its numbers times `scale`, plus `shift`, no less and no more than `range`.
#[derive(Clone, Copy, Debug)]
pub struct Affine<'a> {
    /// A factor for each output channel.
    pub scale: &'a [f32],
    /// What is added to each output channel.
    pub shift: &'a [f32],
    /// The smallest and the largest number that stay as they are.
    pub range: [f32; 2],
}

/// The gradients that a convolution hands back; `None` where nobody wants it.
#[derive(Debug, Default)]
pub struct Gradients {
    /// Of the images, as they lie.
    pub images: Option<Vec<f32>>,
    /// Of the weights, as they lie.
    pub weights: Option<Vec<f32>>,
}

/// The convolution of `images` (`[n, channels, height, width]`) with `weights` (`[out, channels, down, across]`):
/// `[n, out, height, width]`.
pub fn forward(shape: &Geometry, images: &[f32], weights: &[f32], after: Option<Affine<'_>>) -> Vec<f32> {
    let (shape, weights) = useful(shape, weights);
    let (shape, weights) = (&shape, weights.as_ref());
    let [_, channels] = shape.channels;
    let mut all = vec![0.0; shape.images * channels * shape.outputs()];
    let mut scratch = Scratch::default();
    for portion in shape.portions() {
        let width = portion.columns(shape);
        let size = [channels, shape.patch(), width];
        let patches = scratch.patches.of(shape, &portion, images);
        let weights = Matrix { numbers: weights, steps: [shape.patch(), 1] };
        match Lone::of(shape, &portion, channels) {
            Some(Lone { first, step }) => {
                let numbers = &mut all[first..];
                product(MatrixMut { numbers, steps: [step, 1] }, size, weights, patches, false);
                if let Some(after) = after {
                    pulp::Arch::new().dispatch(|| {
                        for channel in 0..channels {
                            after.apply(channel, &mut all[first + channel * step..][..width]);
                        }
                    });
                }
            }
            None => {
                let joined = scratch.joined.room(channels * width);
                product(MatrixMut { numbers: joined, steps: [width, 1] }, size, weights, patches, false);
                if let Some(after) = after {
                    pulp::Arch::new().dispatch(|| {
                        joined
                            .chunks_exact_mut(width)
                            .enumerate()
                            .for_each(|(channel, line)| after.apply(channel, line));
                    });
                }
                for (channel, line) in joined.chunks_exact(width).enumerate() {
                    for (image, line) in portion.images.clone().zip(line.chunks_exact(shape.outputs())) {
                        all[(image * channels + channel) * shape.outputs()..][..shape.outputs()].copy_from_slice(line);
                    }
                }
            }
        }
    }
    all
}

/// The gradients of the images and of the weights, from that of the output.
pub fn backward(shape: &Geometry, images: &[f32], weights: &[f32], output: &[f32], wants: [bool; 2]) -> Gradients {
    let (whole, (shape, weights)) = (shape, useful(shape, weights));
    let (shape, weights) = (&shape, weights.as_ref());
    let [inputs, channels] = shape.channels;
    let mut of_images = wants[0].then(|| vec![0.0; shape.images * inputs * shape.inputs()]);
    let mut of_weights = wants[1].then(|| vec![0.0; channels * shape.patch()]);
    let mut scratch = Scratch::default();
    for (number, portion) in shape.portions().into_iter().enumerate() {
        let width = portion.columns(shape);
        let output = match Lone::of(shape, &portion, channels) {
            Some(Lone { first, step }) => Matrix { numbers: &output[first..], steps: [step, 1] },
            None => {
                let joined = scratch.joined.room(channels * width);
                for (channel, line) in joined.chunks_exact_mut(width).enumerate() {
                    for (image, line) in portion.images.clone().zip(line.chunks_exact_mut(shape.outputs())) {
                        line.copy_from_slice(
                            &output[(image * channels + channel) * shape.outputs()..][..shape.outputs()],
                        );
                    }
                }
                Matrix { numbers: joined, steps: [width, 1] }
            }
        };
        if let Some(numbers) = &mut of_weights {
            let Matrix { numbers: patches, steps: [down, across] } = scratch.patches.of(shape, &portion, images);
            let turned = Matrix { numbers: patches, steps: [across, down] };
            let size = [channels, width, shape.patch()];
            product(MatrixMut { numbers, steps: [shape.patch(), 1] }, size, output, turned, number > 0);
        }
        if let Some(images) = &mut of_images {
            let turned = Matrix { numbers: weights, steps: [1, shape.patch()] };
            let size = [shape.patch(), channels, width];
            match Lone::of(shape, &portion, inputs).filter(|_| shape.is_pointwise()) {
                Some(Lone { first, step }) => {
                    let numbers = &mut images[first..];
                    product(MatrixMut { numbers, steps: [step, 1] }, size, turned, output, false);
                }
                None => {
                    let patches = scratch.gradients.room(shape.patch() * width);
                    product(MatrixMut { numbers: patches, steps: [width, 1] }, size, turned, output, false);
                    add_back(shape, &portion, patches, images);
                }
            }
        }
    }
    Gradients { images: of_images, weights: of_weights.map(|numbers| put_back(whole, shape, numbers)) }
}

impl Affine<'_> {
    /// Does it to numbers of a channel.
    #[inline(always)]
    pub fn apply(&self, channel: usize, line: &mut [f32]) {
        let (scale, shift) = (self.scale[channel], self.shift[channel]);
        let [least, most] = self.range;
        for number in line {
            let sum = *number * scale + shift;
            // What is no number stays one.
            let sum = if sum < least { least } else { sum };
            *number = if sum > most { most } else { sum };
        }
    }
}

/// Where a portion of one image begins among the numbers of all, and how far it is from a channel to the next.
struct Lone {
    first: usize,
    step: usize,
}

impl Lone {
    fn of(shape: &Geometry, portion: &Portion, channels: usize) -> Option<Self> {
        let step = shape.outputs();
        (portion.images.len() == 1)
            .then(|| Self { first: portion.images.start * channels * step + portion.rows.start * shape.out[1], step })
    }
}

/// Memory that the portions use one after the other.
#[derive(Default)]
struct Scratch {
    patches: Room,
    joined: Room,
    gradients: Room,
}

#[derive(Default)]
struct Room(Vec<f32>);

impl Room {
    fn room(&mut self, numbers: usize) -> &mut [f32] {
        if self.0.len() < numbers {
            self.0.resize(numbers, 0.0);
        }
        &mut self.0[..numbers]
    }

    /// The patches of a portion; those of a pointwise convolution are the image as it lies.
    fn of<'a>(&'a mut self, shape: &Geometry, portion: &Portion, images: &'a [f32]) -> Matrix<'a> {
        if let Some(Lone { first, step }) = Lone::of(shape, portion, shape.channels[0]).filter(|_| shape.is_pointwise())
        {
            return Matrix { numbers: &images[first..], steps: [step, 1] };
        }
        let width = portion.columns(shape);
        let columns = self.room(shape.patch() * width);
        lay_out(shape, portion, images, columns);
        Matrix { numbers: columns, steps: [width, 1] }
    }
}

/// The convolution with the taps alone that find the images, and their weights.
fn useful<'a>(shape: &Geometry, weights: &'a [f32]) -> (Geometry, std::borrow::Cow<'a, [f32]>) {
    let taps = shape.useful_taps();
    let cut = shape.with_taps(&taps);
    if cut.kernel == shape.kernel {
        return (cut, weights.into());
    }
    let mut few = Vec::with_capacity(shape.channels[1] * cut.patch());
    for plane in weights.chunks_exact(shape.kernel[0] * shape.kernel[1]) {
        for row in taps[0].clone() {
            few.extend_from_slice(&plane[row * shape.kernel[1]..][taps[1].clone()]);
        }
    }
    (cut, few.into())
}

/// The gradient of all weights from that of the useful ones; the others have none.
fn put_back(whole: &Geometry, cut: &Geometry, numbers: Vec<f32>) -> Vec<f32> {
    if whole.kernel == cut.kernel {
        return numbers;
    }
    let taps = whole.useful_taps();
    let size = whole.kernel[0] * whole.kernel[1];
    let mut all = vec![0.0; whole.channels[0] * whole.channels[1] * size];
    for (plane, few) in all.chunks_exact_mut(size).zip(numbers.chunks_exact(cut.kernel[0] * cut.kernel[1])) {
        for (row, few) in taps[0].clone().zip(few.chunks_exact(cut.kernel[1])) {
            plane[row * whole.kernel[1]..][taps[1].clone()].copy_from_slice(few);
        }
    }
    all
}
