//! Batch normalisation in training on a graphics device (Ioffe and Szegedy, "Batch Normalization",
//! ICML 2015), with the addition and the activation after it.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::nn::BatchNorm;
use burn::tensor::{DType, Tensor};
use burn_cubecl::ops::reshape;
use burn_cubecl::{Cube, kernel, tensor::CubeTensor};
use cubecl::prelude::*;

use super::layout::{channels_first, channels_last, empty};
use super::normalisation_kernels::{
    SIDE, gradient_sums, gradients_of_channels, images_gradient, moments, normalise as normalise_kernel, statistics,
};
use super::{Differentiating, UNITS, fits, grid, is_indexable, one_by_one};
use crate::activation::Activation;

/// Workgroups that add up the channels: a few for each multiprocessor of a large GPU.
const BUSY: usize = 512;
/// Fewest rows of a part.
const SMALLEST_PART: usize = 4 * SIDE;

/// Normalises `[n, channels, height, width]` with the statistics of the mini-batch, adds `residual`
/// if given, and applies the activation; `None` if the images are not on a graphics device with
/// autodiff, or the number of channels is not a multiple of four.
pub fn normalise(
    norm: &BatchNorm,
    images: &Tensor<4>,
    residual: Option<&Tensor<4>>,
    then: Activation,
) -> Option<Tensor<4>> {
    if !images.device().is_autodiff() || !norm.training.is_enabled() {
        return None;
    }
    let [n, channels, height, width] = images.dims();
    let rows = n * height * width;
    if !channels.is_multiple_of(4) || rows == 0 || residual.is_some_and(|residual| residual.dims() != images.dims()) {
        return None;
    }
    let (images, images_node) = images.clone().try_into_primitive::<Differentiating>().ok()?.into_parts();
    let (gamma, gamma_node) = norm.gamma.val().try_into_primitive::<Differentiating>().ok()?.into_parts();
    let (beta, beta_node) = norm.beta.val().try_into_primitive::<Differentiating>().ok()?.into_parts();
    let residual = match residual {
        None => None,
        Some(residual) => Some(residual.clone().try_into_primitive::<Differentiating>().ok()?.into_parts()),
    };
    if images.dtype != DType::F32 || !fits(&images.client) || !is_indexable(&images) {
        return None;
    }
    let work = Work { rows, channels, epsilon: norm.epsilon as f32, then };
    let images = channels_last(images)?;
    let (gamma, beta) = (kernel::into_contiguous(gamma), kernel::into_contiguous(beta));
    let running = [norm.running_mean.value_sync(), norm.running_var.value_sync()].map(|running| {
        let running = running.without_autodiff().try_into_primitive::<Cube>().ok()?;
        Some(kernel::into_contiguous(running))
    });
    let [Some(mean), Some(variance)] = running else { return None };
    let (found, followed) = work.statistics(&images, [&mean, &variance], norm.momentum as f32)?;
    let (residual, residual_node) = match residual {
        None => (None, None),
        Some((residual, node)) => (Some(channels_last(residual)?), Some(node)),
    };
    let output = work.normalise(&images, &found, [&gamma, &beta], residual.as_ref())?;

    let [mean, variance] = [0, 1].map(|place| {
        let one = kernel::slice(followed.clone(), &[place..place + 1, 0..channels]);
        Tensor::<1>::from_primitive::<Cube>(reshape(one, [channels].into())).autodiff()
    });
    norm.running_mean.update(mean);
    norm.running_var.update(variance);

    let state = State { work, images, statistics: found, gamma, output: output.clone() };
    let output = channels_first(output);
    let output = match residual_node {
        None => {
            let nodes = [images_node, gamma_node, beta_node];
            match Backward::<Cube, 3>::prepare::<NoCheckpointing>(Normalisation, nodes).compute_bound().stateful() {
                OpsKind::Tracked(prepared) => prepared.finish(state, output),
                OpsKind::UnTracked(prepared) => prepared.finish(output),
            }
        }
        Some(residual_node) => {
            let nodes = [images_node, gamma_node, beta_node, residual_node];
            match Backward::<Cube, 4>::prepare::<NoCheckpointing>(Normalisation, nodes).compute_bound().stateful() {
                OpsKind::Tracked(prepared) => prepared.finish(state, output),
                OpsKind::UnTracked(prepared) => prepared.finish(output),
            }
        }
    };
    Some(Tensor::from_primitive::<Differentiating>(output))
}

