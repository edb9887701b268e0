//! A batch of perceptrons of one shape as one tensor program on Burn.
//!
//! Tensors are networks × units × rows, in double precision on Burn's CPU backend. The program only
//! adds, multiplies, divides, compares and sums along one dimension at a time, in a fixed order. It
//! uses no matrix product, whose kernels differ between machines, and no exponential of the
//! platform, so that wasm and native results are identical.

use burn::tensor::activation::relu;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};

use crate::Activation;
use crate::network::{SATURATED, SQUARINGS};
use crate::perceptron::target::Targets;

/// Weight of the L2 penalty, scikit-learn's default.
const ALPHA: f64 = 1e-4;

/// Training data of networks of one shape.
#[derive(Clone)]
pub(super) struct Batch {
    activation: Activation,
    units: usize,
    /// Each feature at the distinct rows: 1 × 1 × rows.
    features: Vec<Tensor<3>>,
    /// Weight of each distinct row in a network's loss: networks × 1 × rows.
    shares: Tensor<3>,
    /// Mean target of each distinct row: networks × 1 × rows.
    targets: Tensor<3>,
    /// Penalty weight of each parameter: networks × parameters × 1.
    penalties: Tensor<3>,
}

/// Loss of each network and its gradient, networks × parameters × 1.
pub(super) struct Slope {
    pub(super) losses: Vec<f64>,
    pub(super) gradient: Tensor<3>,
}

/// Creates a tensor of double precision.
pub(super) fn tensor(values: Vec<f64>, shape: [usize; 3]) -> Tensor<3> {
    Tensor::from_data(TensorData::new(values, shape), (&Device::flex(), DType::F64))
}

/// Returns the numbers of a tensor.
pub(super) fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().try_to_vec().expect("tensors here are of double precision")
}

impl Batch {
    /// Creates one network per entry of `folds`, which are indices into the targets.
    pub(super) fn new(targets: &Targets, folds: &[usize], activation: Activation, units: usize) -> Self {
        let (networks, rows, columns) = (folds.len(), targets.points.len(), targets.points[0].len());
        let column = |j: usize| tensor(targets.points.iter().map(|point| point[j]).collect(), [1, 1, rows]);
        let by_fold = |list: &[Vec<f64>]| {
            tensor(folds.iter().flat_map(|fold| list[*fold].clone()).collect(), [networks, 1, rows])
        };
        let penalty = |fold: &usize| {
            let weight = ALPHA / targets.rows[*fold];
            let intercepts = std::iter::repeat_n(0.0, units);
            let layer = std::iter::repeat_n(weight, units * columns).chain(intercepts);
            layer.chain(std::iter::repeat_n(weight, units)).chain([0.0]).collect::<Vec<f64>>()
        };
        let penalties = folds.iter().flat_map(penalty).collect();
        Self {
            activation,
            units,
            features: (0..columns).map(column).collect(),
            shares: by_fold(&targets.shares),
            targets: by_fold(&targets.means),
            penalties: tensor(penalties, [networks, (columns + 2) * units + 1, 1]),
        }
    }

    /// Selects networks by index.
    pub(super) fn select(&self, networks: &[usize]) -> Self {
        Self {
            activation: self.activation,
            units: self.units,
            features: self.features.clone(),
            shares: pick(&self.shares, networks),
            targets: pick(&self.targets, networks),
            penalties: pick(&self.penalties, networks),
        }
    }

    /// Returns loss and gradient: half the mean squared error plus half the penalty, like
    /// scikit-learn. Rows with equal features are merged with their mean target, which changes the
    /// loss by a constant only.
    pub(super) fn slope(&self, parameters: &Tensor<3>) -> Slope {
        let (hidden, output) = self.forward(parameters);
        let miss = output - self.targets.clone();
        let pull = miss.clone() * self.shares.clone();
        let penalty = self.penalties.clone() * parameters.clone();
        let losses = ((miss * pull.clone()).sum_dim(2) + (penalty.clone() * parameters.clone()).sum_dim(1)) * 0.5;
        let out = (hidden.clone() * pull.clone()).sum_dim(2);
        let back = self.back(hidden, self.part(parameters, self.features.len() + 1) * pull.clone());
        let mut parts: Vec<Tensor<3>> =
            self.features.iter().map(|feature| (back.clone() * feature.clone()).sum_dim(2)).collect();
        parts.extend([back.sum_dim(2), out, pull.sum_dim(2)]);
        Slope { losses: numbers(losses), gradient: Tensor::cat(parts, 1) + penalty }
    }

