//! A depthwise convolution and its gradients, without matrix products, for which it has too little
//! work.
//!
//! Each plane is first laid out with its border (`bordered`), so that every kernel tap reads
//! contiguous numbers at any stride: the plane becomes one long loop without edge cases.

use super::bordered::{BLOCK, Bordered};
use super::compute::{After, Gradients};
use crate::geometry::Geometry;
use crate::vectorised::vectorised;

/// Like [`super::compute::forward`], with `weights` of `[channels, 1, down, across]`.
pub fn forward(shape: &Geometry, images: &[f32], weights: &[f32], after: Option<After<'_>>) -> Vec<f32> {
    let mut output = Vec::with_capacity(shape.images * shape.channels[1] * shape.outputs());
    forward_into(shape, images, weights, after, &mut output);
    output
}

/// Like [`super::compute::backward`].
pub fn backward(shape: &Geometry, images: &[f32], weights: &[f32], output: &[f32], wants: [bool; 2]) -> Gradients {
    let mut of_images = wants[0].then(|| vec![0.0; images.len()]);
    let mut of_weights = wants[1].then(|| vec![0.0; weights.len()]);
    backward_into(shape, images, weights, output, [of_images.as_deref_mut(), of_weights.as_deref_mut()]);
    Gradients { images: of_images, weights: of_weights }
}

vectorised! {
    fn forward_into<'a>(
        shape: &'a Geometry,
        images: &'a [f32],
        weights: &'a [f32],
        after: Option<After<'a>>,
        output: &'a mut Vec<f32>,
    ) {
        let bordered = Bordered::of(shape);
        let (mut pixels, mut sums) = (bordered.pixels(0.0), bordered.outputs());
        for (plane, input) in images.chunks_exact(shape.inputs()).enumerate() {
            let channel = plane % shape.channels[0];
            bordered.lay_out(input, &mut pixels);
            sum_of_taps(&mut sums, &pixels, bordered.offsets(), of_channel(shape, weights, channel));
            if let Some(after) = after {
                after.apply(channel, &mut sums, 0);
            }
            bordered.lines(&sums).for_each(|line| output.extend_from_slice(line));
        }
    }
}

vectorised! {
    fn backward_into<'a>(
        shape: &'a Geometry,
        images: &'a [f32],
        weights: &'a [f32],
        output: &'a [f32],
        found: [Option<&'a mut [f32]>; 2],
    ) {
        let [mut of_images, mut of_weights] = found;
        let bordered = Bordered::of(shape);
        let (mut pixels, mut spread, mut gradient) =
            (bordered.pixels(0.0), bordered.pixels(0.0), bordered.outputs());
        for (plane, output) in output.chunks_exact(shape.outputs()).enumerate() {
            let channel = plane % shape.channels[0];
            let place = plane * shape.inputs()..(plane + 1) * shape.inputs();
            // The columns between the output rows stay zero and add nothing below.
            let lines = bordered.lines_mut(&mut gradient).zip(output.chunks_exact(shape.out[1]));
            lines.for_each(|(to, from)| to.copy_from_slice(from));
            if let Some(all) = &mut of_weights {
                bordered.lay_out(&images[place.clone()], &mut pixels);
                let found = &mut all[channel * taps(shape)..][..taps(shape)];
                for (found, offset) in found.iter_mut().zip(bordered.offsets()) {
                    *found += sum_of_products(&gradient, &pixels[*offset..]);
                }
            }
            if let Some(all) = &mut of_images {
                spread.fill(0.0);
                for (weight, offset) in of_channel(shape, weights, channel).iter().zip(bordered.offsets()) {
                    let pixels = &mut spread[*offset..][..gradient.len()];
                    pixels.iter_mut().zip(&gradient).for_each(|(to, from)| *to += from * weight);
                }
                bordered.take_back(&spread, &mut all[place]);
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

/// Sets each output to the weighted sum of the pixels at the taps' offsets.
#[inline(always)]
fn sum_of_taps(sums: &mut [f32], pixels: &[f32], offsets: &[usize], weights: &[f32]) {
    for (block, sums) in sums.chunks_exact_mut(BLOCK).enumerate() {
        let mut found = [0.0_f32; BLOCK];
        for (offset, weight) in offsets.iter().zip(weights) {
            let pixels = &pixels[block * BLOCK + offset..][..BLOCK];
            found.iter_mut().zip(pixels).for_each(|(sum, pixel)| *sum += pixel * weight);
        }
        sums.copy_from_slice(&found);
    }
}

/// Returns the dot product of two slices; `left` is a whole number of blocks.
#[inline(always)]
fn sum_of_products(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0_f32; BLOCK];
    for (left, right) in left.chunks_exact(BLOCK).zip(right.chunks_exact(BLOCK)) {
        sums.iter_mut().zip(left.iter().zip(right)).for_each(|(sum, (left, right))| *sum += left * right);
    }
    sums.iter().sum()
}