#[derive(Clone, Copy, Debug)]
struct Work {
    rows: usize,
    channels: usize,
    epsilon: f32,
    then: Activation,
}

/// State for the backward pass; tensors in memory order.
#[derive(Clone, Debug)]
struct State {
    work: Work,
    images: CubeTensor,
    statistics: CubeTensor,
    gamma: CubeTensor,
    /// The output, whose activation hides part of the gradient.
    output: CubeTensor,
}

impl Work {
    fn fours(self) -> usize {
        self.channels / 4
    }

    /// Returns the rows of a part and the number of parts.
    fn parts(self) -> [usize; 2] {
        let groups = self.fours().div_ceil(SIDE);
        let wanted = (BUSY / groups).clamp(1, self.rows.div_ceil(SMALLEST_PART));
        let part = self.rows.div_ceil(wanted);
        [part, self.rows.div_ceil(part)]
    }

    /// Returns mean and variance, and the running ones moved towards them: `[2, channels]` each.
    fn statistics(
        self,
        images: &CubeTensor,
        [mean, variance]: [&CubeTensor; 2],
        momentum: f32,
    ) -> Option<(CubeTensor, CubeTensor)> {
        let ([part, many], fours) = (self.parts(), self.fours());
        let sums = empty(images, [many, 3, self.channels]);
        let [found, followed] = [(); 2].map(|()| empty(images, [2, self.channels]));
        let groups = fours.div_ceil(SIDE);
        let client = &images.client;
        let (cubes, few) = (grid(client, [groups, many, 1])?, grid(client, [groups, 1, 1])?);
        // SAFETY: the kernels read and write only below `rows`, `fours` and `many`, which are those
        // of the tensors: all are contiguous with these shapes.
        #[allow(unsafe_code, reason = "unchecked indices")]
        unsafe {
            moments::launch_unchecked(
                client,
                cubes,
                CubeDim::new_1d(UNITS),
                images.clone().into_buffer_arg(),
                sums.clone().into_buffer_arg(),
                self.rows as u32,
                fours as u32,
                part as u32,
            );
            statistics::launch_unchecked(
                client,
                few,
                CubeDim::new_1d(UNITS),
                sums.into_buffer_arg(),
                mean.clone().into_buffer_arg(),
                variance.clone().into_buffer_arg(),
                found.clone().into_buffer_arg(),
                followed.clone().into_buffer_arg(),
                self.rows as u32,
                fours as u32,
                part as u32,
                many as u32,
                momentum,
            );
        }
        Some((found, followed))
    }

    fn normalise(
        self,
        images: &CubeTensor,
        statistics: &CubeTensor,
        [gamma, beta]: [&CubeTensor; 2],
        residual: Option<&CubeTensor>,
    ) -> Option<CubeTensor> {
        let shape: [usize; 4] = images.meta.shape().dims();
        let output = empty(images, shape);
        let cubes = one_by_one(&images.client, self.rows * self.fours())?;
        // SAFETY: a unit reads and writes only where its index is below `count`, the length of the
        // images, the output and `residual`, and at channels below `fours`.
        #[allow(unsafe_code, reason = "unchecked indices")]
        unsafe {
            normalise_kernel::launch_unchecked(
                &images.client,
                cubes,
                CubeDim::new_1d(UNITS),
                images.clone().into_buffer_arg(),
                statistics.clone().into_buffer_arg(),
                gamma.clone().into_buffer_arg(),
                beta.clone().into_buffer_arg(),
                residual.unwrap_or(images).clone().into_buffer_arg(),
                output.clone().into_buffer_arg(),
                (self.rows * self.fours()) as u32,
                self.fours() as u32,
                self.epsilon,
                residual.is_some(),
                self.then,
            );
        }
        Some(output)
    }
}

