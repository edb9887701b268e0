//! The kernels of batch normalisation in training.
//!
//! Tensors are `[rows, channels]`: rows are the pixels of all images. A column of units sums some
//! of the rows; a second kernel adds the partial sums.

use cubecl::prelude::*;

use super::convolution_kernel::activate;
use super::{Four, place};
use crate::activation::Activation;

/// Fours of channels that a workgroup works on, and units for each of them.
pub const SIDE: usize = 16;

/// Adds two numbers of the units that work on the same channels; the first lane gets the sums.
#[cube]
pub fn sum_of_lanes(first: Four<f32>, second: Four<f32>) -> (Four<f32>, Four<f32>) {
    let mut shared = Shared::<[Four<f32>]>::new_slice(comptime!(2 * SIDE * SIDE));
    let unit = UNIT_POS as usize;
    shared[unit] = first;
    shared[unit + SIDE * SIDE] = second;
    sync_cube();
    let mut first = first;
    let mut second = second;
    if unit < SIDE {
        for other in 1..SIDE {
            first += shared[unit + other * SIDE];
            second += shared[unit + (SIDE + other) * SIDE];
        }
    }
    (first, second)
}

/// Sums the numbers of each channel less the first one of the part, and their squares: `[parts, 3,
/// channels]` with that first number in front. Sums about a number of the channel itself avoid
/// cancellation in the variance if the mean is large.
#[cube(launch_unchecked)]
pub fn moments(images: &[Four<f32>], output: &mut [Four<f32>], rows: u32, fours: u32, part: u32) {
    let four = CUBE_POS_X * SIDE as u32 + UNIT_POS % SIDE as u32;
    let lane = UNIT_POS / SIDE as u32;
    let first = CUBE_POS_Y * part;
    let end = min(first + part, rows);
    let is_inside = four < fours;
    let mut origin = Four::<f32>::new(0.0f32);
    let mut sum = Four::<f32>::new(0.0f32);
    let mut squares = Four::<f32>::new(0.0f32);
    if is_inside {
        origin = images[(first * fours + four) as usize];
        let mut row = first + lane;
        while row < end {
            let number = images[(row * fours + four) as usize] - origin;
            sum += number;
            squares += number * number;
            row += SIDE as u32;
        }
    }
    let (sum, squares) = sum_of_lanes(sum, squares);
    if lane == 0 && is_inside {
        let at = CUBE_POS_Y * 3 * fours + four;
        output[at as usize] = origin;
        output[(at + fours) as usize] = sum;
        output[(at + 2 * fours) as usize] = squares;
    }
}

