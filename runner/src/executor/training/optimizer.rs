//! The optimisers. Burn has them too, but keeps their state to itself: here it is averaged among executors and handed from
//! one round to the next.

use burn::backend::{Flex, flex::FlexTensor};
use burn::tensor::{DType, Tensor, TensorData};

use super::settings::Optimizer;

/// Kingma and Ba, "Adam: A Method for Stochastic Optimization" (ICLR 2015), algorithm 1.
const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Numbers that are stepped at once.
const PIECE: usize = 4096;

impl Optimizer {
    /// Tensors of state that it keeps for each parameter.
    pub fn slots(self) -> usize {
        match self {
            Self::Sgd { momentum: 0.0 } => 0,
            Self::Sgd { .. } => 1,
            Self::Adam => 2,
        }
    }

    /// Changes a parameter by its gradient, and the state with it, which begins with zeros. `step` counts from 1.
    pub fn step(
        self,
        parameter: Tensor<1>,
        gradient: Tensor<1>,
        state: &mut [Tensor<1>],
        learning_rate: f64,
        step: u64,
    ) -> Tensor<1> {
        match (self, state) {
            (Self::Sgd { momentum }, [velocity]) => {
                // v ← μ·v + g, w ← w − η·v: PyTorch's form, without dampening.
                if let Some((weights, changed)) =
                    with_momentum([&parameter, &gradient, velocity], momentum, learning_rate)
                {
                    *velocity = changed;
                    return weights;
                }
                *velocity = take(velocity) * momentum + gradient;
                parameter - velocity.clone() * learning_rate
            }
            (Self::Sgd { .. }, _) => parameter - gradient * learning_rate,
            (Self::Adam, [mean, square]) => {
                *mean = take(mean) * BETA_1 + gradient.clone() * (1.0 - BETA_1);
                *square = take(square) * BETA_2 + gradient.square() * (1.0 - BETA_2);
                let step = i32::try_from(step).unwrap_or(i32::MAX);
                let (mean_bias, square_bias) = (1.0 - BETA_1.powi(step), 1.0 - BETA_2.powi(step));
                let spread = (square.clone() / square_bias).sqrt() + EPSILON;
                parameter - (mean.clone() / spread) * (learning_rate / mean_bias)
            }
            // Adam without its two slots: nobody makes one.
            (Self::Adam, _) => parameter,
        }
    }
}

/// Weights and velocity after a step of gradient descent with momentum, in one pass over the memory, where each of Burn's
/// operations is one of its own; `None` where the numbers are not on the processor, or no 32-bit floats.
fn with_momentum(of: [&Tensor<1>; 3], momentum: f64, learning_rate: f64) -> Option<(Tensor<1>, Tensor<1>)> {
    let plain = |tensor: &Tensor<1>| Some(tensor.clone().try_into_primitive::<Flex>().ok()?.to_contiguous());
    let [weights, gradient, velocity] = of.map(plain);
    let (weights, gradient, velocity) = (weights?, gradient?, velocity?);
    if [&weights, &gradient, &velocity].iter().any(|tensor| tensor.dtype() != DType::F32) {
        return None;
    }
    let (weights, gradient): (&[f32], &[f32]) = (weights.as_slice()?, gradient.as_slice()?);
    let (momentum, learning_rate) = (momentum as f32, learning_rate as f32);
    let count = weights.len();
    let (mut changed, mut velocities) = (Vec::with_capacity(count), Vec::with_capacity(count));
    // A piece at a time, so that what the first line has made is still near for the second.
    let pieces = weights.chunks(PIECE).zip(gradient.chunks(PIECE)).zip(velocity.as_slice::<f32>()?.chunks(PIECE));
    for ((weights, gradient), velocity) in pieces {
        let done = velocities.len();
        velocities.extend(velocity.iter().zip(gradient).map(|(velocity, gradient)| velocity * momentum + gradient));
        let both = weights.iter().zip(&velocities[done..]);
        changed.extend(both.map(|(weight, velocity)| weight - velocity * learning_rate));
    }
    let tensor = |numbers: Vec<f32>| {
        let count = numbers.len();
        Tensor::from_primitive::<Flex>(FlexTensor::from_data(TensorData::new(numbers, [count])))
    };
    Some((tensor(changed), tensor(velocities)))
}

/// Takes a tensor out, so that its memory can be used for the next one.
fn take(tensor: &mut Tensor<1>) -> Tensor<1> {
    let empty = Tensor::empty([0], &tensor.device());
    std::mem::replace(tensor, empty)
}

#[cfg(test)]
mod tests {
    use burn::optim::{AdamConfig, SgdConfig};
    use burn::tensor::Device;

    use super::*;

    const GRADIENTS: [[f32; 3]; 4] = [[0.5, -1.0, 0.0], [0.25, -0.5, 1e-3], [-2.0, 0.1, 0.3], [0.0, 0.0, -4.0]];

    fn ours(optimizer: Optimizer) -> Vec<f32> {
        let device = Device::flex();
        let mut weights = Tensor::from_data([1.0, 2.0, 3.0], &device);
        let mut state = vec![Tensor::zeros([3], &device); optimizer.slots()];
        for (step, gradient) in GRADIENTS.into_iter().enumerate() {
            let gradient = Tensor::from_data(gradient, &device);
            weights = optimizer.step(weights, gradient, &mut state, 0.1, step as u64 + 1);
        }
        weights.into_data().try_to_vec().unwrap()
    }

    fn burns<O: burn::optim::Optimizer>(optimizer: &O) -> Vec<f32> {
        let device = Device::flex();
        let mut weights = Tensor::<1>::from_data([1.0, 2.0, 3.0], &device);
        let mut state = None;
        for gradient in GRADIENTS {
            (weights, state) = optimizer.step(0.1, weights, Tensor::from_data(gradient, &device), state);
        }
        weights.into_data().try_to_vec().unwrap()
    }

    fn assert_close(ours: &[f32], theirs: &[f32]) {
        for (a, b) in ours.iter().zip(theirs) {
            assert!((a - b).abs() < 1e-5, "{ours:?} and {theirs:?}");
        }
    }

    #[test]
    fn each_optimiser_takes_the_steps_that_burns_takes() {
        let momentum = burn::optim::momentum::MomentumConfig::new().with_momentum(0.9).with_dampening(0.0);
        assert_close(
            &ours(Optimizer::Sgd { momentum: 0.9 }),
            &burns(&SgdConfig::new().with_momentum(Some(momentum)).build()),
        );
        assert_close(&ours(Optimizer::Sgd { momentum: 0.0 }), &burns(&SgdConfig::new().build()));
        assert_close(&ours(Optimizer::Adam), &burns(&AdamConfig::new().with_epsilon(1e-8).build()));
    }
}
