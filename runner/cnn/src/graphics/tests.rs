//! The kernels on a GPU or the software adapter give the same results as the CPU.

use std::sync::{Mutex, OnceLock, PoisonError};

use burn::module::{Module, Param};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig, PaddingConfig2d};
use burn::tensor::{DType, Device, Distribution, Tensor, TensorData};
use burn_cubecl::Cube;
use foreglow_machine::device::DeviceId;

use super::convolution_kernel::{Affine, Epilogue};
use super::layout::channels_last;
use super::matrix_units;
use super::work::{EpilogueArgs, Work};

use crate::activation::Activation;
use crate::answer::Answer;
use crate::convolution::{convolve_and_normalise, convolve_then};
use crate::device;
use crate::layers::connect;
use crate::learning::AdamStep;
use crate::predictions::Predictions;

/// Relative to the largest number; sums are in a different order.
const TOLERANCE: f32 = 2e-5;

static FOUND: OnceLock<Option<DeviceId>> = OnceLock::new();

/// Returns the place of a GPU, or of the software adapter; `None` on a machine without either.
fn found() -> Option<DeviceId> {
    *FOUND.get_or_init(first)
}

fn first() -> Option<DeviceId> {
    let places: Vec<DeviceId> = device::probe().iter().map(|adapter| adapter.place).collect();
    let found =
        places.iter().find(|place| place.is_gpu()).or(places.iter().find(|place| **place == DeviceId::Software));
    if found.is_none() {
        eprintln!("skipped: this machine has no graphics adapter");
    }
    found.copied()
}

fn adapter() -> Option<Device> {
    // The Vulkan loader of a GPU's driver fails when several threads create instances.
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
    found().map(|place| device::open(place).expect("a listed adapter opens"))
}

fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.3, 1.0), device)
}

fn to<const D: usize>(tensor: &Tensor<D>, device: &Device) -> Tensor<D> {
    Tensor::from_data(tensor.to_data(), device)
}

fn assert_same<const D: usize>(ours: &Tensor<D>, right: &Tensor<D>, what: &str) {
    assert_eq!(ours.dims(), right.dims(), "{what}");
    let numbers = |tensor: &Tensor<D>| tensor.to_data().convert::<f32>().try_into_vec::<f32>().unwrap();
    let (ours, right) = (numbers(ours), numbers(right));
    let largest = right.iter().fold(1e-6, |most: f32, number| most.max(number.abs()));
    for (place, (own, other)) in ours.iter().zip(&right).enumerate() {
        assert!((own - other).abs() <= TOLERANCE * largest, "{what}, number {place}: {own} instead of {other}");
    }
}

/// A convolution of `[n, channels, side, side]`.
#[derive(Clone, Copy, Debug)]
struct Case {
    channels: [usize; 2],
    kernel: usize,
    stride: usize,
    side: usize,
    /// Above, left, below, right.
    padding: [usize; 4],
    groups: usize,
}

const fn case(channels: [usize; 2], kernel: usize, stride: usize, side: usize, padding: usize) -> Case {
    Case { channels, kernel, stride, side, padding: [padding; 4], groups: 1 }
}

/// Channels that are no multiple of four, several tiles in each direction, taps that only read
/// padding, strides that do not divide the image, and padding on two sides.
const CASES: [Case; 9] = [
    case([3, 12], 7, 2, 20, 3),
    case([6, 10], 5, 1, 9, 2),
    case([8, 132], 3, 1, 9, 1),
    case([68, 8], 1, 2, 7, 0),
    case([4, 4], 3, 2, 8, 1),
    case([12, 68], 3, 1, 1, 1),
    Case { padding: [0, 1, 2, 3], ..case([8, 16], 5, 2, 11, 0) },
    Case { groups: 68, ..case([68, 68], 3, 1, 9, 1) },
    Case { groups: 8, padding: [2, 2, 1, 1], ..case([8, 8], 5, 2, 11, 0) },
];
const IMAGES: usize = 3;

impl Case {
    fn conv(self, bias: bool, device: &Device) -> Conv2d {
        let [top, left, bottom, right] = self.padding;
        Conv2dConfig::new(self.channels, [self.kernel; 2])
            .with_stride([self.stride; 2])
            .with_groups(self.groups)
            .with_padding(PaddingConfig2d::Explicit(top, left, bottom, right))
            .with_bias(bias)
            .init(device)
    }

    fn images(self, device: &Device) -> Tensor<4> {
        random([IMAGES, self.channels[0], self.side, self.side], device)
    }

    fn norm(self, device: &Device) -> BatchNorm {
        let channels = [self.channels[1]];
        let mut norm = BatchNormConfig::new(channels[0]).init(device);
        norm.gamma = Param::from_tensor(random(channels, device));
        norm.beta = Param::from_tensor(random(channels, device));
        norm
    }
}

