//! Weights of rows: disturbed runs get less influence on every candidate.
//!
//! A slow run is an accident, and what separate runs agree on is not. A row with the largest amount
//! of work keeps its influence if two of its runs are closer to its median than this is to what the
//! other rows predict. Agreement on less work does not count: small runs share effects that larger
//! jobs do not have, such as a last round of tasks that leaves cores idle. For the same reason the
//! row keeps no influence on fits of more work than was measured.

use crate::dataset::{OUTLIER, Training};
use crate::ensemble::canonical::Group;
use crate::regression::Regression;
use crate::regression::gaussian_process::left_out;
use crate::regression::posynomial::law::{self, Costs};
use crate::regression::posynomial::{self, Prior, Problem};
use crate::{Meaning, Tuning};
use foreglow_numeric::{MEDIAN_OF_NORMAL, median};

/// Exponent of the amount of work in the weight of a row: runs close to the whole job are more
/// informative.
const CLOSENESS: f64 = 0.15;
/// Minimum and maximum number of rows for which a process detects outliers; its time is cubic.
const ROWS_OF_PROCESS: (usize, usize) = (10, 1_000);
/// Rounds of reweighting by a process.
const ROUNDS: usize = 3;
/// Degrees of freedom of the noise of slow and of fast rows about a process.
const TAILS: (f64, f64) = (2.0, 6.0);

/// Weights and noise of the rows of a table.
pub(super) struct Reliability {
    /// One per row, in (0, 1].
    pub(super) weights: Vec<f64>,
    /// Standard deviation of the noise in ln t.
    pub(super) noise: f64,
    /// Rows whose separate runs agree on a time that the others do not explain, and their weights
    /// if they are dismissed.
    pub(super) agreed: Vec<(usize, f64)>,
}

/// Judges rows by the scaling laws of columns with a meaning; without such columns, by a Gaussian
/// process over all columns. `groups` has the runs of each row.
pub(super) fn reliability(
    training: &Training,
    groups: &[Group],
    meanings: &[Option<Meaning>],
    tuning: Tuning,
) -> Reliability {
    let mut training = training.clone();
    let closest = closeness(&training, meanings);
    training.weights.iter_mut().zip(&closest).for_each(|(weight, closeness)| *weight *= closeness);
    let rows = training.logs.len();
    let terms = law::terms(&training.points, meanings, Costs::All, tuning).filter(|_| rows > 2);
    let (weights, predicted, noise) = match terms {
        Some(terms) => {
            let prior = Prior { meanings: meanings.to_vec(), ..Prior::default() };
            let fit = Problem::new(&training, &prior).fit_law_of_few(&terms);
            (fit.weights, fit.law.logs(&training.points), fit.scale.max(posynomial::NOISE))
        }
        None => {
            let (weights, predicted) = by_process(&training);
            (weights, predicted, posynomial::NOISE)
        }
    };
    let mut agreed = Vec::new();
    for (row, own) in training.weights.iter_mut().enumerate().filter(|(row, _)| weights[*row] < OUTLIER) {
        let is_largest = closest[row] >= 1.0;
        if is_largest && groups[row].agrees(training.logs[row] - predicted[row]) {
            agreed.push((row, *own * weights[row]));
        } else {
            *own *= weights[row];
        }
    }
    Reliability { weights: training.weights, noise, agreed }
}

/// Returns weights by the amount of work, 1 for the largest.
fn closeness(training: &Training, meanings: &[Option<Meaning>]) -> Vec<f64> {
    let rows = &training.points.numeric;
    let mut weights = vec![1.0; rows.len()];
    for (column, _) in meanings.iter().enumerate().filter(|(_, meaning)| **meaning == Some(Meaning::Work)) {
        let most = rows.iter().map(|row| row[column]).fold(0.0, f64::max);
        if most > 0.0 && rows.iter().all(|row| row[column] > 0.0) {
            weights.iter_mut().zip(rows).for_each(|(weight, row)| *weight *= libm::pow(row[column] / most, CLOSENESS));
        }
    }
    weights
}

/// Returns Student's t weights of leave-one-out residuals of a Gaussian process, and what it
/// predicts for each row from the others.
fn by_process(training: &Training) -> (Vec<f64>, Vec<f64>) {
    let mut weights = vec![1.0; training.logs.len()];
    let mut predicted = training.logs.clone();
    if weights.len() < ROWS_OF_PROCESS.0 || weights.len() > ROWS_OF_PROCESS.1 {
        return (weights, predicted);
    }
    let mut training = training.clone();
    for _ in 0..ROUNDS {
        training.weights.clone_from(&weights);
        // Residuals are scaled to the noise of an ordinary row, so that a small weight does not
        // excuse a row.
        let left_out = left_out(&training, 1.0);
        let residuals: Vec<f64> = left_out.iter().zip(&weights).map(|((z, _), weight)| z / weight.sqrt()).collect();
        predicted = left_out.iter().zip(&training.logs).map(|((z, deviation), log)| log - z * deviation).collect();
        let sizes: Vec<f64> = residuals.iter().map(|z| z.abs()).collect();
        let unit = (median(&sizes) / MEDIAN_OF_NORMAL).max(1.0);
        for (weight, z) in weights.iter_mut().zip(&residuals) {
            let (z, tail) = (z / unit, if *z > 0.0 { TAILS.0 } else { TAILS.1 });
            *weight = ((tail + 1.0) / (tail + z * z)).min(1.0);
        }
    }
    (weights, predicted)
}
