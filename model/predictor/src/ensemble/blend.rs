//! The weighted candidates for one shape of question, and their errors on held-out rows.

use serde::{Deserialize, Serialize};

use crate::Spread;
use crate::dataset::OUTLIER;
use crate::ensemble::candidate::Kind;
use crate::ensemble::distance::Distances;
use crate::ensemble::errors::{Errors, HeldOut, HeldOutFold, Situation};
use crate::ensemble::margin::Margin;

/// Added to a loss (log units) before its power is taken: smaller differences are chance.
const SAME_LOSS: f64 = 0.01;
/// Power of the inverse loss in the weights if many rows were held out.
const POWER: f64 = 6.0;
/// Limit on the rows of one fold that count.
const ROWS_OF_FOLD: f64 = 20.0;
/// Weight of the error on the fitted rows, in held-out rows.
const FITTED_ROWS: f64 = 3.0;

/// Weights of the candidates for one shape of question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Blend {
    pub(crate) members: Vec<(Kind, f64)>,
    /// Numeric features whose exponents are tied to whole numbers in the posynomials.
    pub(crate) ties: Vec<usize>,
    /// Whether the fits dismiss rows whose runs agree.
    pub(crate) dismisses: bool,
    /// `None` if nothing could be held out.
    pub(super) errors: Option<Errors>,
    /// Held-out rows and their log errors, measured less predicted.
    pub(crate) residuals: Vec<(usize, f64)>,
}

/// Predictions of the candidates for one fold.
pub(crate) struct Trial {
    /// Held-out rows, by index.
    pub(crate) rows: Vec<usize>,
    /// Their measured logarithms.
    pub(crate) logs: Vec<f64>,
    /// Their weights.
    pub(crate) weights: Vec<f64>,
    /// Prediction of each candidate for each row.
    pub(crate) predicted: Vec<Vec<f64>>,
    /// Distances of each row beyond the fitted rows.
    pub(crate) distances: Vec<Distances>,
    /// Share of all rows that were fitted.
    pub(crate) fitted: f64,
    /// Context of each row, numbered from 0.
    pub(crate) contexts: Vec<usize>,
    /// How much larger the variance of ln t of one run of each row is than that of their median.
    pub(crate) beyond_medians: Vec<f64>,
}

impl Blend {
    /// Creates the blend of candidates with these weights.
    pub(crate) fn new(
        situation: &Situation,
        members: Vec<(Kind, f64)>,
        (ties, dismisses): (Vec<usize>, bool),
        trials: &[Trial],
    ) -> Self {
        let weights: Vec<f64> = members.iter().map(|(_, weight)| *weight).collect();
        let folds: Vec<HeldOutFold> = trials.iter().map(|trial| trial.held_out(&weights)).collect();
        let residuals = trials
            .iter()
            .zip(&folds)
            .flat_map(|(trial, fold)| trial.rows.iter().zip(&fold.rows).map(|(row, held_out)| (*row, held_out.error)));
        let residuals = residuals.collect();
        Self { members, ties, dismisses, errors: Errors::of(situation, &folds), residuals }
    }

    /// Widens the errors of questions beyond a range to those within it: extrapolation is never
    /// surer than interpolation.
    pub(super) fn widen(&mut self, within: Option<&Errors>) {
        if let (Some(errors), Some(within)) = (&mut self.errors, within) {
            errors.widen(within);
        }
    }

    /// Returns the spread of a prediction at a distance beyond the measured ranges, in units of
    /// these.
    pub(crate) fn spread(&self, distance: f64) -> Option<Spread> {
        self.errors.as_ref()?.spread(distance)
    }

    /// Returns the logarithm of the quantile of [`Blend::spread`] for a probability of at least
    /// 1/2.
    pub(crate) fn margin(&self, probability: f64) -> Margin {
        self.errors.as_ref().map_or(Margin::UNKNOWN, |errors| errors.margin(probability))
    }
}

impl Trial {
    /// Returns the effective number of rows: the sum of the weights, with a limit because the rows
    /// share one fit.
    fn effective_rows(&self) -> f64 {
        self.weights.iter().sum::<f64>().min(ROWS_OF_FOLD)
    }

    /// Returns the errors of the blend with these weights.
    fn held_out(&self, weights: &[f64]) -> HeldOutFold {
        let most = self.weights.iter().copied().fold(0.0, f64::max);
        let error = |row: usize| {
            let predicted: f64 = weights.iter().zip(&self.predicted).map(|(w, logs)| w * logs[row]).sum();
            HeldOut {
                error: self.logs[row] - predicted,
                beyond_median: self.beyond_medians[row],
                distances: self.distances[row],
                context: self.contexts[row],
                is_disturbed: self.weights[row] < OUTLIER * most,
            }
        };
        HeldOutFold { rows: (0..self.rows.len()).map(error).collect(), fitted: self.fitted }
    }
}

/// Evidence about the candidates.
pub(crate) struct Evidence<'a> {
    pub(crate) trials: &'a [Trial],
    /// Mean absolute log error of each candidate on the rows that it was fitted on.
    pub(crate) fitted: &'a [f64],
    /// Whether the fitted rows count as held out if there are no trials.
    pub(crate) counts_fitted: bool,
    /// Number of held-out rows at which a candidate's error counts half as much as with many.
    pub(crate) held_out_rows: f64,
}

impl Evidence<'_> {
    /// Weighs candidates with these prior weights by their mean absolute log errors on held-out
    /// rows.
    pub(crate) fn weights(&self, priors: &[f64]) -> Vec<f64> {
        let mut held_out: f64 = self.trials.iter().map(Trial::effective_rows).sum();
        if self.trials.is_empty() && self.counts_fitted {
            held_out = FITTED_ROWS;
        }
        let power = POWER * held_out / (held_out + self.held_out_rows);
        let loss = |place: usize| loss(self.trials, place, self.fitted[place]) + SAME_LOSS;
        let raw = (0..priors.len()).map(|place| libm::pow(loss(place), -power) * priors[place]);
        normalised(&raw.collect::<Vec<f64>>())
    }
}

/// Returns weights with the sum 1.
pub(crate) fn normalised(weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// Returns the weighted mean absolute error over folds, shrunk towards the error on the fitted rows
/// if few rows were held out.
fn loss(trials: &[Trial], place: usize, fitted: f64) -> f64 {
    let (mut sum, mut rows) = (FITTED_ROWS * fitted, FITTED_ROWS);
    for trial in trials {
        let errors = trial.predicted[place].iter().zip(&trial.logs).zip(&trial.weights);
        let total: f64 = errors.map(|((predicted, log), weight)| weight * (predicted - log).abs()).sum();
        let counted = trial.effective_rows();
        sum += counted * total / trial.weights.iter().sum::<f64>();
        rows += counted;
    }
    sum / rows
}