#[test]
fn a_convolution_gives_what_the_cpu_gives() {
    let (cpu, Some(gpu)) = (Device::flex(), adapter()) else { return };
    for case in CASES {
        for (bias, then) in [(false, Activation::None), (true, Activation::Relu6)] {
            let (conv, images) = (case.conv(bias, &cpu), case.images(&cpu));
            let right = convolve_then(&conv, images.clone(), None, then);
            let there = conv.fork(&gpu);
            let ours = super::convolve(&there, &to(&images, &gpu), None, then).expect("the kernels take this shape");
            assert_same(&ours, &right, &format!("{case:?}"));
        }
    }
}

#[test]
fn a_normalised_convolution_adds_what_is_beside_it() {
    let (cpu, Some(gpu)) = (Device::flex(), adapter()) else { return };
    let case = CASES[2];
    let (conv, norm, images) = (case.conv(false, &cpu), case.norm(&cpu), case.images(&cpu));
    let residual: Tensor<4> = random([IMAGES, case.channels[1], case.side, case.side], &cpu);
    let right = convolve_and_normalise(&conv, &norm, images.clone(), Some(residual.clone()), Activation::Relu);
    let (conv, norm, images, residual) = (conv.fork(&gpu), norm.fork(&gpu), to(&images, &gpu), to(&residual, &gpu));
    let ours = super::convolve_and_normalise(&conv, &norm, &images, Some(&residual), Activation::Relu);
    assert_same(&ours.expect("the kernels take this shape"), &right, "with a residual it");
}

#[test]
fn matrix_units_give_what_the_cpu_gives() {
    let (cpu, Some(gpu)) = (Device::flex(), adapter()) else { return };
    if FOUND.get().copied().flatten().and_then(device::matrices).is_none() {
        eprintln!("skipped: this machine's graphics adapter has no matrix units");
        return;
    }
    let half = |tensor: Tensor<4>| tensor.cast(DType::F16);
    for case in CASES.into_iter().filter(|case| case.groups == 1) {
        let (mut conv, norm, images) = (case.conv(false, &cpu), case.norm(&cpu), case.images(&cpu));
        let outputs = case.channels[1];
        let residual = convolve_then(&conv, images.clone(), None, Activation::None);
        let residual = outputs.is_multiple_of(4).then(|| residual.clone() * 0.5);
        let right = convolve_and_normalise(&conv, &norm, images.clone(), residual.clone(), Activation::Relu);
        conv.weight = Param::from_tensor(half(to(&conv.weight.val(), &gpu)));
        let numbers = [norm.gamma.val(), norm.beta.val(), norm.running_mean.value(), norm.running_var.value()];
        let numbers = numbers.map(|numbers| to(&numbers, &gpu).cast(DType::F16).try_into_primitive::<Cube>().unwrap());
        let extras = EpilogueArgs {
            numbers: numbers.into(),
            residual: residual
                .as_ref()
                .map(|residual| channels_last(half(to(residual, &gpu)).try_into_primitive::<Cube>().unwrap()).unwrap()),
            epsilon: norm.epsilon as f32,
            epilogue: Epilogue { affine: Affine::Norm, has_residual: residual.is_some(), then: Activation::Relu },
        };
        let work = Work::of(&conv, images.dims()).unwrap();
        let images = half(to(&images, &gpu)).try_into_primitive::<Cube>().unwrap();
        let weights = conv.weight.val().try_into_primitive::<Cube>().unwrap();
        let ours = matrix_units::convolve(work, &images, &weights, &extras).expect("the units take this shape");
        let ours = Tensor::<4>::from_primitive::<Cube>(ours).cast(DType::F32);
        let (ours, right) = (to(&ours, &cpu), to(&right, &cpu));
        let largest = right.clone().abs().max().into_scalar::<f32>();
        let error = (ours - right).abs().max().into_scalar::<f32>();
        assert!(error <= 4e-3 * largest, "{case:?}: {error} of {largest}");
    }
}

/// Gradients of the inputs, the weights and the bias on a device.
fn connected(on: &Device, linear: &Linear, inputs: &Tensor<2>, pull: &Tensor<2>) -> Vec<Tensor<1>> {
    let device = on.clone().autodiff();
    let mut linear = linear.clone();
    linear.weight = Param::from_tensor(to(&linear.weight.val(), &device).require_grad());
    linear.bias = linear.bias.map(|bias| Param::from_tensor(to(&bias.val(), &device).require_grad()));
    let inputs = to(inputs, &device).require_grad();
    let output = connect(&linear, inputs.clone());
    let mut gradients = (output.clone() * to(pull, &device)).sum().backward();
    let flat = |tensor: Tensor<2>| {
        let count = tensor.shape().num_elements();
        tensor.reshape([count])
    };
    vec![
        flat(output.without_autodiff()),
        flat(inputs.grad_remove(&mut gradients).unwrap()),
        flat(linear.weight.val().grad_remove(&mut gradients).unwrap()),
        linear.bias.unwrap().val().grad_remove(&mut gradients).unwrap(),
    ]
}