/// Gradients from the backward pass; those of tensors in memory order.
struct Found {
    images: CubeTensor,
    residual: CubeTensor,
    /// Of β and γ: `[2, channels]`.
    channels: CubeTensor,
}

impl State {
    fn backward(&self, gradient: CubeTensor, has_residual: bool) -> Option<Found> {
        let Self { work, images, statistics, gamma, output } = self;
        let gradient = channels_last(gradient)?;
        let ([part, many], fours) = (work.parts(), work.fours());
        let sums = empty(images, [many, 2, work.channels]);
        let channels = empty(images, [2, work.channels]);
        let shape: [usize; 4] = images.meta.shape().dims();
        let found = empty(images, shape);
        let residual = if has_residual { empty(images, shape) } else { empty(images, [1, 1, 1, 4]) };
        let groups = fours.div_ceil(SIDE);
        let client = &images.client;
        let (cubes, few) = (grid(client, [groups, many, 1])?, grid(client, [groups, 1, 1])?);
        let all = one_by_one(client, work.rows * fours)?;
        // SAFETY: the kernels read and write only below `rows`, `fours`, `many` and `count`, which
        // are those of the tensors: all are contiguous with these shapes. `residual` is written
        // only if it has that shape.
        #[allow(unsafe_code, reason = "unchecked indices")]
        unsafe {
            gradient_sums::launch_unchecked(
                client,
                cubes,
                CubeDim::new_1d(UNITS),
                gradient.clone().into_buffer_arg(),
                images.clone().into_buffer_arg(),
                output.clone().into_buffer_arg(),
                statistics.clone().into_buffer_arg(),
                sums.clone().into_buffer_arg(),
                work.rows as u32,
                fours as u32,
                part as u32,
                work.then,
            );
            gradients_of_channels::launch_unchecked(
                client,
                few,
                CubeDim::new_1d(UNITS),
                sums.into_buffer_arg(),
                statistics.clone().into_buffer_arg(),
                channels.clone().into_buffer_arg(),
                fours as u32,
                many as u32,
                work.epsilon,
            );
            images_gradient::launch_unchecked(
                client,
                all,
                CubeDim::new_1d(UNITS),
                gradient.into_buffer_arg(),
                images.clone().into_buffer_arg(),
                output.clone().into_buffer_arg(),
                statistics.clone().into_buffer_arg(),
                gamma.clone().into_buffer_arg(),
                channels.clone().into_buffer_arg(),
                found.clone().into_buffer_arg(),
                residual.clone().into_buffer_arg(),
                (work.rows * fours) as u32,
                fours as u32,
                work.rows as f32,
                work.epsilon,
                has_residual,
                work.then,
            );
        }
        Some(Found { images: found, residual, channels })
    }

    /// Registers the gradients of the parents: images, γ, β and, if there are four, `residual`.
    fn register<const N: usize>(self, ops: &Ops<Self, N>, grads: &mut Gradients) {
        let gradient = grads.consume::<Cube>(&ops.node);
        let found = self
            .backward(gradient, N == 4)
            .expect("the gradients have the sizes of tensors that fitted in the forward pass");
        let of_channels = |place: usize| {
            let one = kernel::slice(found.channels.clone(), &[place..place + 1, 0..self.work.channels]);
            reshape(one, [self.work.channels].into())
        };
        let mut set = |parent: usize, gradient: &dyn Fn() -> CubeTensor| {
            if let Some(Some(node)) = ops.parents.get(parent) {
                grads.register::<Cube>(node.id, gradient());
            }
        };
        set(0, &|| channels_first(found.images.clone()));
        set(1, &|| of_channels(1));
        set(2, &|| of_channels(0));
        set(3, &|| channels_first(found.residual.clone()));
    }
}

/// Autodiff node of a batch normalisation.
#[derive(Debug)]
struct Normalisation;

impl Backward<Cube, 3> for Normalisation {
    type State = State;

    fn backward(self, ops: Ops<State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        ops.state.clone().register(&ops, grads);
    }
}

impl Backward<Cube, 4> for Normalisation {
    type State = State;

    fn backward(self, ops: Ops<State, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
        ops.state.clone().register(&ops, grads);
    }
}
