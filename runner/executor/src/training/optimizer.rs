//! Optimisers. Burn's optimisers keep their state private. Here it must be averaged among executors
//! and passed between rounds.

use burn::tensor::Tensor;

use foreglow_cnn::{AdamStep, adam_step, sgd_step};
use foreglow_protocol::Optimizer;

/// Constants of Kingma and Ba, "Adam: A Method for Stochastic Optimization" (ICLR 2015), algorithm
/// 1.
const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Learning rate and number of a step.
#[derive(Clone, Copy, Debug)]
pub struct OptimizerStep {
    /// The learning rate.
    pub learning_rate: f64,
    /// Number of the step, from 1.
    pub step: u64,
}

impl OptimizerStep {
    /// Returns the bias corrections of Adam's two moments, which start at zero.
    fn biases(self) -> [f64; 2] {
        let step = i32::try_from(self.step).unwrap_or(i32::MAX);
        [BETA_1, BETA_2].map(|beta| 1.0 - beta.powi(step))
    }
}

/// Update rule of an optimiser.
pub trait Update {
    /// Updates a parameter by its gradient, and its state, which starts at zero, on any device.
    fn step(self, parameter: Tensor<1>, gradient: Tensor<1>, state: &mut [Tensor<1>], at: OptimizerStep) -> Tensor<1>;

    /// Like [`Self::step`], on slices in a single pass instead of one pass per tensor operation.
    fn step_numbers(self, weights: &mut [f32], gradient: &[f32], state: &mut [&mut [f32]], at: OptimizerStep);
}

impl Update for Optimizer {
    fn step(self, parameter: Tensor<1>, gradient: Tensor<1>, state: &mut [Tensor<1>], at: OptimizerStep) -> Tensor<1> {
        let rate = at.learning_rate;
        match (self, state) {
            // v ← μ·v + g, w ← w − η·v: PyTorch's form, without dampening.
            (Self::Sgd { momentum }, [velocity]) => {
                if let Some([weights, new]) = sgd_step(&parameter, &gradient, velocity, momentum, rate) {
                    *velocity = new;
                    return weights;
                }
                *velocity = take(velocity) * momentum + gradient;
                parameter - velocity.clone() * rate
            }
            (Self::Sgd { .. }, _) => parameter - gradient * rate,
            (Self::Adam, [mean, square]) => {
                let step = AdamStep { rate, betas: [BETA_1, BETA_2], biases: at.biases(), epsilon: EPSILON };
                if let Some([weights, new_mean, new_square]) = adam_step(&parameter, &gradient, [mean, square], step) {
                    (*mean, *square) = (new_mean, new_square);
                    return weights;
                }
                *mean = take(mean) * BETA_1 + gradient.clone() * (1.0 - BETA_1);
                *square = take(square) * BETA_2 + gradient.square() * (1.0 - BETA_2);
                let [mean_bias, square_bias] = at.biases();
                let spread = (square.clone() / square_bias).sqrt() + EPSILON;
                parameter - (mean.clone() / spread) * (rate / mean_bias)
            }
            // Adam always has its two state tensors, so this case does not occur.
            (Self::Adam, _) => parameter,
        }
    }

    fn step_numbers(self, weights: &mut [f32], gradient: &[f32], state: &mut [&mut [f32]], at: OptimizerStep) {
        let rate = at.learning_rate as f32;
        let both = weights.iter_mut().zip(gradient);
        match (self, state) {
            (Self::Sgd { momentum }, [velocity]) => {
                let momentum = momentum as f32;
                for ((weight, gradient), velocity) in both.zip(velocity.iter_mut()) {
                    *velocity = *velocity * momentum + gradient;
                    *weight -= *velocity * rate;
                }
            }
            (Self::Sgd { .. }, _) => both.for_each(|(weight, gradient)| *weight -= gradient * rate),
            (Self::Adam, [mean, square]) => {
                let [keep_mean, keep_square] = [BETA_1, BETA_2].map(|beta| beta as f32);
                let [add_mean, add_square] = [BETA_1, BETA_2].map(|beta| (1.0 - beta) as f32);
                let [mean_bias, square_bias] = at.biases();
                let (rate, square_bias, epsilon) =
                    ((at.learning_rate / mean_bias) as f32, square_bias as f32, EPSILON as f32);
                for (((weight, gradient), mean), square) in both.zip(mean.iter_mut()).zip(square.iter_mut()) {
                    *mean = *mean * keep_mean + gradient * add_mean;
                    *square = *square * keep_square + gradient * gradient * add_square;
                    *weight -= *mean / ((*square / square_bias).sqrt() + epsilon) * rate;
                }
            }
            (Self::Adam, _) => {}
        }
    }
}

/// Takes a tensor and leaves an empty one, so that its memory can be reused.
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

    fn steps() -> impl Iterator<Item = OptimizerStep> {
        (1..).map(|step| OptimizerStep { learning_rate: 0.1, step })
    }

    fn with_tensors(optimizer: Optimizer) -> Vec<f32> {
        let device = Device::flex();
        let mut weights = Tensor::from_data([1.0, 2.0, 3.0], &device);
        let mut state = vec![Tensor::zeros([3], &device); optimizer.slots()];
        for (gradient, at) in GRADIENTS.into_iter().zip(steps()) {
            weights = optimizer.step(weights, Tensor::from_data(gradient, &device), &mut state, at);
        }
        weights.into_data().try_to_vec().unwrap()
    }

    fn with_numbers(optimizer: Optimizer) -> Vec<f32> {
        let mut weights = vec![1.0, 2.0, 3.0];
        let mut state = vec![[0.0; 3]; optimizer.slots()];
        for (gradient, at) in GRADIENTS.iter().zip(steps()) {
            let mut state: Vec<&mut [f32]> = state.iter_mut().map(|slot| &mut slot[..]).collect();
            optimizer.step_numbers(&mut weights, gradient, &mut state, at);
        }
        weights
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

    fn assert_steps(optimizer: Optimizer, burns: &[f32]) {
        for ours in [with_tensors(optimizer), with_numbers(optimizer)] {
            for (a, b) in ours.iter().zip(burns) {
                assert!((a - b).abs() < 1e-5, "{optimizer:?}: {ours:?} and {burns:?}");
            }
        }
    }

    #[test]
    fn each_optimiser_takes_the_steps_of_burns() {
        let momentum = burn::optim::momentum::MomentumConfig::new().with_momentum(0.9).with_dampening(0.0);
        let momentum = SgdConfig::new().with_momentum(Some(momentum)).build();
        assert_steps(Optimizer::Sgd { momentum: 0.9 }, &burns(&momentum));
        assert_steps(Optimizer::Sgd { momentum: 0.0 }, &burns(&SgdConfig::new().build()));
        assert_steps(Optimizer::Adam, &burns(&AdamConfig::new().with_epsilon(1e-8).build()));
    }
}
