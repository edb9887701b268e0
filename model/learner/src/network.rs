//! Trained multi-layer perceptrons.

use serde::{Deserialize, Serialize};

use crate::Activation;

/// Beyond this argument the sigmoid is 0 or 1 to thirteen digits.
pub const SATURATED: f64 = 30.0;
/// Number of squarings in e⁻ᶻ = (e^(−z/32))³², with e^y ≈ (120 + 60y + 12y² + y³) / (120 − 60y +
/// 12y² − y³), the [3/3] Padé approximant. The error of the sigmoid is at most 10⁻¹¹. Only the four
/// basic operations are used, which give the same result on every machine.
pub const SQUARINGS: i32 = 5;

/// One hidden layer and a linear output: Σₕ vₕ · φ(Σⱼ wⱼₕ xⱼ + bₕ) + c.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Activation of the hidden units.
    pub activation: Activation,
    /// Number of features.
    pub features: usize,
    /// w by feature, then b, v and c, in the layout of the training batch: (features + 2) · units +
    /// 1 numbers.
    pub parameters: Vec<f64>,
}

impl Network {
    /// Returns the output at `features`.
    pub fn at(&self, features: &[f64]) -> f64 {
        let (layers, output) = self.parameters.split_at(self.parameters.len() - 1);
        let units = layers.len() / (self.features + 2);
        let unit = |unit: usize| {
            let weighted: f64 = features.iter().enumerate().map(|(j, x)| layers[j * units + unit] * x).sum();
            let hidden = self.activation.at(weighted + layers[self.features * units + unit]);
            layers[(self.features + 1) * units + unit] * hidden
        };
        (0..units).map(unit).sum::<f64>() + output[0]
    }
}

impl Activation {
    /// Evaluates the activation exactly as the training batch does.
    fn at(self, z: f64) -> f64 {
        match self {
            Self::Sigmoid => {
                let y = z.clamp(-SATURATED, SATURATED) * (-1.0 / f64::from(1 << SQUARINGS));
                let (even, odd) = (y * y * 12.0 + 120.0, y * (y * y + 60.0));
                let power = (0..SQUARINGS).fold((even + odd) / (even - odd), |power, _| power * power);
                1.0 / (power + 1.0)
            }
            Self::Relu => z.max(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the platform's exponential is what this one is compared with")]
    fn the_rational_sigmoid_equals_the_sigmoid() {
        for step in -4000..=4000 {
            let z = f64::from(step) / 100.0;
            let expected = 1.0 / (1.0 + (-z).exp());
            assert!((Activation::Sigmoid.at(z) - expected).abs() < 1e-10, "{z}");
        }
    }
}