/// Combines the sums of the parts to the mean and the biased variance: `[2, channels]` (Chan, Golub
/// and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979).
/// `followed` gets the running statistics, each moved to the new one by `momentum` of the way.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments, reason = "the buffers of a kernel are arguments")]
pub fn statistics(
    parts: &[Four<f32>],
    running_mean: &[Four<f32>],
    running_variance: &[Four<f32>],
    output: &mut [Four<f32>],
    followed: &mut [Four<f32>],
    rows: u32,
    fours: u32,
    part: u32,
    many: u32,
    momentum: f32,
) {
    let mut means = Shared::<[Four<f32>]>::new_slice(comptime!(SIDE * SIDE));
    let mut spreads = Shared::<[Four<f32>]>::new_slice(comptime!(SIDE * SIDE));
    let mut counts = Shared::<[f32]>::new_slice(comptime!(SIDE * SIDE));
    let four = CUBE_POS_X * SIDE as u32 + UNIT_POS % SIDE as u32;
    let lane = UNIT_POS / SIDE as u32;
    let is_inside = four < fours;
    let mut mean = Four::<f32>::new(0.0f32);
    // Sum of the squared distances from the mean.
    let mut spread = Four::<f32>::new(0.0f32);
    let mut count = 0.0f32.runtime();
    if is_inside {
        let mut at = lane;
        while at < many {
            let start = at * 3 * fours + four;
            let more = f32::cast_from(min(part, rows - at * part));
            let sum = parts[(start + fours) as usize];
            let of_part = parts[start as usize] + sum / Four::<f32>::new(more);
            let spread_of_part = parts[(start + 2 * fours) as usize] - sum * sum / Four::<f32>::new(more);
            let all = count + more;
            let distance = of_part - mean;
            mean += distance * Four::<f32>::new(more / all);
            spread += spread_of_part + distance * distance * Four::<f32>::new(count * more / all);
            count = all;
            at += SIDE as u32;
        }
    }
    let unit = UNIT_POS as usize;
    means[unit] = mean;
    spreads[unit] = spread;
    counts[unit] = count;
    sync_cube();
    if lane == 0 && is_inside {
        let mut mean = means[unit];
        let mut spread = spreads[unit];
        let mut count = counts[unit];
        for other in 1..SIDE {
            let more = counts[unit + other * SIDE];
            if more > 0.0f32 {
                let all = count + more;
                let distance = means[unit + other * SIDE] - mean;
                mean += distance * Four::<f32>::new(more / all);
                spread += spreads[unit + other * SIDE] + distance * distance * Four::<f32>::new(count * more / all);
                count = all;
            }
        }
        let variance = spread / Four::<f32>::new(count);
        output[four as usize] = mean;
        output[(fours + four) as usize] = variance;
        let way = Four::<f32>::new(momentum);
        let rest = Four::<f32>::new(1.0f32 - momentum);
        followed[four as usize] = running_mean[four as usize] * rest + mean * way;
        followed[(fours + four) as usize] = running_variance[four as usize] * rest + variance * way;
    }
}

/// Normalises, adds `residual` if there is one, and applies the activation. `statistics` is
/// `[2, channels]`.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments, reason = "the buffers of a kernel are arguments")]
pub fn normalise(
    images: &[Four<f32>],
    statistics: &[Four<f32>],
    gamma: &[Four<f32>],
    beta: &[Four<f32>],
    residual: &[Four<f32>],
    output: &mut [Four<f32>],
    count: u32,
    fours: u32,
    epsilon: f32,
    #[comptime] has_residual: bool,
    #[comptime] then: Activation,
) {
    let at = place();
    if at >= count {
        terminate!();
    }
    let four = at % fours;
    let deviation = statistics[(fours + four) as usize] + Four::<f32>::new(epsilon);
    let mut value = images[at as usize] - statistics[four as usize];
    let gamma = gamma[four as usize];
    let beta = beta[four as usize];
    #[unroll]
    for c in 0..4usize {
        let scale = gamma.extract(c) / f32::sqrt(deviation.extract(c));
        value.insert(c, fma(value.extract(c), scale, beta.extract(c)));
    }
    if comptime!(has_residual) {
        value += residual[at as usize];
    }
    #[unroll]
    for c in 0..4usize {
        value.insert(c, activate(value.extract(c), then));
    }
    output[at as usize] = value;
}

/// Returns the gradient before the activation: zero where the output is at a bound.
#[cube]
fn before_activation(gradient: Four<f32>, output: Four<f32>, #[comptime] then: Activation) -> Four<f32> {
    let mut gradient = gradient;
    if comptime!(then != Activation::None) {
        #[unroll]
        for c in 0..4usize {
            let value = output.extract(c);
            let mut is_inside = value > 0.0f32;
            if comptime!(then == Activation::Relu6) {
                is_inside = is_inside && value < 6.0f32;
            }
            gradient.insert(c, select(is_inside, gradient.extract(c), 0.0f32.runtime()));
        }
    }
    gradient
}

