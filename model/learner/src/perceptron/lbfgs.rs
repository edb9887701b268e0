//! Limited-memory BFGS. Losses and gradients of all networks are one tensor program; directions and
//! steps are computed per network.
//!
//! Source: Liu and Nocedal, "On the limited memory BFGS method for large scale optimization",
//! Mathematical Programming 45, 1989; ten corrections, convergence tests and restarts of scipy's
//! L-BFGS-B, which scikit-learn uses.

use std::collections::VecDeque;

use burn::tensor::Tensor;
use foreglow_numeric::add_scaled;

use crate::perceptron::batch::{Batch, numbers, tensor};
use crate::perceptron::line_search::{LineSearch, Next, Point};

const CORRECTIONS: usize = 10;
/// Convergence: largest component of the gradient (scikit-learn's `tol`).
const FLAT: f64 = 1e-4;
/// Convergence: decrease of the loss, relative to the loss or to 1, whichever is larger.
const NO_DECREASE: f64 = 2.220_446_049_250_313e-9;
const EVALUATIONS: u32 = 15_000;
const EVALUATIONS_A_LINE: u32 = 20;

struct Walker {
    number: usize,
    iterations: u32,
    evaluations: u32,
    /// Parameters, loss and gradient after the last step.
    at: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
    /// Steps, gradient changes, and the reciprocals of their products, the newest last.
    memory: VecDeque<(Vec<f64>, Vec<f64>, f64)>,
    direction: Vec<f64>,
    search: Option<LineSearch>,
    tried: u32,
    step: f64,
}

/// Trains networks from the parameters `start`, networks × parameters × 1. Returns, for each
/// iteration limit (`limits`, ascending), the parameters of every network when it stopped or
/// reached the limit.
pub(super) fn train(mut batch: Batch, start: &Tensor<3>, limits: &[u32]) -> Vec<Vec<Vec<f64>>> {
    let [networks, size, _] = start.dims();
    let starts = numbers(start.clone());
    let mut walkers: Vec<Walker> =
        starts.chunks(size).enumerate().map(|(number, at)| Walker::new(number, at)).collect();
    let mut ends = vec![vec![Vec::new(); networks]; limits.len()];
    while !walkers.is_empty() {
        let trials: Vec<f64> = walkers.iter().flat_map(Walker::trial).collect();
        let slope = batch.slope(&tensor(trials, [walkers.len(), size, 1]));
        let gradient = numbers(slope.gradient);
        let mut kept = Vec::new();
        for (index, walker) in walkers.iter_mut().enumerate() {
            let before = walker.iterations;
            let goes_on = walker.take(slope.losses[index], &gradient[index * size..(index + 1) * size]);
            let reached = |limit: u32| limit > before && (limit <= walker.iterations || !goes_on);
            for (list, _) in ends.iter_mut().zip(limits).filter(|(_, limit)| reached(**limit)) {
                list[walker.number].clone_from(&walker.at);
            }
            if goes_on && limits.last().is_some_and(|last| walker.iterations < *last) {
                kept.push(index);
            }
        }
        if kept.len() < walkers.len() {
            let mut index = 0;
            walkers.retain(|_| {
                index += 1;
                kept.contains(&(index - 1))
            });
            if !walkers.is_empty() {
                batch = batch.select(&kept);
            }
        }
    }
    ends
}

impl Walker {
    fn new(number: usize, at: &[f64]) -> Self {
        Self {
            number,
            iterations: 0,
            evaluations: 0,
            at: at.to_vec(),
            loss: f64::INFINITY,
            gradient: Vec::new(),
            memory: VecDeque::new(),
            direction: vec![0.0; at.len()],
            search: None,
            tried: 0,
            step: 0.0,
        }
    }

    /// Returns the parameters at which the loss is needed next.
    fn trial(&self) -> Vec<f64> {
        self.at.iter().zip(&self.direction).map(|(x, d)| x + self.step * d).collect()
    }

    /// Processes loss and gradient at the trial; returns whether training continues.
    fn take(&mut self, loss: f64, gradient: &[f64]) -> bool {
        self.evaluations += 1;
        let Some(search) = &mut self.search else {
            (self.loss, self.gradient) = (loss, gradient.to_vec());
            return loss.is_finite() && !self.is_flat() && self.turn();
        };
        self.tried += 1;
        let slope = dot(gradient, &self.direction);
        match search.next(Point { step: self.step, value: loss, slope }) {
            Next::Try(step) if self.tried < EVALUATIONS_A_LINE && loss.is_finite() => {
                self.step = step;
                true
            }
            Next::Done | Next::Stuck if loss.is_finite() => self.arrive(loss, gradient),
            // No acceptable step: restarts with steepest descent, unless that has just failed.
            _ => !std::mem::take(&mut self.memory).is_empty() && self.turn(),
        }
    }

    /// Accepts the trial; returns whether training continues.
    fn arrive(&mut self, loss: f64, gradient: &[f64]) -> bool {
        let moved: Vec<f64> = self.direction.iter().map(|d| d * self.step).collect();
        let change: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(new, old)| new - old).collect();
        let curvature = dot(&moved, &change);
        if curvature > f64::EPSILON * -dot(&self.gradient, &moved) {
            if self.memory.len() == CORRECTIONS {
                self.memory.pop_front();
            }
            self.memory.push_back((moved, change, 1.0 / curvature));
        }
        let decrease = self.loss - loss;
        let scale = self.loss.abs().max(loss.abs()).max(1.0);
        self.at = self.trial();
        (self.loss, self.gradient) = (loss, gradient.to_vec());
        self.iterations += 1;
        !self.is_flat() && decrease > NO_DECREASE * scale && self.evaluations <= EVALUATIONS && self.turn()
    }

    fn is_flat(&self) -> bool {
        self.gradient.iter().all(|part| part.abs() <= FLAT)
    }

    /// Computes a new direction by the two-loop recursion; returns false if it is not a descent
    /// direction.
    fn turn(&mut self) -> bool {
        let mut way = self.gradient.clone();
        let mut shares = Vec::with_capacity(self.memory.len());
        for (moved, change, inverse) in self.memory.iter().rev() {
            let share = inverse * dot(moved, &way);
            add_scaled(&mut way, -share, change);
            shares.push(share);
        }
        if let Some((_, change, inverse)) = self.memory.back() {
            let scale = 1.0 / (inverse * dot(change, change));
            way.iter_mut().for_each(|part| *part *= scale);
        }
        for ((moved, change, inverse), share) in self.memory.iter().zip(shares.into_iter().rev()) {
            let back = inverse * dot(change, &way);
            add_scaled(&mut way, share - back, moved);
        }
        self.direction = way.into_iter().map(|part| -part).collect();
        let slope = dot(&self.gradient, &self.direction);
        if slope >= 0.0 || !slope.is_finite() {
            return !std::mem::take(&mut self.memory).is_empty() && self.turn();
        }
        let length = dot(&self.direction, &self.direction).sqrt();
        self.step = if self.iterations == 0 { 1.0 / length } else { 1.0 };
        self.search = Some(LineSearch::new(self.loss, slope, self.step));
        self.tried = 0;
        true
    }
}

/// Sums in order, as scipy does; the partial sums of [`foreglow_numeric::dot`] round differently.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