#[test]
fn a_fully_connected_layer_learns_as_on_the_cpu() {
    let (cpu, Some(gpu)) = (Device::flex(), adapter()) else { return };
    for (n, inputs, outputs) in [(5, 400, 120), (300, 84, 10), (1, 7, 3)] {
        let linear = LinearConfig::new(inputs, outputs).init(&cpu);
        let (x, pull): (Tensor<2>, _) = (random([n, inputs], &cpu), random([n, outputs], &cpu));
        let plain = super::connect(&linear.clone().fork(&gpu), &to(&x, &gpu)).expect("the kernels take this shape");
        assert_same(&plain, &linear.forward(x.clone()), "without autodiff");
        let (ours, right) = (connected(&gpu, &linear, &x, &pull), connected(&cpu, &linear, &x, &pull));
        for (place, (ours, right)) in ours.iter().zip(&right).enumerate() {
            assert_same(ours, right, &format!("{n} x {inputs} to {outputs}, result {place}"));
        }
    }
}

/// Gradients of the weights and the bias of a convolution on a device.
fn biased(on: &Device, conv: &Conv2d, images: &Tensor<4>, pull: &Tensor<4>) -> Vec<Tensor<1>> {
    let device = on.clone().autodiff();
    let mut conv = conv.clone();
    conv.weight = Param::from_tensor(to(&conv.weight.val(), &device).require_grad());
    conv.bias = conv.bias.map(|bias| Param::from_tensor(to(&bias.val(), &device).require_grad()));
    let output = convolve_then(&conv, to(images, &device), None, Activation::Relu);
    let mut gradients = (output * to(pull, &device)).sum().backward();
    let weights = conv.weight.val().grad_remove(&mut gradients).unwrap();
    let count = weights.shape().num_elements();
    vec![weights.reshape([count]), conv.bias.unwrap().val().grad_remove(&mut gradients).unwrap()]
}

#[test]
fn a_bias_learns_as_on_the_cpu() {
    let (cpu, Some(gpu)) = (Device::flex(), adapter()) else { return };
    for case in CASES {
        let (conv, images) = (case.conv(true, &cpu), case.images(&cpu));
        let pull = random(convolve_then(&conv, images.clone(), None, Activation::None).dims(), &cpu);
        let (ours, right) = (biased(&gpu, &conv, &images, &pull), biased(&cpu, &conv, &images, &pull));
        for (place, (ours, right)) in ours.iter().zip(&right).enumerate() {
            assert_same(ours, right, &format!("{case:?}, result {place}"));
        }
    }
}

#[test]
fn bytes_become_the_numbers_of_tensor_operations() {
    let (cpu, Some(gpu)) = (Device::flex(), adapter()) else { return };
    for dims in [[3, 3, 5, 7], [2, 1, 4, 4]] {
        let bytes: Vec<u8> = (0..dims.iter().product::<usize>()).map(|place| (place * 37 % 256) as u8).collect();
        let per_channel = |from: f32| -> Tensor<4> { (random([1, dims[1], 1, 1], &cpu).abs() + from) * 0.01 };
        let (factors, offsets) = (per_channel(1.0), per_channel(0.5));
        let numbers: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte)).collect();
        let right = Tensor::<4>::from_data(TensorData::new(numbers, dims), &cpu) * factors.clone() - offsets.clone();
        let ours = super::normalise_bytes(bytes, dims, &to(&factors, &gpu), &to(&offsets, &gpu)).unwrap();
        assert_same(&ours, &right, &format!("{dims:?}"));
    }
    assert!(super::normalise_bytes(vec![1; 16], [1, 1, 4, 4], &random([1; 4], &cpu), &random([1; 4], &cpu)).is_err());
}

#[test]
fn an_answer_is_not_disturbed_by_later_work_or_by_one_that_nobody_waits_for() {
    let Some(gpu) = adapter() else { return };
    let scores: Tensor<2> = random([50, 7], &gpu);
    let right: Vec<i64> = scores.clone().argmax(1).into_data().iter().collect();
    let answer = Answer::of(scores.clone().argmax(1), Some(Tensor::from_data([2.5f32], &gpu)));
    let after = (scores * -1.0).argmax(1);
    // A dropped copy must not use the buffer of the next one.
    drop(Answer::of(after.clone(), None));
    assert_eq!(answer.wait().unwrap(), Predictions { classes: right, loss: Some(2.5) });
    assert_eq!(Answer::of(after, None).wait().unwrap().loss, None);
}

