//! Patches of images as the columns of a matrix, and back (Chellapilla, Puri and Simard, "High Performance Convolutional
//! Neural Networks for Document Processing", 2006).

use super::geometry::{Geometry, Portion};

/// Lays out the patches of a portion: row `(channel, down, across)` of the matrix has that number of every patch.
/// `columns` is overwritten; it has `patch × portion.columns` numbers.
pub fn lay_out(shape: &Geometry, portion: &Portion, images: &[f32], columns: &mut [f32]) {
    let width = portion.columns(shape);
    for_each_run(shape, portion, |row, channel, taps| {
        let line = &mut columns[row * width..(row + 1) * width];
        for (place, image) in portion.images.clone().enumerate() {
            let plane = &images[(image * shape.channels[0] + channel) * shape.inputs()..][..shape.inputs()];
            let line = &mut line[place * portion.rows.len() * shape.out[1]..][..portion.rows.len() * shape.out[1]];
            if shape.is_pointwise() {
                line.copy_from_slice(&plane[portion.rows.start * shape.out[1]..][..line.len()]);
                continue;
            }
            let (rows, across) = (shape.reach(0, taps[0]), shape.reach(1, taps[1]));
            for (out_row, line) in portion.rows.clone().zip(line.chunks_exact_mut(shape.out[1])) {
                if !rows.contains(&out_row) || across.is_empty() {
                    line.fill(0.0);
                    continue;
                }
                let first = pixel(shape, [out_row, across.start], taps);
                line[..across.start].fill(0.0);
                line[across.end..].fill(0.0);
                let line = &mut line[across.clone()];
                match shape.stride[1] {
                    // A call for each copy would take longer than the few pixels of a short line.
                    1 => line.iter_mut().zip(&plane[first..]).for_each(|(to, from)| *to = *from),
                    stride => {
                        line.iter_mut().zip(plane[first..].iter().step_by(stride)).for_each(|(to, from)| *to = *from);
                    }
                }
            }
        }
    });
}

/// Adds each number of a matrix of patches to the pixel that it is of.
pub fn add_back(shape: &Geometry, portion: &Portion, columns: &[f32], images: &mut [f32]) {
    let width = portion.columns(shape);
    for_each_run(shape, portion, |row, channel, taps| {
        let line = &columns[row * width..(row + 1) * width];
        for (place, image) in portion.images.clone().enumerate() {
            let plane = &mut images[(image * shape.channels[0] + channel) * shape.inputs()..][..shape.inputs()];
            let line = &line[place * portion.rows.len() * shape.out[1]..][..portion.rows.len() * shape.out[1]];
            let (rows, across) = (shape.reach(0, taps[0]), shape.reach(1, taps[1]));
            for (out_row, line) in portion.rows.clone().zip(line.chunks_exact(shape.out[1])) {
                if !rows.contains(&out_row) || across.is_empty() {
                    continue;
                }
                let first = pixel(shape, [out_row, across.start], taps);
                let line = &line[across.clone()];
                match shape.stride[1] {
                    1 => plane[first..].iter_mut().zip(line).for_each(|(to, from)| *to += from),
                    stride => {
                        plane[first..].iter_mut().step_by(stride).zip(line).for_each(|(to, from)| *to += from);
                    }
                }
            }
        }
    });
}

/// Every row of the matrix with its channel and its tap.
fn for_each_run(shape: &Geometry, portion: &Portion, mut run: impl FnMut(usize, usize, [usize; 2])) {
    if portion.columns(shape) == 0 {
        return;
    }
    let mut row = 0;
    for channel in 0..shape.channels[0] {
        for down in 0..shape.kernel[0] {
            for across in 0..shape.kernel[1] {
                run(row, channel, [down, across]);
                row += 1;
            }
        }
    }
}

/// The place in its plane of the pixel that a tap finds for an output; it is inside.
fn pixel(shape: &Geometry, out: [usize; 2], taps: [usize; 2]) -> usize {
    let at = |axis: usize| out[axis] * shape.stride[axis] + taps[axis] - shape.padding[axis];
    at(0) * shape.side[1] + at(1)
}
