//! Convolutions on the CPU; those on graphics devices are in `graphics`.
//!
//! Burn's CPU device processes a mini-batch image by image and computes the gradient of the weights
//! as a convolution with the gradient of the output as kernel. Deep layers on small images have few
//! pixels and many weights, so that packing the weights for each image takes longer than the
//! product. Here several images share one product, kernel taps that only ever read padding are left
//! out, and batch normalisation or the bias is applied to the output while it is in the cache. Burn
//! computes the other convolutions.

mod bordered;
mod compute;
mod depthwise;
mod max_pool;
mod patches;
mod product;
mod taps;
#[cfg(test)]
mod tests;

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::nn::{BatchNorm, conv::Conv2d};
use burn::tensor::{DType, Tensor, TensorData};

use self::compute::After;
pub use self::max_pool::max_pool;
use super::activation::Activation;
use super::geometry::Geometry;
use super::graphics;
use super::normalisation::normalise;

/// Convolves `[n, channels, height, width]` to `[n, out, height, width]`.
pub fn convolve(conv: &Conv2d, images: Tensor<4>) -> Tensor<4> {
    convolve_then(conv, images, None, Activation::None)
}

/// Convolves, adds `residual` if given, and applies the activation.
pub fn convolve_then(conv: &Conv2d, images: Tensor<4>, residual: Option<&Tensor<4>>, then: Activation) -> Tensor<4> {
    let after = |output: Tensor<4>| {
        then.forward(match residual {
            None => output,
            Some(residual) => output + residual.clone(),
        })
    };
    if let Some(output) = graphics::convolve(conv, &images, residual, then) {
        return output;
    }
    let Some(work) = Work::of(conv, &images) else { return after(conv.forward(images)) };
    let bias = conv.bias.as_ref().map(|bias| bias.val());
    let channels = work.shape.channels[1];
    if images.device().is_autodiff() {
        let Some(output) = work.differentiable(conv, images.clone()) else { return after(conv.forward(images)) };
        return after(match bias {
            None => output,
            Some(bias) => output + bias.reshape([1, channels, 1, 1]),
        });
    }
    let affine = match bias.map(numbers) {
        None if residual.is_none() && then == Activation::None => Some(None),
        None => Some(Some((vec![1.0; channels], vec![0.0; channels]))),
        Some(None) => None,
        Some(Some(shift)) => Some(Some((vec![1.0; channels], shift))),
    };
    affine
        .and_then(|affine| work.plain(conv, &images, affine.as_ref(), residual, then))
        .unwrap_or_else(|| after(conv.forward(images)))
}

/// Convolves without bias, applies batch normalisation, adds `residual` if given, and applies the
/// activation.
pub fn convolve_and_normalise(
    conv: &Conv2d,
    norm: &BatchNorm,
    images: Tensor<4>,
    residual: Option<Tensor<4>>,
    then: Activation,
) -> Tensor<4> {
    if let Some(output) = graphics::convolve_and_normalise(conv, norm, &images, residual.as_ref(), then) {
        return output;
    }
    if conv.bias.is_none() && !images.device().is_autodiff() {
        let work = Work::of(conv, &images);
        let output = work.and_then(|work| work.plain(conv, &images, Some(&as_affine(norm)?), residual.as_ref(), then));
        if let Some(output) = output {
            return output;
        }
    }
    let output = convolve(conv, images);
    if let Some(output) = graphics::normalise(norm, &output, residual.as_ref(), then) {
        return output;
    }
    match residual {
        None => normalise(norm, output, then),
        Some(residual) => then.forward(normalise(norm, output, Activation::None) + residual),
    }
}

/// Returns batch normalisation with its running statistics as a scale and a shift per channel
/// (Ioffe and Szegedy, "Batch Normalization", ICML 2015, algorithm 2, line 11).
fn as_affine(norm: &BatchNorm) -> Option<(Vec<f32>, Vec<f32>)> {
    let [gamma, beta] = [norm.gamma.val(), norm.beta.val()].map(numbers);
    let [mean, variance] = [norm.running_mean.value(), norm.running_var.value()].map(numbers);
    let epsilon = norm.epsilon as f32;
    let scale: Vec<f32> =
        gamma?.iter().zip(variance?).map(|(gamma, variance)| gamma / (variance + epsilon).sqrt()).collect();
    let shift = beta?.iter().zip(mean?).zip(&scale).map(|((beta, mean), scale)| beta - mean * scale).collect();
    Some((scale, shift))
}

/// Returns the numbers of a tensor on the CPU, or `None` if it is on another device.
fn numbers(tensor: Tensor<1>) -> Option<Vec<f32>> {
    tensor.try_into_primitive::<Flex>().ok()?.to_contiguous().as_slice().map(<[f32]>::to_vec)
}

/// A convolution that is computed here instead of by Burn.
#[derive(Clone, Copy, Debug)]
struct Work {
    /// Geometry of the layer.
    whole: Geometry,
    /// Geometry without the taps that only read padding.
    shape: Geometry,
    /// Whether the convolution is depthwise; otherwise it has a single group.
    is_depthwise: bool,
}