    /// Returns the outputs of each network at the distinct rows.
    pub(super) fn outputs(&self, parameters: &Tensor<3>) -> Vec<Vec<f64>> {
        let (_, output) = self.forward(parameters);
        let rows = output.dims()[2];
        numbers(output).chunks(rows).map(<[f64]>::to_vec).collect()
    }

    /// Returns the hidden layer and the output.
    fn forward(&self, parameters: &Tensor<3>) -> (Tensor<3>, Tensor<3>) {
        let weighted = self.features.iter().enumerate().map(|(j, feature)| self.part(parameters, j) * feature.clone());
        let intercept = self.part(parameters, self.features.len());
        let sum = weighted.reduce(|sum, term| sum + term).expect("a table has a feature");
        let hidden = match self.activation {
            Activation::Sigmoid => sigmoid(sum + intercept),
            Activation::Relu => relu(sum + intercept),
        };
        let last = self.units * (self.features.len() + 2);
        let output = (hidden.clone() * self.part(parameters, self.features.len() + 1)).sum_dim(1)
            + parameters.clone().slice_dim(1, last..last + 1);
        (hidden, output)
    }

    /// Multiplies the gradient at the hidden layer by the derivative of the activation.
    fn back(&self, hidden: Tensor<3>, pulled: Tensor<3>) -> Tensor<3> {
        match self.activation {
            Activation::Sigmoid => (-hidden.clone() + 1.0) * hidden * pulled,
            Activation::Relu => hidden.sign() * pulled,
        }
    }

    /// Returns one block of parameters: networks × units × 1.
    fn part(&self, parameters: &Tensor<3>, index: usize) -> Tensor<3> {
        parameters.clone().slice_dim(1, index * self.units..(index + 1) * self.units)
    }
}

/// Selects networks of a tensor by index.
pub(super) fn pick(tensor: &Tensor<3>, networks: &[usize]) -> Tensor<3> {
    let indices: Vec<i64> = networks.iter().map(|network| *network as i64).collect();
    let indices = Tensor::<1, Int>::from_data(TensorData::new(indices, [networks.len()]), &tensor.device());
    tensor.clone().select(0, indices)
}

/// Computes 1 / (1 + e⁻ᶻ); see [`SQUARINGS`].
fn sigmoid(z: Tensor<3>) -> Tensor<3> {
    let y = z.clamp(-SATURATED, SATURATED) * (-1.0 / f64::from(1 << SQUARINGS));
    let square = y.clone() * y.clone();
    let even = square.clone() * 12.0 + 120.0;
    let odd = y * (square + 60.0);
    let mut power = (even.clone() + odd.clone()) / (even - odd);
    for _ in 0..SQUARINGS {
        power = power.clone() * power;
    }
    (power + 1.0).recip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;

    #[test]
    fn the_gradient_equals_finite_differences() {
        let features = vec![vec![0.5, 1.0], vec![0.25, 1.0], vec![0.25, 1.0], vec![1.0, 0.1]];
        let table = Table { features, target: vec![1.0, 0.6, 0.5, 0.2] };
        let targets = Targets::of(&table);
        let units = 3;
        let size = 4 * units + 1;
        // The start is far enough from the kink of the ReLU for finite differences.
        let start: Vec<f64> = (0..2 * size).map(|i| 0.35 - 0.13 * (i % 7) as f64 + 0.01 * i as f64).collect();
        for activation in [Activation::Sigmoid, Activation::Relu] {
            let batch = Batch::new(&targets, &[1, 4], activation, units);
            let at = |parameters: &[f64]| batch.slope(&tensor(parameters.to_vec(), [2, size, 1]));
            let gradient = numbers(at(&start).gradient);
            for index in 0..2 * size {
                let moved = |step: f64| {
                    let mut parameters = start.clone();
                    parameters[index] += step;
                    at(&parameters).losses[index / size]
                };
                let found = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!(
                    (gradient[index] - found).abs() < 1e-6,
                    "{activation:?} {index}: {} and {found}",
                    gradient[index]
                );
            }
        }
    }
}
