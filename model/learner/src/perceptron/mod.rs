//! Multi-layer perceptrons with one hidden layer, trained like scikit-learn's `MLPRegressor`.
//!
//! All folds and learning rates of a shape are trained as one tensor program (see [`batch`]), and
//! iteration limits are snapshots of one run. One difference to scikit-learn: a step always uses
//! all rows instead of batches of 200.

mod batch;
mod descent;
mod lbfgs;
mod line_search;
mod target;

use crate::Technique;
use crate::network::Network;
use crate::perceptron::batch::{Batch, tensor};
use crate::perceptron::target::Targets;
use crate::{Activation, Cancelled, Candidate, Draws, Learner, Model, Solver, Table, Work, parallel};

/// Hyper-parameters of the published grid (the paper, Table 12).
const SOLVERS: [Solver; 3] = [Solver::Lbfgs, Solver::Adam, Solver::Sgd];
const ACTIVATIONS: [Activation; 2] = [Activation::Sigmoid, Activation::Relu];
const MAX_ITERATIONS: [u32; 3] = [5_000, 10_000, 20_000];
const LEARNING_RATES: [f64; 2] = [0.01, 0.05];
const HIDDEN_UNITS: [u32; 3] = [50, 100, 150];
/// Limit on the number of rows.
const MAX_ROWS: usize = 1024;
/// Approximate limit on hidden activations per tensor; larger tensors would not fit the processor's
/// cache.
const NUMBERS: usize = 1 << 15;

/// The 108 perceptrons of the grid.
pub struct Perceptrons {
    /// Seed of every perceptron.
    pub seed: u32,
}

impl Learner for Perceptrons {
    fn steps(&self) -> u64 {
        (SOLVERS.len() * ACTIVATIONS.len() * HIDDEN_UNITS.len()) as u64
    }

    fn candidates(&self, table: &Table, work: &mut Work<'_>) -> Result<Vec<Candidate>, Cancelled> {
        let targets = Targets::of(table);
        let trained = parallel::steps(&shapes(), work, |shape| match table.rows() {
            ..=MAX_ROWS => shape.candidates(table, &targets, self.seed),
            _ => Vec::new(),
        })?;
        Ok(trained.into_iter().flatten().collect())
    }
}

/// Returns every shape of the grid, in the order in which ties are resolved.
fn shapes() -> Vec<Shape> {
    let of = |solver, activation| HIDDEN_UNITS.map(|hidden_units| Shape { solver, activation, hidden_units });
    let by = |solver| ACTIVATIONS.into_iter().flat_map(move |activation| of(solver, activation));
    SOLVERS.into_iter().flat_map(by).collect()
}

/// Perceptrons that differ only in the learning rate and the iteration limit.
struct Shape {
    solver: Solver,
    activation: Activation,
    hidden_units: u32,
}

impl Shape {
    fn candidates(&self, table: &Table, targets: &Targets, seed: u32) -> Vec<Candidate> {
        let folds = targets.rows.len();
        // L-BFGS has no learning rate.
        let rates: &[f64] = if self.solver == Solver::Lbfgs { &LEARNING_RATES[..1] } else { &LEARNING_RATES };
        let networks: Vec<(f64, usize)> =
            rates.iter().flat_map(|rate| (0..folds).map(move |fold| (*rate, fold))).collect();
        let at_once = (NUMBERS / (targets.points.len() * self.hidden_units as usize)).max(1);
        // By iteration limit and network: the outputs at the distinct rows, and the parameters.
        let mut trained: Vec<Vec<(Vec<f64>, Vec<f64>)>> = vec![Vec::new(); MAX_ITERATIONS.len()];
        for part in networks.chunks(at_once) {
            for (list, part) in trained.iter_mut().zip(self.train(targets, part, seed)) {
                list.extend(part);
            }
        }
        let mut candidates = Vec::new();
        for learning_rate in LEARNING_RATES {
            let first = rates.iter().position(|rate| *rate == learning_rate).unwrap_or(0) * folds;
            for (max_iterations, trained) in MAX_ITERATIONS.into_iter().zip(&trained) {
                let own = &trained[first..first + folds];
                let Shape { solver, activation, hidden_units } = *self;
                candidates.push(Candidate {
                    technique: Technique::Perceptron {
                        solver,
                        activation,
                        max_iterations,
                        learning_rate,
                        hidden_units,
                    },
                    held_out: (0..table.rows()).map(|row| own[row % (folds - 1)].0[targets.place[row]]).collect(),
                    model: Model::Network(Network {
                        activation,
                        features: targets.points[0].len(),
                        parameters: own[folds - 1].1.clone(),
                    }),
                });
            }
        }
        candidates
    }

    /// Trains networks given by learning rate and fold. Returns, for each iteration limit and
    /// network, the outputs at the distinct rows and the parameters.
    fn train(&self, targets: &Targets, networks: &[(f64, usize)], seed: u32) -> Vec<Vec<(Vec<f64>, Vec<f64>)>> {
        let (rates, folds): (Vec<f64>, Vec<usize>) = networks.iter().copied().unzip();
        let batch = Batch::new(targets, &folds, self.activation, self.hidden_units as usize);
        let start = self.start(targets.points[0].len(), seed);
        let size = start.len();
        let start = tensor(start.repeat(networks.len()), [networks.len(), size, 1]);
        let ends = match self.solver {
            Solver::Lbfgs => lbfgs::train(batch.clone(), &start, &MAX_ITERATIONS),
            solver => descent::train(solver, batch.clone(), start, &rates, &MAX_ITERATIONS),
        };
        let outputs =
            |parameters: &Vec<Vec<f64>>| batch.outputs(&tensor(parameters.concat(), [networks.len(), size, 1]));
        ends.into_iter().map(|parameters| outputs(&parameters).into_iter().zip(parameters).collect()).collect()
    }

    /// Returns the initial parameters, the same for every fold and equal to scikit-learn's with
    /// `random_state` = `seed`: uniform in ±√(factor / (inputs + outputs)) of the layer (Glorot and
    /// Bengio, "Understanding the difficulty of training deep feedforward neural networks", AISTATS
    /// 2010), with scikit-learn's factors.
    fn start(&self, features: usize, seed: u32) -> Vec<f64> {
        let factor = match self.activation {
            Activation::Sigmoid => 2.0,
            Activation::Relu => 6.0,
        };
        let units = self.hidden_units as usize;
        let mut draws = Draws::new(seed);
        let mut uniform = |inputs: usize, outputs: usize, count: usize| {
            let bound = (factor / (inputs + outputs) as f64).sqrt();
            (0..count).map(|_| 2.0 * bound * draws.unit() - bound).collect::<Vec<f64>>()
        };
        let hidden = uniform(features, units, (features + 1) * units);
        let output = uniform(units, 1, units + 1);
        [hidden, output].concat()
    }
}
