//! Batch normalisation in training on the CPU (Ioffe and Szegedy, "Batch Normalization", ICML
//! 2015). It reads the mini-batch twice and writes it once, where Burn's general implementation
//! allocates a tensor for each sum, difference and product.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::nn::BatchNorm;
use burn::tensor::{DType, Tensor, TensorData};

use super::activation::{Activation, limit};
use super::graphics;
use super::vectorised::vectorised;

type Differentiating = Autodiff<Flex, NoCheckpointing>;

/// Parallel accumulators, as many as the widest vector registers hold.
const LANES: usize = 16;

/// Normalises `[n, channels, height, width]` as [`BatchNorm::forward`] does and applies the
/// activation.
pub fn normalise(norm: &BatchNorm, images: Tensor<4>, then: Activation) -> Tensor<4> {
    if let Some(output) = graphics::normalise(norm, &images, None, then) {
        return output;
    }
    let is_learning = images.device().is_autodiff() && norm.training.is_enabled();
    let ours = if is_learning { learning(norm, images.clone(), then) } else { None };
    ours.unwrap_or_else(|| then.forward(norm.forward(images)))
}

/// Normalises with the mini-batch's statistics; `None` if the images are not on the CPU or not f32.
fn learning(norm: &BatchNorm, images: Tensor<4>, then: Activation) -> Option<Tensor<4>> {
    let shape = Shape(images.dims());
    let device = images.device();
    let (images, images_node) = images.try_into_primitive::<Differentiating>().ok()?.into_parts();
    let (gamma, gamma_node) = norm.gamma.val().try_into_primitive::<Differentiating>().ok()?.into_parts();
    let (beta, beta_node) = norm.beta.val().try_into_primitive::<Differentiating>().ok()?.into_parts();
    if images.dtype() != DType::F32 || shape.count() == 0 {
        return None;
    }
    let (images, gamma, beta) = (images.to_contiguous(), gamma.to_contiguous(), beta.to_contiguous());
    let statistics = statistics(shape, slice(&images));
    let scales = statistics.scales(slice(&gamma), slice(&beta), norm.epsilon as f32);
    let output = normalised(shape, slice(&images), &scales, then.range());
    let output = FlexTensor::from_data(TensorData::new(output, shape.0));

    let follow = |running: Tensor<1>, numbers: Vec<f32>| {
        let numbers = Tensor::from_data(TensorData::new(numbers, [shape.channels()]), &device);
        (running.to_device(&device).mul_scalar(1.0 - norm.momentum) + numbers.mul_scalar(norm.momentum)).detach()
    };
    norm.running_mean.update(follow(norm.running_mean.value_sync(), statistics.mean.clone()));
    norm.running_var.update(follow(norm.running_var.value_sync(), statistics.variance.clone()));

    let nodes = [images_node, gamma_node, beta_node];
    let state = State { shape, images, statistics, scales, epsilon: norm.epsilon as f32, range: then.range() };
    let output = match Backward::<Flex, 3>::prepare::<NoCheckpointing>(Normalisation, nodes).compute_bound().stateful()
    {
        OpsKind::Tracked(prepared) => prepared.finish(state, output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    };
    Some(Tensor::from_primitive::<Differentiating>(output))
}

/// Images, channels, height, width.
#[derive(Clone, Copy, Debug)]
struct Shape([usize; 4]);

/// Mean and variance per channel.
#[derive(Clone, Debug)]
struct Statistics {
    mean: Vec<f32>,
    variance: Vec<f32>,
}

impl Shape {
    fn channels(self) -> usize {
        self.0[1]
    }

    /// Returns the numbers per channel and image.
    fn plane(self) -> usize {
        self.0[2] * self.0[3]
    }

    /// Returns the numbers per channel in all images.
    fn count(self) -> usize {
        self.0[0] * self.plane()
    }

    /// Returns the index ranges of a channel's planes.
    fn planes(self, channel: usize) -> impl Iterator<Item = std::ops::Range<usize>> + Clone {
        let plane = self.plane();
        (0..self.0[0]).map(move |image| {
            let first = (image * self.channels() + channel) * plane;
            first..first + plane
        })
    }
}

vectorised! {
    /// Returns the mean and the biased variance (divided by n) of each channel.
    fn statistics<'a>(shape: Shape, images: &'a [f32]) -> Statistics {
        let (mut mean, mut variance) = (vec![0.0; shape.channels()], vec![0.0; shape.channels()]);
        let count = shape.count() as f32;
        for (channel, (mean, variance)) in mean.iter_mut().zip(&mut variance).enumerate() {
            *mean = shape.planes(channel).map(|plane| sum(&images[plane], |number| number)).sum::<f32>() / count;
            let middle = *mean;
            let square = |number: f32| (number - middle) * (number - middle);
            *variance = shape.planes(channel).map(|plane| sum(&images[plane], square)).sum::<f32>() / count;
        }
        Statistics { mean, variance }
    }
}

