//! A convolution in which each channel sees itself alone, and its gradients: too little work for a product of matrices.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::compute::{Affine, Gradients};
use super::geometry::Geometry;

/// As [`super::compute::forward`], with `weights` of `[channels, 1, down, across]`.
pub fn forward(shape: &Geometry, images: &[f32], weights: &[f32], after: Option<Affine<'_>>) -> Vec<f32> {
    let mut output = vec![0.0; shape.images * shape.channels[1] * shape.outputs()];
    pulp::Arch::new().dispatch(Forward { shape, images, weights, after, output: &mut output });
    output
}

/// As [`super::compute::backward`].
pub fn backward(shape: &Geometry, images: &[f32], weights: &[f32], output: &[f32], wants: [bool; 2]) -> Gradients {
    let mut of_images = wants[0].then(|| vec![0.0; images.len()]);
    let mut of_weights = wants[1].then(|| vec![0.0; weights.len()]);
    let found = [of_images.as_deref_mut(), of_weights.as_deref_mut()];
    pulp::Arch::new().dispatch(Backward { shape, images, weights, output, found });
    Gradients { images: of_images, weights: of_weights }
}

/// The forward pass as something that is compiled for each kind of vector instructions, which a closure is not.
struct Forward<'a> {
    shape: &'a Geometry,
    images: &'a [f32],
    weights: &'a [f32],
    after: Option<Affine<'a>>,
    output: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { shape, images, weights, after, output } = self;
        let planes = images.chunks_exact(shape.inputs()).zip(output.chunks_exact_mut(shape.outputs()));
        for (plane, (input, output)) in planes.enumerate() {
            let channel = plane % shape.channels[0];
            let weights = of_channel(shape, weights, channel);
            for_each_row(shape, |tap, from, to| {
                add_products(&mut output[to], &input[from..], shape.stride[1], weights[tap]);
            });
            if let Some(after) = after {
                after.apply(channel, output);
            }
        }
    }
}

/// The backward pass likewise.
struct Backward<'a> {
    shape: &'a Geometry,
    images: &'a [f32],
    weights: &'a [f32],
    output: &'a [f32],
    found: [Option<&'a mut [f32]>; 2],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { shape, images, weights, output, found: [mut of_images, mut of_weights] } = self;
        for (plane, output) in output.chunks_exact(shape.outputs()).enumerate() {
            let channel = plane % shape.channels[0];
            let pixels = plane * shape.inputs()..(plane + 1) * shape.inputs();
            if let Some(all) = &mut of_weights {
                let input = &images[pixels.clone()];
                let found = &mut all[channel * taps(shape)..][..taps(shape)];
                for_each_row(shape, |tap, from, to| {
                    found[tap] += sum_of_products(&output[to], &input[from..], shape.stride[1]);
                });
            }
            if let Some(all) = &mut of_images {
                let (found, weights) = (&mut all[pixels], of_channel(shape, weights, channel));
                for_each_row(shape, |tap, from, to| {
                    spread(&mut found[from..], &output[to], shape.stride[1], weights[tap]);
                });
            }
        }
    }
}

fn taps(shape: &Geometry) -> usize {
    shape.kernel[0] * shape.kernel[1]
}

fn of_channel<'a>(shape: &Geometry, weights: &'a [f32], channel: usize) -> &'a [f32] {
    &weights[channel * taps(shape)..][..taps(shape)]
}

/// For each row of the output and each tap: the tap, the first pixel of the input, and the outputs that it and those
/// after it go to.
#[inline(always)]
fn for_each_row(shape: &Geometry, mut run: impl FnMut(usize, usize, Range<usize>)) {
    for down in 0..shape.kernel[0] {
        let rows = shape.reach(0, down);
        for across in 0..shape.kernel[1] {
            let columns = shape.reach(1, across);
            if columns.is_empty() {
                continue;
            }
            let first = columns.start * shape.stride[1] + across - shape.padding[1];
            for row in rows.clone() {
                let from = (row * shape.stride[0] + down - shape.padding[0]) * shape.side[1] + first;
                let to = row * shape.out[1];
                run(down * shape.kernel[1] + across, from, to + columns.start..to + columns.end);
            }
        }
    }
}

#[inline(always)]
fn add_products(to: &mut [f32], from: &[f32], step: usize, weight: f32) {
    match step {
        1 => to.iter_mut().zip(from).for_each(|(to, from)| *to += from * weight),
        step => to.iter_mut().zip(from.iter().step_by(step)).for_each(|(to, from)| *to += from * weight),
    }
}

#[inline(always)]
fn spread(to: &mut [f32], from: &[f32], step: usize, weight: f32) {
    match step {
        1 => to.iter_mut().zip(from).for_each(|(to, from)| *to += from * weight),
        step => to.iter_mut().step_by(step).zip(from).for_each(|(to, from)| *to += from * weight),
    }
}

/// In eight sums, which vector instructions can keep side by side.
#[inline(always)]
fn sum_of_products(left: &[f32], right: &[f32], step: usize) -> f32 {
    if step != 1 {
        return left.iter().zip(right.iter().step_by(step)).map(|(left, right)| left * right).sum();
    }
    let right = &right[..left.len()];
    let (lefts, rights) = (left.chunks_exact(8), right.chunks_exact(8));
    let rest: f32 = lefts.remainder().iter().zip(rights.remainder()).map(|(left, right)| left * right).sum();
    let mut sums = [0.0_f32; 8];
    for (left, right) in lefts.zip(rights) {
        for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum += left * right;
        }
    }
    sums.iter().sum::<f32>() + rest
}