impl Work {
    /// Returns `None` for dilated and grouped convolutions, which Burn computes.
    fn of(conv: &Conv2d, images: &Tensor<4>) -> Option<Self> {
        let [outputs, _, down, across] = conv.weight.dims();
        let whole = Geometry::of(images.dims(), outputs, [down, across], conv.stride, &conv.padding)?;
        let shape = whole.with_taps(&whole.useful_taps());
        let is_depthwise = conv.groups > 1 && conv.groups == shape.channels[0] && shape.channels[0] == outputs;
        if conv.dilation != [1, 1] || !(conv.groups == 1 || is_depthwise) {
            return None;
        }
        Some(Self { whole, shape, is_depthwise })
    }

    /// Computes the convolution without autodiff; `None` if the tensors are not on the CPU.
    fn plain(
        self,
        conv: &Conv2d,
        images: &Tensor<4>,
        after: Option<&(Vec<f32>, Vec<f32>)>,
        residual: Option<&Tensor<4>>,
        then: Activation,
    ) -> Option<Tensor<4>> {
        let [n, channels] = [self.shape.images, self.shape.channels[1]];
        let out = [n, channels, self.shape.out[0], self.shape.out[1]];
        if residual.is_some_and(|residual| self.is_depthwise || residual.dims() != out) {
            return None;
        }
        let plain = |tensor: Tensor<4>| on_processor(&tensor.try_into_primitive::<Flex>().ok()?);
        let [images, weights] = [images.clone(), conv.weight.val()].map(plain);
        let residual = match residual.cloned() {
            None => None,
            Some(residual) => Some(plain(residual)?),
        };
        let residual = residual.as_ref().map(slice);
        let after = after.map(|(scale, shift)| After { scale, shift, residual, range: then.range() });
        Some(Tensor::from_primitive::<Flex>(self.forward(&images?, &self.useful(weights?), after)))
    }

    /// Computes the convolution and registers its backward pass; `None` if the tensors are not on
    /// the CPU.
    fn differentiable(self, conv: &Conv2d, images: Tensor<4>) -> Option<Tensor<4>> {
        type Differentiating = Autodiff<Flex, NoCheckpointing>;
        let images = images.try_into_primitive::<Differentiating>().ok()?;
        let weights = conv.weight.val().try_into_primitive::<Differentiating>().ok()?;
        let (images, images_node) = images.into_parts();
        let (weights, weights_node) = weights.into_parts();
        let (images, weights) = (on_processor(&images)?, self.useful(on_processor(&weights)?));
        let output = self.forward(&images, &weights, None);
        let tracked = Backward::<Flex, 2>::prepare::<NoCheckpointing>(Convolution, [images_node, weights_node]);
        let output = match tracked.compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((self, images, weights), output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        };
        Some(Tensor::from_primitive::<Differentiating>(output))
    }

    /// Returns the weights of the taps that reach the input.
    fn useful(self, weights: FlexTensor) -> FlexTensor {
        let [outputs, inputs, _, _] = weights.layout().shape().dims();
        let [down, across] = self.shape.kernel;
        let few = taps::pick(&self.whole, slice(&weights));
        few.map_or(weights, |few| tensor(few, [outputs, inputs, down, across]))
    }

    fn forward(self, images: &FlexTensor, weights: &FlexTensor, after: Option<After<'_>>) -> FlexTensor {
        let run = if self.is_depthwise { depthwise::forward } else { compute::forward };
        let [_, channels] = self.shape.channels;
        let output = run(&self.shape, slice(images), slice(weights), after);
        tensor(output, [self.shape.images, channels, self.shape.out[0], self.shape.out[1]])
    }
}

/// Makes the tensor contiguous; `None` if its type is not f32.
fn on_processor(tensor: &FlexTensor) -> Option<FlexTensor> {
    (tensor.dtype() == DType::F32).then(|| tensor.to_contiguous())
}

fn slice(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("on_processor made it contiguous f32")
}

fn tensor(numbers: Vec<f32>, shape: [usize; 4]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(numbers, shape))
}

/// Autodiff node of a convolution.
#[derive(Debug)]
struct Convolution;

impl Backward<Flex, 2> for Convolution {
    type State = (Work, FlexTensor, FlexTensor);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let output = grads.consume::<Flex>(&ops.node).to_contiguous();
        let (Work { whole, shape, is_depthwise }, images, weights) = ops.state;
        let wants = [0, 1].map(|parent| ops.parents[parent].is_some());
        let run = if is_depthwise { depthwise::backward } else { compute::backward };
        let found = run(&shape, slice(&images), slice(&weights), slice(&output), wants);
        let [inputs, outputs] = shape.channels;
        let sizes = [
            [shape.images, inputs, shape.side[0], shape.side[1]],
            [outputs, if is_depthwise { 1 } else { inputs }, whole.kernel[0], whole.kernel[1]],
        ];
        let of_weights = found.weights.map(|few| taps::put_back(&whole, few));
        for ((parent, numbers), size) in ops.parents.iter().zip([found.images, of_weights]).zip(sizes) {
            if let Some((parent, numbers)) = parent.as_ref().zip(numbers) {
                grads.register::<Flex>(parent.id, tensor(numbers, size));
            }
        }
    }
}
