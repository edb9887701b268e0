//! Adam and gradient descent with Nesterov momentum, with all rows in each step.

use burn::tensor::Tensor;

use crate::Solver;
use crate::perceptron::batch::{Batch, numbers, pick, tensor};

/// scikit-learn's defaults: training stops after more than `PATIENCE` steps in a row that improve
/// the loss by less than `TOLERANCE`.
const PATIENCE: u32 = 10;
const TOLERANCE: f64 = 1e-4;
const MOMENTUM: f64 = 0.9;
const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Networks in training. Those that stop are removed from the tensors, which speeds up the others.
struct Race {
    batch: Batch,
    runners: Vec<Runner>,
    /// Learning rates: networks × 1 × 1.
    rates: Tensor<3>,
    /// Networks × parameters × 1, like the tensors below.
    parameters: Tensor<3>,
    /// First moments of Adam, or velocities.
    first: Tensor<3>,
    /// Second moments of Adam.
    second: Tensor<3>,
}

struct Runner {
    /// Index of the network among the initial ones.
    number: usize,
    best_loss: f64,
    without_gain: u32,
}

/// Trains networks from the parameters `start`, each with its learning rate. Returns, for each step
/// limit (`limits`, ascending), the parameters of every network when it stopped or reached the
/// limit.
pub(super) fn train(
    solver: Solver,
    batch: Batch,
    start: Tensor<3>,
    rates: &[f64],
    limits: &[u32],
) -> Vec<Vec<Vec<f64>>> {
    let runner = |number| Runner { number, best_loss: f64::INFINITY, without_gain: 0 };
    let mut race = Race {
        batch,
        runners: (0..rates.len()).map(runner).collect(),
        rates: tensor(rates.to_vec(), [rates.len(), 1, 1]),
        first: start.zeros_like(),
        second: start.zeros_like(),
        parameters: start,
    };
    let mut ends = vec![vec![Vec::new(); rates.len()]; limits.len()];
    let (mut step, mut powers) = (0, (1.0, 1.0));
    for (index, limit) in limits.iter().enumerate() {
        while step < *limit && !race.runners.is_empty() {
            step += 1;
            powers = (powers.0 * BETA_1, powers.1 * BETA_2);
            let losses = race.step(solver, powers);
            race.drop_stopped(&losses, &mut ends[index..]);
        }
        let numbers = race.rows();
        for (runner, parameters) in race.runners.iter().zip(numbers) {
            ends[index][runner.number] = parameters;
        }
    }
    ends
}

impl Race {
    /// Performs one step and returns the losses before it. `powers` are the powers of Adam's two
    /// decay rates (Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015,
    /// algorithm 1).
    fn step(&mut self, solver: Solver, powers: (f64, f64)) -> Vec<f64> {
        let slope = self.batch.slope(&self.parameters);
        let (parameters, rates) = (self.parameters.clone(), self.rates.clone());
        self.parameters = if solver == Solver::Adam {
            let square = slope.gradient.clone() * slope.gradient.clone();
            self.first = self.first.clone() * BETA_1 + slope.gradient * (1.0 - BETA_1);
            self.second = self.second.clone() * BETA_2 + square * (1.0 - BETA_2);
            let rates = rates * ((1.0 - powers.1).sqrt() / (1.0 - powers.0));
            parameters - self.first.clone() * rates / (self.second.clone().sqrt() + EPSILON)
        } else {
            // Nesterov momentum as in scikit-learn.
            let pull = slope.gradient * rates;
            self.first = self.first.clone() * MOMENTUM - pull.clone();
            parameters + (self.first.clone() * MOMENTUM - pull)
        };
        slope.losses
    }

    /// Removes networks that have stopped and stores their parameters in each of `ends`.
    fn drop_stopped(&mut self, losses: &[f64], ends: &mut [Vec<Vec<f64>>]) {
        let stops: Vec<bool> =
            self.runners.iter_mut().zip(losses).map(|(runner, loss)| runner.stops_at(*loss)).collect();
        if !stops.contains(&true) {
            return;
        }
        let rows = self.rows();
        for (index, runner) in self.runners.iter().enumerate().filter(|(index, _)| stops[*index]) {
            ends.iter_mut().for_each(|list| list[runner.number].clone_from(&rows[index]));
        }
        let kept: Vec<usize> = (0..stops.len()).filter(|index| !stops[*index]).collect();
        let mut stops = stops.into_iter();
        self.runners.retain(|_| stops.next() == Some(false));
        if kept.is_empty() {
            return;
        }
        self.batch = self.batch.select(&kept);
        for tensor in [&mut self.rates, &mut self.parameters, &mut self.first, &mut self.second] {
            *tensor = pick(tensor, &kept);
        }
    }

    /// Returns the parameters of each network.
    fn rows(&self) -> Vec<Vec<f64>> {
        let [_, size, _] = self.parameters.dims();
        numbers(self.parameters.clone()).chunks(size).map(<[f64]>::to_vec).collect()
    }
}

impl Runner {
    /// Whether the network stops, given its loss before the latest step.
    fn stops_at(&mut self, loss: f64) -> bool {
        let gains = loss <= self.best_loss - TOLERANCE;
        self.without_gain = if gains { 0 } else { self.without_gain + 1 };
        self.best_loss = self.best_loss.min(loss);
        // A loss that is not finite never recovers.
        self.without_gain > PATIENCE || !loss.is_finite()
    }
}
