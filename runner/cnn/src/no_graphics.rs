//! In a build without GPU support no tensor is on a graphics device.

use burn::nn::{BatchNorm, Linear, conv::Conv2d};
use burn::tensor::{ExecutionError, Int, Tensor};

use crate::activation::Activation;
use crate::learning::AdamStep;
use crate::predictions::Predictions;

/// Returns `None`.
pub fn convolve(_: &Conv2d, _: &Tensor<4>, _: Option<&Tensor<4>>, _: Activation) -> Option<Tensor<4>> {
    None
}

/// Returns `None`.
pub fn connect(_: &Linear, _: &Tensor<2>) -> Option<Tensor<2>> {
    None
}

/// Returns `None`.
pub fn convolve_and_normalise(
    _: &Conv2d,
    _: &BatchNorm,
    _: &Tensor<4>,
    _: Option<&Tensor<4>>,
    _: Activation,
) -> Option<Tensor<4>> {
    None
}

/// Returns `None`.
pub fn normalise(_: &BatchNorm, _: &Tensor<4>, _: Option<&Tensor<4>>, _: Activation) -> Option<Tensor<4>> {
    None
}

/// Returns the bytes unchanged.
pub fn normalise_bytes(bytes: Vec<u8>, _: [usize; 4], _: &Tensor<4>, _: &Tensor<4>) -> Result<Tensor<4>, Vec<u8>> {
    Err(bytes)
}

/// There are no copies.
pub enum Copy {}

impl Copy {
    /// Cannot be called.
    pub fn wait(self) -> Result<Predictions, ExecutionError> {
        match self {}
    }
}

/// Returns `None`.
pub fn copy(_: &Tensor<2, Int>, _: Option<&Tensor<1>>) -> Option<Copy> {
    None
}

/// Returns `None`.
pub fn sgd_step(_: &Tensor<1>, _: &Tensor<1>, _: &Tensor<1>, _: f64, _: f64) -> Option<[Tensor<1>; 2]> {
    None
}

/// Returns `None`.
pub fn adam_step(_: &Tensor<1>, _: &Tensor<1>, _: [&Tensor<1>; 2], _: AdamStep) -> Option<[Tensor<1>; 3]> {
    None
}
