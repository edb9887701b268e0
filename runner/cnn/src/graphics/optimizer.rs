//! Steps of optimisers on a graphics device, with one kernel per parameter instead of up to a dozen
//! tensor operations.

use burn::tensor::{DType, Tensor};
use burn_cubecl::{Cube, kernel, tensor::CubeTensor};
use cubecl::prelude::*;

use super::layout::empty;
use super::{UNITS, fits, is_indexable, one_by_one, place};
use crate::learning::AdamStep;

/// Returns the weights and the velocity after a step of SGD with momentum, v ← μ·v + g and
/// w ← w − η·v; `None` if they are not on a graphics device in 32-bit floats.
pub fn sgd_step(
    weights: &Tensor<1>,
    gradient: &Tensor<1>,
    velocity: &Tensor<1>,
    momentum: f64,
    rate: f64,
) -> Option<[Tensor<1>; 2]> {
    let [weights, gradient, velocity] = on_device([weights, gradient, velocity])?;
    let (new_weights, new_velocity) = (like(&weights), like(&weights));
    let count = weights.meta.num_elements();
    let cubes = one_by_one(&weights.client, count)?;
    // SAFETY: a unit reads and writes only where its index is below `count`, the length of every
    // tensor.
    #[allow(unsafe_code, reason = "unchecked indices")]
    unsafe {
        sgd::launch_unchecked(
            &weights.client,
            cubes,
            CubeDim::new_1d(UNITS),
            weights.clone().into_buffer_arg(),
            gradient.into_buffer_arg(),
            velocity.into_buffer_arg(),
            new_weights.clone().into_buffer_arg(),
            new_velocity.clone().into_buffer_arg(),
            count as u32,
            momentum as f32,
            rate as f32,
        );
    }
    Some([new_weights, new_velocity].map(Tensor::from_primitive::<Cube>))
}

/// Returns the weights and the two moments after a step of Adam; `None` as for [`sgd_step`].
pub fn adam_step(
    weights: &Tensor<1>,
    gradient: &Tensor<1>,
    [mean, square]: [&Tensor<1>; 2],
    step: AdamStep,
) -> Option<[Tensor<1>; 3]> {
    let [weights, gradient, mean, square] = on_device([weights, gradient, mean, square])?;
    let (new_weights, new_mean, new_square) = (like(&weights), like(&weights), like(&weights));
    let count = weights.meta.num_elements();
    let cubes = one_by_one(&weights.client, count)?;
    // SAFETY: as in `sgd_step`.
    #[allow(unsafe_code, reason = "unchecked indices")]
    unsafe {
        adam::launch_unchecked(
            &weights.client,
            cubes,
            CubeDim::new_1d(UNITS),
            weights.clone().into_buffer_arg(),
            gradient.into_buffer_arg(),
            mean.into_buffer_arg(),
            square.into_buffer_arg(),
            new_weights.clone().into_buffer_arg(),
            new_mean.clone().into_buffer_arg(),
            new_square.clone().into_buffer_arg(),
            count as u32,
            step.betas[0] as f32,
            step.betas[1] as f32,
            (step.rate / step.biases[0]) as f32,
            step.biases[1] as f32,
            step.epsilon as f32,
        );
    }
    Some([new_weights, new_mean, new_square].map(Tensor::from_primitive::<Cube>))
}

/// Returns contiguous tensors of the same length.
fn on_device<const N: usize>(tensors: [&Tensor<1>; N]) -> Option<[CubeTensor; N]> {
    let mut found = Vec::with_capacity(N);
    for tensor in tensors {
        let tensor = tensor.clone().try_into_primitive::<Cube>().ok()?;
        let is_usable = tensor.dtype == DType::F32 && fits(&tensor.client) && is_indexable(&tensor);
        found.push(kernel::into_contiguous(is_usable.then_some(tensor)?));
    }
    let length = found.first()?.meta.num_elements();
    let is_same = length > 0 && found.iter().all(|tensor| tensor.meta.num_elements() == length);
    is_same.then_some(found)?.try_into().ok()
}

fn like(tensor: &CubeTensor) -> CubeTensor {
    empty(tensor, [tensor.meta.num_elements()])
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments, reason = "the buffers of a kernel are arguments")]
fn sgd(
    weights: &[f32],
    gradient: &[f32],
    velocity: &[f32],
    new_weights: &mut [f32],
    new_velocity: &mut [f32],
    count: u32,
    momentum: f32,
    rate: f32,
) {
    let at = place();
    if at >= count {
        terminate!();
    }
    let at = at as usize;
    let velocity = velocity[at] * momentum + gradient[at];
    new_velocity[at] = velocity;
    new_weights[at] = weights[at] - velocity * rate;
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments, reason = "the buffers of a kernel are arguments")]
fn adam(
    weights: &[f32],
    gradient: &[f32],
    mean: &[f32],
    square: &[f32],
    new_weights: &mut [f32],
    new_mean: &mut [f32],
    new_square: &mut [f32],
    count: u32,
    beta_1: f32,
    beta_2: f32,
    rate: f32,
    square_bias: f32,
    epsilon: f32,
) {
    let at = place();
    if at >= count {
        terminate!();
    }
    let at = at as usize;
    let slope = gradient[at];
    let mean = mean[at] * beta_1 + slope * (1.0f32 - beta_1);
    let square = square[at] * beta_2 + slope * slope * (1.0f32 - beta_2);
    new_mean[at] = mean;
    new_square[at] = square;
    new_weights[at] = weights[at] - mean / (f32::sqrt(square / square_bias) + epsilon) * rate;
}