/// Output, running statistics, and gradients of the images, `residual`, the weights, γ and β.
fn learned(case: Case, on: &Device, from: &(Conv2d, BatchNorm, Tensor<4>, Tensor<4>, Tensor<4>)) -> Vec<Tensor<1>> {
    let device = on.clone().autodiff();
    let (conv, norm, images, residual, pull) = from;
    let [gamma, beta] = [&norm.gamma, &norm.beta].map(|numbers| to(&numbers.val(), &device).require_grad());
    // A copy would share its running statistics.
    let mut norm = BatchNormConfig::new(case.channels[1]).init(&device);
    (norm.gamma, norm.beta) = (Param::from_tensor(gamma), Param::from_tensor(beta));
    let mut conv = conv.clone();
    conv.weight = Param::from_tensor(to(&conv.weight.val(), &device).require_grad());
    let [images, residual] = [images, residual].map(|tensor| to(tensor, &device).require_grad());
    let given = (case.stride == 1 && case.groups == 1).then(|| residual.clone());
    let output = convolve_and_normalise(&conv, &norm, images.clone(), given, Activation::Relu);
    let mut gradients = (output.clone() * to(pull, &device)).sum().backward();
    let flat = |tensor: Tensor<4>| {
        let count = tensor.shape().num_elements();
        tensor.reshape([count])
    };
    let running = [norm.running_mean.value_sync(), norm.running_var.value_sync()];
    let mut found = vec![flat(output.without_autodiff())];
    found.extend(running.map(Tensor::without_autodiff));
    found.push(flat(images.grad_remove(&mut gradients).unwrap()));
    found.extend(residual.grad_remove(&mut gradients).map(flat));
    found.push(flat(conv.weight.val().grad_remove(&mut gradients).unwrap()));
    found.push(norm.gamma.val().grad_remove(&mut gradients).unwrap());
    found.push(norm.beta.val().grad_remove(&mut gradients).unwrap());
    found
}

#[test]
fn a_convolution_with_batch_normalisation_learns_as_on_the_cpu() {
    let (cpu, Some(gpu)) = (Device::flex(), adapter()) else { return };
    for case in CASES {
        let (conv, norm, images) = (case.conv(false, &cpu), case.norm(&cpu), case.images(&cpu));
        let output = convolve_then(&conv, images.clone(), None, Activation::None).dims();
        let (residual, pull) = (random(output, &cpu), random(output, &cpu));
        let from = (conv, norm, images, residual, pull);
        let (ours, right) = (learned(case, &gpu, &from), learned(case, &cpu, &from));
        assert_eq!(ours.len(), right.len(), "{case:?}");
        for (place, (ours, right)) in ours.iter().zip(&right).enumerate() {
            assert_same(ours, right, &format!("{case:?}, result {place}"));
        }
    }
}

#[test]
fn what_the_kernels_do_not_take_is_left_to_burn() {
    let Some(gpu) = adapter() else { return };
    let images: Tensor<4> = random([1, 8, 4, 4], &gpu);
    let plain = Conv2dConfig::new([8, 8], [3, 3]);
    for config in
        [plain.clone().with_groups(2), plain.with_dilation([2, 2]).with_padding(PaddingConfig2d::Explicit(2, 2, 2, 2))]
    {
        let conv = config.init(&gpu);
        assert!(super::convolve(&conv, &images, None, Activation::None).is_none(), "{conv}");
    }
    let cpu: Tensor<4> = random([1, 8, 4, 4], &Device::flex());
    let conv = Conv2dConfig::new([8, 8], [3, 3]).init(&Device::flex());
    assert!(super::convolve(&conv, &cpu, None, Activation::None).is_none());
}

#[test]
fn an_optimiser_takes_the_steps_of_tensor_operations() {
    let Some(gpu) = adapter() else { return };
    let [weights, gradient, first] = [(); 3].map(|()| random([70_001], &gpu));
    let second = random([70_001], &gpu).abs();
    let [ours, velocity] = super::sgd_step(&weights, &gradient, &first, 0.9, 0.01).expect("32-bit floats on a device");
    let right = first.clone() * 0.9 + gradient.clone();
    assert_same(&velocity, &right, "velocity");
    assert_same(&ours, &(weights.clone() - right * 0.01), "weights");
    let step = AdamStep { rate: 0.1, betas: [0.9, 0.999], biases: [0.1, 0.001], epsilon: 1e-8 };
    let [ours, mean, square] = super::adam_step(&weights, &gradient, [&first, &second], step).unwrap();
    let right_mean = first * 0.9 + gradient.clone() * 0.1;
    let right_square = second * 0.999 + gradient.square() * 0.001;
    assert_same(&mean, &right_mean, "mean");
    assert_same(&square, &right_square, "square");
    let right = weights - right_mean / ((right_square / 0.001).sqrt() + 1e-8) * (0.1 / 0.1);
    assert_same(&ours, &right, "weights of Adam");
}
