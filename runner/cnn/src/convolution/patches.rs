//! im2col and col2im: patches of images as the columns of a matrix, and back (Chellapilla, Puri and
//! Simard, "High Performance Convolutional Neural Networks for Document Processing", 2006).
//!
//! Several small images are processed at once. Their numbers are interleaved as
//! `[channels, pixels, images]`, so that a row of few pixels is still long enough for a fast copy.

use std::ops::Range;

use crate::geometry::Geometry;
use crate::vectorised::vectorised;

/// Transposes `[images, channels, pixels]` to `[channels, pixels, images]`.
pub fn interleave(from: &[f32], [images, channels, pixels]: [usize; 3], to: &mut [f32]) {
    for (channel, to) in to[..channels * pixels * images].chunks_exact_mut(pixels * images).enumerate() {
        for image in 0..images {
            let from = &from[(image * channels + channel) * pixels..][..pixels];
            to[image..].iter_mut().step_by(images).zip(from).for_each(|(to, from)| *to = *from);
        }
    }
}

/// Transposes `[channels, pixels, images]` to `[images, channels, pixels]`; `put` writes each
/// number.
pub fn separate<T>(from: &[f32], [images, channels, pixels]: [usize; 3], to: &mut [T], put: impl Fn(&mut T, f32)) {
    for (place, to) in to[..images * channels * pixels].chunks_exact_mut(pixels).enumerate() {
        let (image, channel) = (place / channels, place % channels);
        let from = &from[channel * pixels * images + image..];
        to.iter_mut().zip(from.iter().step_by(images)).for_each(|(to, from)| put(to, *from));
    }
}

vectorised! {
    /// Lays out the patches of some output rows (im2col): row `(channel, down, across)` of the
    /// matrix holds that element of every patch. `planes` is `[channels, pixels, images]`;
    /// `columns` is overwritten with `patch × rows × columns × images` numbers.
    pub fn lay_out<'a>(
        shape: &'a Geometry,
        rows: &'a Range<usize>,
        images: usize,
        planes: &'a [f32],
        columns: &'a mut [f32],
    ) {
        let (line, plane) = (shape.out[1] * images, shape.inputs() * images);
        for_each_tap(shape, rows.len() * line, columns, |channel, taps, matrix| {
            let plane = &planes[channel * plane..][..plane];
            let (inside, across) = (shape.reach(0, taps[0]), shape.reach(1, taps[1]));
            for (row, line) in rows.clone().zip(matrix.chunks_exact_mut(line)) {
                if !inside.contains(&row) || across.is_empty() {
                    line.fill(0.0);
                    continue;
                }
                let from = &plane[pixel(shape, [row, across.start], taps) * images..];
                line[..across.start * images].fill(0.0);
                line[across.end * images..].fill(0.0);
                let line = &mut line[across.start * images..across.end * images];
                match (shape.stride[1], images) {
                    (1, _) => line.copy_from_slice(&from[..line.len()]),
                    (stride, 1) => line.iter_mut().zip(from.iter().step_by(stride)).for_each(|(to, from)| *to = *from),
                    (stride, images) => {
                        let pixels = line.chunks_exact_mut(images).zip(from.chunks(images).step_by(stride));
                        pixels.for_each(|(to, from)| to.copy_from_slice(from));
                    }
                }
            }
        });
    }
}

vectorised! {
    /// Adds each number of a patch matrix to its source pixel (col2im).
    pub fn add_back<'a>(
        shape: &'a Geometry,
        rows: &'a Range<usize>,
        images: usize,
        columns: &'a mut [f32],
        planes: &'a mut [f32],
    ) {
        let (line, plane) = (shape.out[1] * images, shape.inputs() * images);
        for_each_tap(shape, rows.len() * line, columns, |channel, taps, matrix| {
            let plane = &mut planes[channel * plane..][..plane];
            let (inside, across) = (shape.reach(0, taps[0]), shape.reach(1, taps[1]));
            for (row, line) in rows.clone().zip(matrix.chunks_exact(line)) {
                if !inside.contains(&row) || across.is_empty() {
                    continue;
                }
                let to = &mut plane[pixel(shape, [row, across.start], taps) * images..];
                let line = &line[across.start * images..across.end * images];
                match (shape.stride[1], images) {
                    (1, _) => add(to, line),
                    (stride, 1) => to.iter_mut().step_by(stride).zip(line).for_each(|(to, from)| *to += from),
                    (stride, images) => {
                        let pixels = to.chunks_mut(images).step_by(stride).zip(line.chunks_exact(images));
                        pixels.for_each(|(to, from)| add(to, from));
                    }
                }
            }
        });
    }
}

#[inline(always)]
fn add(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

/// Calls `run` with each matrix row of `width` numbers, its channel and its tap.
#[inline(always)]
fn for_each_tap(
    shape: &Geometry,
    width: usize,
    columns: &mut [f32],
    mut run: impl FnMut(usize, [usize; 2], &mut [f32]),
) {
    let taps = shape.kernel[0] * shape.kernel[1];
    for (row, matrix) in columns[..shape.patch() * width].chunks_exact_mut(width.max(1)).enumerate() {
        let (channel, tap) = (row / taps, row % taps);
        run(channel, [tap / shape.kernel[1], tap % shape.kernel[1]], matrix);
    }
}

/// Returns the index in its plane of the pixel that a tap reads for an output; the pixel must be
/// inside the plane.
#[inline(always)]
fn pixel(shape: &Geometry, out: [usize; 2], taps: [usize; 2]) -> usize {
    let at = |axis: usize| out[axis] * shape.stride[axis] + taps[axis] - shape.padding[axis];
    at(0) * shape.side[1] + at(1)
}
