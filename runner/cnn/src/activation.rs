//! Activations that a convolution or a batch normalisation applies to its output.

use burn::tensor::{Tensor, activation};

/// Activation after a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// Identity.
    None,
    /// max(x, 0).
    Relu,
    /// min(max(x, 0), 6).
    Relu6,
}

impl Activation {
    /// Returns the lower and upper bound of the result.
    pub fn range(self) -> [f32; 2] {
        match self {
            Self::None => [f32::NEG_INFINITY, f32::INFINITY],
            Self::Relu => [0.0, f32::INFINITY],
            Self::Relu6 => [0.0, 6.0],
        }
    }

    /// Applies the activation to a tensor.
    pub fn forward(self, x: Tensor<4>) -> Tensor<4> {
        match self {
            Self::None => x,
            Self::Relu => activation::relu(x),
            Self::Relu6 => activation::relu6(x),
        }
    }
}

/// Clamps a number to the range; NaN stays NaN.
#[inline(always)]
pub fn limit(number: f32, [least, most]: [f32; 2]) -> f32 {
    let number = if number < least { least } else { number };
    if number > most { most } else { number }
}
