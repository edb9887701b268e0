//! Comparison with Burn's own convolution, which uses a different algorithm.

use burn::module::{Module, Param};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{BatchNormConfig, PaddingConfig2d};
use burn::tensor::{Device, Distribution, Tensor};

use super::*;

/// Images, side, channels, kernel, stride, padding, groups.
type Case = (usize, usize, [usize; 2], usize, usize, usize, usize);

const CASES: &[Case] = &[
    (3, 9, [4, 6], 3, 1, 1, 1),
    (5, 8, [3, 7], 3, 2, 1, 1),
    (2, 33, [3, 8], 7, 2, 3, 1),
    (6, 5, [8, 4], 1, 1, 0, 1),
    (6, 6, [8, 4], 1, 2, 0, 1),
    (9, 1, [5, 6], 3, 1, 1, 1),
    (7, 12, [40, 9], 3, 2, 1, 1),
    (70, 3, [20, 30], 1, 1, 0, 1),
    (4, 2, [5, 6], 3, 2, 1, 1),
    (2, 40, [64, 5], 3, 1, 1, 1),
    (1, 600, [1, 2], 3, 1, 1, 1),
    (3, 9, [6, 6], 3, 1, 1, 6),
    (4, 8, [6, 6], 3, 2, 1, 6),
    (2, 1, [6, 6], 3, 1, 1, 6),
    (2, 27, [2, 2], 5, 1, 0, 2),
];

fn case(number: usize, device: &Device) -> (Conv2d, Tensor<4>) {
    let (images, side, channels, kernel, stride, padding, groups) = CASES[number];
    let config = Conv2dConfig::new(channels, [kernel; 2]).with_stride([stride; 2]).with_groups(groups);
    let config = config.with_padding(PaddingConfig2d::Explicit(padding, padding, padding, padding));
    let conv = config.with_bias(number.is_multiple_of(2)).init(device);
    (conv, Tensor::random([images, channels[0], side, side], Distribution::Normal(0.0, 1.0), device))
}

/// Compares to within 1e-4 of the largest number: a gradient may sum hundreds of thousands of
/// products.
fn assert_close(ours: Tensor<4>, burns: Tensor<4>, what: &str) {
    assert_eq!(ours.dims(), burns.dims(), "{what}");
    let largest: f32 = burns.clone().abs().max().into_scalar();
    let off: f32 = (ours - burns).abs().max().into_scalar();
    assert!(off <= 1e-4 * largest.max(1.0), "{what}: {off} off, and the largest is {largest}");
}

#[test]
fn the_convolution_equals_burns() {
    let device = Device::flex();
    for (number, what) in CASES.iter().enumerate() {
        let (conv, images) = case(number, &device);
        assert!(Work::of(&conv, &images).is_some(), "{what:?}");
        assert_close(convolve(&conv, images.clone()), conv.forward(images), &format!("{what:?}"));
    }
}

#[test]
fn the_gradients_equal_burns() {
    let device = Device::flex().autodiff();
    for (number, what) in CASES.iter().enumerate() {
        let (conv, images) = case(number, &device);
        let images = images.require_grad();
        let gradients = |output: Tensor<4>| {
            let weights = Tensor::<4>::from_data(
                Tensor::<4>::random(output.dims(), Distribution::Normal(0.0, 1.0), &Device::flex()).into_data(),
                &device,
            );
            (output, weights)
        };
        let (ours, factors) = gradients(convolve(&conv, images.clone()));
        let ours = (ours * factors.clone()).sum().backward();
        let burns = (conv.forward(images.clone()) * factors).sum().backward();
        let what = format!("{what:?}");
        assert_close(images.grad(&ours).unwrap(), images.grad(&burns).unwrap(), &what);
        let weights = conv.weight.val();
        assert_close(weights.grad(&ours).unwrap(), weights.grad(&burns).unwrap(), &what);
        if let Some(bias) = conv.bias.as_ref().map(|bias| bias.val()) {
            let shape = [1, 1, 1, bias.dims()[0]];
            let of = |all| bias.grad(all).unwrap().reshape(shape);
            assert_close(of(&ours), of(&burns), &what);
        }
    }
}

#[test]
fn convolution_with_normalisation_equals_burns() {
    let device = Device::flex();
    for number in (0..CASES.len()).filter(|number| number % 2 == 1) {
        let (conv, images) = case(number, &device);
        let channels = conv.weight.dims()[0];
        let random = || Tensor::<1>::random([channels], Distribution::Uniform(0.5, 2.0), &device);
        let mut norm = BatchNormConfig::new(channels).with_epsilon(1e-3).init(&device);
        (norm.gamma, norm.beta) = (Param::from_tensor(random()), Param::from_tensor(random()));
        norm.running_mean.update(random());
        norm.running_var.update(random());
        let norm = norm.valid();
        let burns = norm.forward(conv.forward(images.clone()));
        for then in [Activation::None, Activation::Relu, Activation::Relu6] {
            let what = format!("{:?}, then {then:?}", CASES[number]);
            let ours = convolve_and_normalise(&conv, &norm, images.clone(), None, then);
            assert_close(ours, then.forward(burns.clone()), &what);
            let residual = Tensor::random(burns.dims(), Distribution::Normal(0.0, 1.0), &device);
            let ours = convolve_and_normalise(&conv, &norm, images.clone(), Some(residual.clone()), then);
            assert_close(ours, then.forward(burns.clone() + residual), &format!("{what}, with a residual"));
        }
    }
}
