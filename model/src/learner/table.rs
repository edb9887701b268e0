//! The rows that a learner sees, their moments, and the line that it finds.

use serde::{Deserialize, Serialize};

/// Features and target of the rows to learn from.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// One list a row, as many features in each.
    pub(crate) features: Vec<Vec<f64>>,
    /// One number a row.
    pub(crate) target: Vec<f64>,
}

/// Folds at most: up to so many rows each is left out alone, beyond that in folds.
pub(crate) const MAX_FOLDS: usize = 64;

/// One of the parts into which rows are dealt in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fold {
    pub(crate) index: usize,
    /// Parts that there are.
    pub(crate) of: usize,
}

impl Fold {
    /// The folds of so many rows; leave-one-out up to [`MAX_FOLDS`] of them.
    pub(crate) fn all(rows: usize) -> impl Iterator<Item = Self> {
        let of = rows.min(MAX_FOLDS);
        (0..of).map(move |index| Self { index, of })
    }

    /// Whether a row is in it.
    pub(crate) fn has(self, row: usize) -> bool {
        row % self.of == self.index
    }
}

/// Second moments of the rows about their means: all that a penalised least-squares line depends on.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    /// Rows, n.
    pub(crate) rows: f64,
    /// Mean of each feature.
    pub(crate) means: Vec<f64>,
    /// Mean of the target.
    pub(crate) target_mean: f64,
    /// XᵀX of the centred features, p × p; exactly 0 in the row and column of a constant feature.
    pub(crate) gram: Vec<Vec<f64>>,
    /// Xᵀy of the centred features and target, p.
    pub(crate) moment: Vec<f64>,
}

/// A fitted line: Σ weight · feature + intercept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Linear {
    pub(crate) weights: Vec<f64>,
    pub(crate) intercept: f64,
}

impl Table {
    pub(crate) fn rows(&self) -> usize {
        self.target.len()
    }

    /// What is predicted for each row, given what a fit without a fold predicts for the rows of that fold.
    pub(crate) fn held_out(&self, predict: impl Fn(Fold) -> Vec<f64>) -> Vec<f64> {
        let mut held_out = vec![0.0; self.rows()];
        for fold in Fold::all(self.rows()) {
            let rows = (0..self.rows()).filter(|row| fold.has(*row));
            rows.zip(predict(fold)).for_each(|(row, predicted)| held_out[row] = predicted);
        }
        held_out
    }

    /// Moments of all rows but those of a fold.
    ///
    /// They are summed anew for every row that is left out rather than taken off the whole: where one row holds nearly
    /// all the variance of a feature, the difference would be rounding.
    pub(crate) fn moments(&self, left_out: Option<Fold>) -> Moments {
        let kept: Vec<usize> = (0..self.rows()).filter(|row| !left_out.is_some_and(|fold| fold.has(*row))).collect();
        let rows = kept.len() as f64;
        let count = self.features.first().map_or(0, Vec::len);
        let mean = |value: &dyn Fn(usize) -> f64| kept.iter().map(|row| value(*row)).sum::<f64>() / rows;
        let means: Vec<f64> = (0..count).map(|j| mean(&|row| self.features[row][j])).collect();
        let target_mean = mean(&|row| self.target[row]);
        // The mean of equal numbers need not equal them to the last digit, so a constant feature is told by its values.
        let first = |j: usize| kept.first().map(|row| self.features[*row][j]);
        let varies: Vec<bool> =
            (0..count).map(|j| kept.iter().any(|row| Some(self.features[*row][j]) != first(j))).collect();
        let centred = |row: usize, j: usize| if varies[j] { self.features[row][j] - means[j] } else { 0.0 };
        let sum = |term: &dyn Fn(usize) -> f64| kept.iter().map(|row| term(*row)).sum::<f64>() + 0.0;
        let gram =
            (0..count).map(|j| (0..count).map(|k| sum(&|row| centred(row, j) * centred(row, k))).collect()).collect();
        let moment = (0..count).map(|j| sum(&|row| centred(row, j) * (self.target[row] - target_mean))).collect();
        Moments { rows, means, target_mean, gram, moment }
    }
}

impl Moments {
    /// The line with these weights that goes through the means.
    pub(crate) fn line(&self, weights: Vec<f64>) -> Linear {
        let shift: f64 = weights.iter().zip(&self.means).map(|(w, mean)| w * mean).sum();
        Linear { weights, intercept: self.target_mean - shift }
    }
}

impl Linear {
    /// The line's value at `features`, as many as it has weights.
    pub(crate) fn at(&self, features: &[f64]) -> f64 {
        self.weights.iter().zip(features).map(|(w, x)| w * x).sum::<f64>() + self.intercept
    }
}