vectorised! {
    fn normalised<'a>(shape: Shape, images: &'a [f32], scales: &'a [[f32; 2]], range: [f32; 2]) -> Vec<f32> {
        let mut output = Vec::with_capacity(images.len());
        for (place, plane) in images.chunks_exact(shape.plane()).enumerate() {
            let [scale, shift] = scales[place % shape.channels()];
            output.extend(plane.iter().map(|number| limit(number * scale + shift, range)));
        }
        output
    }
}

impl Statistics {
    fn inverse_deviation(&self, channel: usize, epsilon: f32) -> f32 {
        1.0 / (self.variance[channel] + epsilon).sqrt()
    }

    /// Returns the scale and the shift of each channel.
    fn scales(&self, gamma: &[f32], beta: &[f32], epsilon: f32) -> Vec<[f32; 2]> {
        let of_channel = |(channel, (gamma, beta)): (usize, (&f32, &f32))| {
            let scale = gamma * self.inverse_deviation(channel, epsilon);
            [scale, beta - self.mean[channel] * scale]
        };
        gamma.iter().zip(beta).enumerate().map(of_channel).collect()
    }
}

/// Intermediate results that the backward pass needs.
#[derive(Clone, Debug)]
struct State {
    shape: Shape,
    images: FlexTensor,
    statistics: Statistics,
    /// Scale and shift of each channel.
    scales: Vec<[f32; 2]>,
    epsilon: f32,
    /// Bounds of the activation: the gradient is zero outside.
    range: [f32; 2],
}

vectorised! {
    /// Returns the gradients of the images, gamma and beta (section 3 of the paper, with x̂ for the
    /// normalised images and m for the numbers per channel): ∂β = Σ∂y, ∂γ = Σ∂y·x̂, ∂x = γ/σ · (∂y
    /// − ∂β/m − x̂·∂γ/m).
    fn backward<'a>(state: &'a State, output: &'a [f32]) -> [Vec<f32>; 3] {
        let State { shape, statistics, epsilon, range: [least, most], .. } = state;
        let images = slice(&state.images);
        let mut of_images = vec![0.0; images.len()];
        let (mut of_gamma, mut of_beta) = (vec![0.0; shape.channels()], vec![0.0; shape.channels()]);
        let count = shape.count() as f32;
        for channel in 0..shape.channels() {
            let (mean, inverse) = (statistics.mean[channel], statistics.inverse_deviation(channel, *epsilon));
            let [scale, shift] = state.scales[channel];
            let passed = |gradient: f32, number: f32| {
                let output = number * scale + shift;
                if output > *least && output < *most { gradient } else { 0.0 }
            };
            let (mut all, mut along) = (0.0, 0.0);
            for plane in shape.planes(channel) {
                let (numbers, gradients) = (&images[plane.clone()], &output[plane]);
                let sums = sums_of_both(gradients, numbers, |gradient, number| {
                    let gradient = passed(gradient, number);
                    [gradient, gradient * (number - mean)]
                });
                all += sums[0];
                along += sums[1];
            }
            along *= inverse;
            (of_gamma[channel], of_beta[channel]) = (along, all);
            // ∂x = scale·∂y + b·x + c
            let b = -scale * inverse * along / count;
            let c = -scale * all / count - b * mean;
            for plane in shape.planes(channel) {
                let numbers = images[plane.clone()].iter().zip(&output[plane.clone()]);
                let all = of_images[plane].iter_mut().zip(numbers);
                all.for_each(|(to, (number, gradient))| *to = scale * passed(*gradient, *number) + b * number + c);
            }
        }
        [of_images, of_gamma, of_beta]
    }
}

/// Autodiff node of a batch normalisation.
#[derive(Debug)]
struct Normalisation;

impl Backward<Flex, 3> for Normalisation {
    type State = State;

    fn backward(self, ops: Ops<State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let output = grads.consume::<Flex>(&ops.node).to_contiguous();
        let found = backward(&ops.state, slice(&output));
        let channels = vec![ops.state.shape.channels()];
        let sizes = [ops.state.shape.0.to_vec(), channels.clone(), channels];
        for ((parent, numbers), size) in ops.parents.iter().zip(found).zip(sizes) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, FlexTensor::from_data(TensorData::new(numbers, size)));
            }
        }
    }
}

