//! The kernels of depthwise convolutions, which have too little work for a matrix product: they are
//! memory-bound, and neighbouring units read the same pixels.

use cubecl::prelude::*;

use super::convolution_kernel::{Affine, Epilogue, Sizes, activate};
use super::{Four, place};

/// Fours of channels that a workgroup of the weights' gradient works on, and units for each of
/// them.
pub const SIDE: usize = 16;

/// Convolves each channel with its own taps, `weights` of `[taps, channels]`, or computes the
/// gradient of the images if `is_gradient`, as the kernel of other convolutions does. A unit
/// computes four channels of a pixel.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments, reason = "the buffers of a kernel are arguments")]
pub fn depthwise<F: Float>(
    images: &[Four<F>],
    weights: &[Four<F>],
    gamma: &[Four<F>],
    beta: &[Four<F>],
    mean: &[Four<F>],
    variance: &[Four<F>],
    output: &mut [Four<F>],
    sizes: Sizes,
    count: u32,
    epsilon: f32,
    #[comptime] is_gradient: bool,
    #[comptime] epilogue: Epilogue,
    #[define(F)] _kind: ElemType,
) {
    let at = place();
    if at >= count {
        terminate!();
    }
    let four = at % sizes.fours;
    let pixel = at / sizes.fours;
    let x = (pixel % sizes.out_width) as i32;
    let y = (pixel / sizes.out_width % sizes.out_height) as i32;
    let image = pixel / (sizes.out_width * sizes.out_height);
    let mut sum = Four::<f32>::new(0.0f32);
    for tap_down in 0..sizes.kernel_height {
        for tap_across in 0..sizes.kernel_width {
            let mut from_y = y * sizes.down as i32 - sizes.top as i32 + tap_down as i32;
            let mut from_x = x * sizes.across as i32 - sizes.left as i32 + tap_across as i32;
            let mut is_reached = true.runtime();
            if comptime!(is_gradient) {
                let reached_y = y + sizes.top as i32 - tap_down as i32;
                let reached_x = x + sizes.left as i32 - tap_across as i32;
                from_y = reached_y / sizes.down as i32;
                from_x = reached_x / sizes.across as i32;
                is_reached = reached_y >= 0 && from_y * sizes.down as i32 == reached_y;
                is_reached = is_reached && reached_x >= 0 && from_x * sizes.across as i32 == reached_x;
            }
            let is_inside =
                from_y >= 0 && from_x >= 0 && (from_y as u32) < sizes.height && (from_x as u32) < sizes.width;
            if is_reached && is_inside {
                let from = (image * sizes.height + from_y as u32) * sizes.width + from_x as u32;
                let tap = tap_down * sizes.kernel_width + tap_across;
                let weight = Four::<f32>::cast_from(weights[(tap * sizes.fours + four) as usize]);
                sum += Four::<f32>::cast_from(images[(from * sizes.fours + four) as usize]) * weight;
            }
        }
    }
    if comptime!(epilogue.affine == Affine::Bias) {
        sum += Four::<f32>::cast_from(beta[four as usize]);
    } else if comptime!(epilogue.affine == Affine::Norm) {
        let variance = Four::<f32>::cast_from(variance[four as usize]);
        let gamma = Four::<f32>::cast_from(gamma[four as usize]);
        let beta = Four::<f32>::cast_from(beta[four as usize]);
        sum -= Four::<f32>::cast_from(mean[four as usize]);
        #[unroll]
        for c in 0..4usize {
            let scale = gamma.extract(c) / f32::sqrt(variance.extract(c) + epsilon);
            sum.insert(c, fma(sum.extract(c), scale, beta.extract(c)));
        }
    }
    #[unroll]
    for c in 0..4usize {
        sum.insert(c, activate(sum.extract(c), epilogue.then));
    }
    output[at as usize] = Four::<F>::cast_from(sum);
}

/// Computes the gradient of the weights, `[parts, taps, channels]`: each part has the summands of
/// `part` pixels of the output, of all images.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments, reason = "the buffers of a kernel are arguments")]
pub fn depthwise_weights(
    gradient: &[Four<f32>],
    images: &[Four<f32>],
    output: &mut [Four<f32>],
    sizes: Sizes,
    part: u32,
    #[comptime] down: usize,
    #[comptime] across: usize,
) {
    let mut shared = Shared::<[Four<f32>]>::new_slice(comptime!(SIDE * SIDE));
    let four = CUBE_POS_X * SIDE as u32 + UNIT_POS % SIDE as u32;
    let lane = UNIT_POS / SIDE as u32;
    let first = CUBE_POS_Y * part;
    let end = min(first + part, sizes.images * sizes.out_height * sizes.out_width);
    let is_inside = four < sizes.fours;
    let mut sums = Array::<Four<f32>>::new(comptime!(down * across));
    #[unroll]
    for tap in 0..comptime!(down * across) {
        sums[tap] = Four::<f32>::new(0.0f32);
    }
    if is_inside {
        let mut pixel = first + lane;
        while pixel < end {
            let own = gradient[(pixel * sizes.fours + four) as usize];
            let image = pixel / (sizes.out_width * sizes.out_height);
            let y = (pixel / sizes.out_width % sizes.out_height * sizes.down) as i32 - sizes.top as i32;
            let x = (pixel % sizes.out_width * sizes.across) as i32 - sizes.left as i32;
            #[unroll]
            for tap_down in 0..down {
                #[unroll]
                for tap_across in 0..across {
                    let y = y + tap_down as i32;
                    let x = x + tap_across as i32;
                    if y >= 0 && x >= 0 && (y as u32) < sizes.height && (x as u32) < sizes.width {
                        let from = (image * sizes.height + y as u32) * sizes.width + x as u32;
                        let tap = comptime!(tap_down * across + tap_across);
                        sums[tap] += own * images[(from * sizes.fours + four) as usize];
                    }
                }
            }
            pixel += SIDE as u32;
        }
    }
    let unit = UNIT_POS as usize;
    #[unroll]
    for tap in 0..comptime!(down * across) {
        shared[unit] = sums[tap];
        sync_cube();
        if lane == 0 && is_inside {
            let mut sum = shared[unit];
            for other in 1..SIDE {
                sum += shared[unit + other * SIDE];
            }
            let at = (CUBE_POS_Y * comptime!((down * across) as u32) + tap as u32) * sizes.fours + four;
            output[at as usize] = sum;
        }
        sync_cube();
    }
}