/// Sums the gradient of each channel, and its product with the distance from the mean:
/// `[parts, 2, channels]`.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments, reason = "the buffers of a kernel are arguments")]
pub fn gradient_sums(
    gradient: &[Four<f32>],
    images: &[Four<f32>],
    activated: &[Four<f32>],
    statistics: &[Four<f32>],
    output: &mut [Four<f32>],
    rows: u32,
    fours: u32,
    part: u32,
    #[comptime] then: Activation,
) {
    let four = CUBE_POS_X * SIDE as u32 + UNIT_POS % SIDE as u32;
    let lane = UNIT_POS / SIDE as u32;
    let first = CUBE_POS_Y * part;
    let end = min(first + part, rows);
    let is_inside = four < fours;
    let mut sum = Four::<f32>::new(0.0f32);
    let mut products = Four::<f32>::new(0.0f32);
    if is_inside {
        let mean = statistics[four as usize];
        let mut row = first + lane;
        while row < end {
            let at = (row * fours + four) as usize;
            let own = before_activation(gradient[at], activated[at], then);
            sum += own;
            products += own * (images[at] - mean);
            row += SIDE as u32;
        }
    }
    let (sum, products) = sum_of_lanes(sum, products);
    if lane == 0 && is_inside {
        let at = CUBE_POS_Y * 2 * fours + four;
        output[at as usize] = sum;
        output[(at + fours) as usize] = products;
    }
}

/// Adds the parts, and divides the products by the deviation: the gradients of γ and β as
/// `[2, channels]`, β first.
#[cube(launch_unchecked)]
pub fn gradients_of_channels(
    parts: &[Four<f32>],
    statistics: &[Four<f32>],
    output: &mut [Four<f32>],
    fours: u32,
    many: u32,
    epsilon: f32,
) {
    let four = CUBE_POS_X * SIDE as u32 + UNIT_POS % SIDE as u32;
    let lane = UNIT_POS / SIDE as u32;
    let is_inside = four < fours;
    let mut sum = Four::<f32>::new(0.0f32);
    let mut products = Four::<f32>::new(0.0f32);
    if is_inside {
        let mut at = lane;
        while at < many {
            let start = at * 2 * fours + four;
            sum += parts[start as usize];
            products += parts[(start + fours) as usize];
            at += SIDE as u32;
        }
    }
    let (sum, products) = sum_of_lanes(sum, products);
    if lane == 0 && is_inside {
        let variance = statistics[(fours + four) as usize] + Four::<f32>::new(epsilon);
        let mut products = products;
        #[unroll]
        for c in 0..4usize {
            products.insert(c, products.extract(c) / f32::sqrt(variance.extract(c)));
        }
        output[four as usize] = sum;
        output[(fours + four) as usize] = products;
    }
}

/// Computes the gradient of the images (Ioffe and Szegedy, "Batch Normalization", ICML 2015,
/// section 3), and that of `residual` if there is one.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments, reason = "the buffers of a kernel are arguments")]
pub fn images_gradient(
    gradient: &[Four<f32>],
    images: &[Four<f32>],
    activated: &[Four<f32>],
    statistics: &[Four<f32>],
    gamma: &[Four<f32>],
    of_channels: &[Four<f32>],
    output: &mut [Four<f32>],
    residual: &mut [Four<f32>],
    count: u32,
    fours: u32,
    rows: f32,
    epsilon: f32,
    #[comptime] has_residual: bool,
    #[comptime] then: Activation,
) {
    let at = place();
    if at >= count {
        terminate!();
    }
    let four = at % fours;
    let own = before_activation(gradient[at as usize], activated[at as usize], then);
    let distance = images[at as usize] - statistics[four as usize];
    let variance = statistics[(fours + four) as usize] + Four::<f32>::new(epsilon);
    let gamma = gamma[four as usize];
    let sum = of_channels[four as usize];
    let products = of_channels[(fours + four) as usize];
    let mut value = Four::<f32>::new(0.0f32);
    #[unroll]
    for c in 0..4usize {
        let deviation = f32::sqrt(variance.extract(c));
        let normalised = distance.extract(c) / deviation;
        let centred = own.extract(c) - (sum.extract(c) + normalised * products.extract(c)) / rows;
        value.insert(c, gamma.extract(c) / deviation * centred);
    }
    output[at as usize] = value;
    if comptime!(has_residual) {
        residual[at as usize] = own;
    }
}
