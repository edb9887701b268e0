//! Convolutions and fully connected layers on a graphics device, with their gradients.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::nn::{BatchNorm, Linear, conv::Conv2d};
use burn::tensor::{DType, Tensor};
use burn_cubecl::{Cube, kernel, tensor::CubeTensor};

use super::convolution_kernel::{Affine, Epilogue};
use super::layout::channels_last;
use super::work::{EpilogueArgs, Work};
use super::{Differentiating, matrix_units};
use crate::activation::Activation;

/// Convolves, adds `residual` if given, and applies the activation; `None` if the images are not on
/// a graphics device, or the convolution has dilation, groups of several channels, or sizes that
/// the kernels do not support.
pub fn convolve(
    conv: &Conv2d,
    images: &Tensor<4>,
    residual: Option<&Tensor<4>>,
    then: Activation,
) -> Option<Tensor<4>> {
    let work = Work::of(conv, images.dims())?;
    let factors = Factors::of(conv);
    if !images.device().is_autodiff() {
        return plain(work, factors, images, None, residual, then);
    }
    let output = differentiable(work, factors, images.clone())?;
    Some(then.forward(match residual {
        None => output,
        Some(residual) => output + residual.clone(),
    }))
}

/// Convolves without bias, applies batch normalisation with the running statistics, adds `residual`
/// if given, and applies the activation; `None` as for [`convolve`], and if the images are on a
/// device with autodiff.
pub fn convolve_and_normalise(
    conv: &Conv2d,
    norm: &BatchNorm,
    images: &Tensor<4>,
    residual: Option<&Tensor<4>>,
    then: Activation,
) -> Option<Tensor<4>> {
    if conv.bias.is_some() || images.device().is_autodiff() {
        return None;
    }
    plain(Work::of(conv, images.dims())?, Factors::of(conv), images, Some(norm), residual, then)
}

/// Applies a fully connected layer to `[n, inputs]`; `None` if they are not on a graphics device,
/// or have sizes that the kernels do not support.
pub fn connect(linear: &Linear, inputs: &Tensor<2>) -> Option<Tensor<2>> {
    let ([n, count], [_, outputs]) = (inputs.dims(), linear.weight.dims());
    // Checked first, so that the CPU skips the operations that turn the layer into a convolution.
    let is_here = match inputs.device().is_autodiff() {
        false => inputs.clone().try_into_primitive::<Cube>().is_ok(),
        true => inputs.clone().try_into_primitive::<Differentiating>().is_ok(),
    };
    if n == 0 || !is_here {
        return None;
    }
    let weights = linear.weight.val().reshape([count, outputs, 1, 1]).swap_dims(0, 1);
    let factors = Factors { weights, bias: linear.bias.as_ref().map(|bias| bias.val()) };
    let work = Work::fully_connected(n, [count, outputs]);
    let images = inputs.clone().reshape([n, count, 1, 1]);
    let output = match images.device().is_autodiff() {
        false => plain(work, factors, &images, None, None, Activation::None),
        true => differentiable(work, factors, images),
    };
    Some(output?.reshape([n, outputs]))
}

/// Weights and summands of a convolution.
struct Factors {
    /// `[outputs, channels, height, width]`.
    weights: Tensor<4>,
    bias: Option<Tensor<1>>,
}

impl Factors {
    fn of(conv: &Conv2d) -> Self {
        Self { weights: conv.weight.val(), bias: conv.bias.as_ref().map(|bias| bias.val()) }
    }
}

/// Convolves without autodiff, with the bias or the batch normalisation after it.
fn plain(
    work: Work,
    factors: Factors,
    images: &Tensor<4>,
    norm: Option<&BatchNorm>,
    residual: Option<&Tensor<4>>,
    then: Activation,
) -> Option<Tensor<4>> {
    let device = |tensor: Tensor<4>| tensor.try_into_primitive::<Cube>().ok();
    let images = device(images.clone())?;
    let weights = device(factors.weights)?;
    let is_float = matches!(images.dtype, DType::F32 | DType::F16);
    if !is_float || images.dtype != weights.dtype || !work.fits(&images.client, false) {
        return None;
    }
    if work.is_depthwise && residual.is_some() {
        return None;
    }
    let out = work.shape.out_dims();
    // The summand has no padding after its channels.
    if residual.is_some() && !out[1].is_multiple_of(4) {
        return None;
    }
    let residual = match residual {
        None => None,
        Some(residual) if residual.dims() == out => Some(channels_last(device(residual.clone())?)?),
        Some(_) => return None,
    };
    let of_channels = |tensor: Tensor<1>| Some(kernel::into_contiguous(tensor.try_into_primitive::<Cube>().ok()?));
    let (affine, numbers, epsilon) = match (norm, factors.bias) {
        (None, None) => (Affine::None, Vec::new(), 0.0),
        (None, Some(bias)) => (Affine::Bias, vec![bias.clone(), bias], 0.0),
        (Some(norm), _) => {
            let statistics = [norm.running_mean.value(), norm.running_var.value()];
            let learned = [norm.gamma.val(), norm.beta.val()];
            (Affine::Norm, [learned, statistics].concat(), norm.epsilon as f32)
        }
    };
    let numbers = numbers.into_iter().map(of_channels).collect::<Option<Vec<CubeTensor>>>()?;
    // The kernels read every buffer in the format of the images.
    if numbers.iter().chain(&residual).any(|tensor| tensor.dtype != images.dtype) {
        return None;
    }
    let epilogue = Epilogue { affine, has_residual: residual.is_some(), then };
    let extras = EpilogueArgs { numbers, residual, epsilon, epilogue };
    let output = match matrix_units::convolve(work, &images, &weights, &extras) {
        Some(output) => output,
        None => work.forward(&channels_last(images)?, &work.weights_in_memory(weights)?, &extras)?,
    };
    Some(Tensor::from_primitive::<Cube>(output))
}