fn slice(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("the tensor was made contiguous, and its type was checked")
}

/// Returns the sum of `of` over the numbers.
#[inline(always)]
fn sum(numbers: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let whole = numbers.chunks_exact(LANES);
    let rest: f32 = whole.remainder().iter().map(|number| of(*number)).sum();
    let mut sums = [0.0_f32; LANES];
    for numbers in whole {
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += of(*number));
    }
    sums.iter().sum::<f32>() + rest
}

/// Returns two sums of `of` over pairs of numbers, in one pass.
#[inline(always)]
fn sums_of_both(left: &[f32], right: &[f32], of: impl Fn(f32, f32) -> [f32; 2]) -> [f32; 2] {
    let (lefts, rights) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    let rest = lefts.remainder().iter().zip(rights.remainder());
    let rest = rest.map(|(left, right)| of(*left, *right)).fold([0.0; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
    let mut sums = [[0.0_f32; LANES]; 2];
    for (left, right) in lefts.zip(rights) {
        for lane in 0..LANES {
            let of = of(left[lane], right[lane]);
            sums[0][lane] += of[0];
            sums[1][lane] += of[1];
        }
    }
    [sums[0].iter().sum::<f32>() + rest[0], sums[1].iter().sum::<f32>() + rest[1]]
}

#[cfg(test)]
mod tests {
    use burn::module::Param;
    use burn::nn::BatchNormConfig;
    use burn::tensor::{Device, Distribution};

    use super::*;

    fn assert_close<const D: usize>(ours: Tensor<D>, burns: Tensor<D>, what: &str) {
        let largest: f32 = burns.clone().abs().max().into_scalar();
        let off: f32 = (ours - burns).abs().max().into_scalar();
        assert!(off <= 1e-5 * largest.max(1.0), "{what}: {off} off, and the largest is {largest}");
    }

    #[test]
    fn normalisation_gradients_and_statistics_equal_burns() {
        // At a kink of an activation, rounding decides the gradient: no drawn number is at one.
        Device::flex().seed(1);
        let device = Device::flex().autodiff();
        let thens = [Activation::None, Activation::Relu, Activation::Relu6];
        for (dims, then) in
            [[4, 3, 5, 7], [9, 8, 1, 1], [2, 5, 16, 16]].into_iter().flat_map(|dims| thens.map(|then| (dims, then)))
        {
            let random = |dims: [usize; 4]| {
                Tensor::<4>::random(dims, Distribution::Normal(1.0, 2.0), &Device::flex()).into_data()
            };
            let images = Tensor::<4>::from_data(random(dims), &device).require_grad();
            let factors = Tensor::<4>::from_data(random(dims), &device);
            let of_channels = || Tensor::<4>::from_data(random([1, 1, 1, dims[1]]), &device).reshape([dims[1]]);
            let mut norm = BatchNormConfig::new(dims[1]).init(&device);
            norm.gamma = Param::from_tensor(of_channels());
            norm.beta = Param::from_tensor(of_channels());
            let run = |forward: &dyn Fn(&BatchNorm, Tensor<4>) -> Tensor<4>| {
                let norm =
                    BatchNorm { running_mean: fresh(0.0, &norm), running_var: fresh(1.0, &norm), ..norm.clone() };
                let output = forward(&norm, images.clone());
                let gradients = (output.clone() * factors.clone()).sum().backward();
                let running = [norm.running_mean.value_sync(), norm.running_var.value_sync()];
                let of_images = images.grad(&gradients).unwrap();
                let others = [&norm.gamma, &norm.beta].map(|parameter| parameter.val().grad(&gradients).unwrap());
                (output, of_images, running, others)
            };
            let ours = run(&|norm, images| normalise(norm, images, then));
            let burns = run(&|norm, images| then.forward(norm.forward(images)));
            let what = format!("{dims:?}, then {then:?}");
            assert_close(ours.0, burns.0, &what);
            assert_close(ours.1, burns.1, &what);
            for (ours, burns) in ours.2.into_iter().chain(ours.3).zip(burns.2.into_iter().chain(burns.3)) {
                assert_close(ours, burns, &what);
            }
        }
    }

    fn fresh(value: f32, norm: &BatchNorm) -> burn::module::RunningState<Tensor<1>> {
        let like = norm.gamma.val();
        burn::module::RunningState::new(Tensor::full(like.dims(), value, &like.device()))
    }
}