/// Convolves with the bias, if any, and registers the backward pass.
fn differentiable(work: Work, factors: Factors, images: Tensor<4>) -> Option<Tensor<4>> {
    let images = images.try_into_primitive::<Differentiating>().ok()?;
    let weights = factors.weights.try_into_primitive::<Differentiating>().ok()?;
    let (images, images_node) = images.into_parts();
    let (weights, weights_node) = weights.into_parts();
    let is_single = images.dtype == DType::F32 && weights.dtype == DType::F32;
    if !is_single || !work.fits(&images.client, true) {
        return None;
    }
    let (extras, bias_node) = match factors.bias {
        None => (EpilogueArgs::none(), None),
        Some(bias) => {
            let (bias, node) = bias.try_into_primitive::<Differentiating>().ok()?.into_parts();
            let bias = kernel::into_contiguous(bias);
            let epilogue = Epilogue { affine: Affine::Bias, ..Epilogue::NONE };
            (EpilogueArgs { numbers: vec![bias.clone(), bias], epilogue, ..EpilogueArgs::none() }, Some(node))
        }
    };
    let images = channels_last(images)?;
    let output = work.forward(&images, &work.weights_in_memory(weights.clone())?, &extras)?;
    let state = (work, images, weights);
    let output = match bias_node {
        None => {
            let nodes = [images_node, weights_node];
            match Backward::<Cube, 2>::prepare::<NoCheckpointing>(Convolution, nodes).compute_bound().stateful() {
                OpsKind::Tracked(prepared) => prepared.finish(state, output),
                OpsKind::UnTracked(prepared) => prepared.finish(output),
            }
        }
        Some(bias_node) => {
            let nodes = [images_node, weights_node, bias_node];
            match Backward::<Cube, 3>::prepare::<NoCheckpointing>(Convolution, nodes).compute_bound().stateful() {
                OpsKind::Tracked(prepared) => prepared.finish(state, output),
                OpsKind::UnTracked(prepared) => prepared.finish(output),
            }
        }
    };
    Some(Tensor::from_primitive::<Differentiating>(output))
}

/// Autodiff node of a convolution; its parents are the images, the weights and the bias, if any.
#[derive(Debug)]
struct Convolution;

/// The images in memory order, and the weights as the caller has them.
type State = (Work, CubeTensor, CubeTensor);

/// Registers the gradients of the parents.
fn backward<const N: usize>(ops: Ops<State, N>, grads: &mut Gradients) {
    const FITS: &str = "the gradients have the sizes of tensors that fitted in the forward pass";
    let gradient = channels_last(grads.consume::<Cube>(&ops.node)).expect(FITS);
    let (work, images, weights) = ops.state;
    let mut parents = ops.parents.into_iter();
    if let Some(Some(node)) = parents.next() {
        let weights = work.weights_for_gradient(weights).expect(FITS);
        grads.register::<Cube>(node.id, work.images_gradient(&gradient, &weights).expect(FITS));
    }
    if let Some(Some(node)) = parents.next() {
        grads.register::<Cube>(node.id, work.weights_gradient(&gradient, &images).expect(FITS));
    }
    if let Some(Some(node)) = parents.next() {
        grads.register::<Cube>(node.id, work.bias_gradient(&gradient).expect(FITS));
    }
}

impl Backward<Cube, 2> for Convolution {
    type State = State;

    fn backward(self, ops: Ops<State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        backward(ops, grads);
    }
}

impl Backward<Cube, 3> for Convolution {
    type State = State;

    fn backward(self, ops: Ops<State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        backward(ops, grads);
    }
}
