//! Training data, their second moments, and linear models.

use serde::{Deserialize, Serialize};

/// Features and target of the training rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// One list of features per row, all of the same length.
    pub features: Vec<Vec<f64>>,
    /// One value per row.
    pub target: Vec<f64>,
}

/// Limit on the number of folds: up to this many rows, each row is a fold.
pub const MAX_FOLDS: usize = 64;

/// One fold of a cross-validation; rows are assigned in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Its number, from 0.
    pub index: usize,
    /// Number of folds.
    pub of: usize,
}

impl Fold {
    /// Returns the folds of a table; leave-one-out up to [`MAX_FOLDS`] rows.
    pub fn all(rows: usize) -> impl Iterator<Item = Self> {
        let of = rows.min(MAX_FOLDS);
        (0..of).map(move |index| Self { index, of })
    }

    /// Whether the fold contains a row.
    pub fn has(self, row: usize) -> bool {
        row % self.of == self.index
    }
}

/// Centred second moments of the rows, which determine every penalised least-squares fit.
#[derive(Clone, Debug)]
pub struct Moments {
    /// Number of rows, n.
    pub rows: f64,
    /// Mean of each feature.
    pub means: Vec<f64>,
    /// Mean of the target.
    pub target_mean: f64,
    /// XᵀX of the centred features, p × p; exactly 0 for constant features.
    pub gram: Vec<Vec<f64>>,
    /// Xᵀy of the centred features and target, length p.
    pub moment: Vec<f64>,
}

/// A linear model: Σ weight · feature + intercept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// One weight per feature.
    pub weights: Vec<f64>,
    /// Prediction where all features are 0.
    pub intercept: f64,
}

impl Table {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.target.len()
    }

    /// Collects the held-out prediction of each row. `predict` returns the predictions for the rows
    /// of a fold by a fit without them.
    pub fn held_out(&self, predict: impl Fn(Fold) -> Vec<f64>) -> Vec<f64> {
        let mut held_out = vec![0.0; self.rows()];
        for fold in Fold::all(self.rows()) {
            let rows = (0..self.rows()).filter(|row| fold.has(*row));
            rows.zip(predict(fold)).for_each(|(row, predicted)| held_out[row] = predicted);
        }
        held_out
    }

    /// Computes the moments of all rows outside a fold.
    ///
    /// They are summed from scratch for each fold instead of subtracted from the total: if one row
    /// holds nearly all variance of a feature, the difference would be rounding error.
    pub fn moments(&self, left_out: Option<Fold>) -> Moments {
        let kept: Vec<usize> = (0..self.rows()).filter(|row| !left_out.is_some_and(|fold| fold.has(*row))).collect();
        let rows = kept.len() as f64;
        let count = self.features.first().map_or(0, Vec::len);
        let mean = |value: &dyn Fn(usize) -> f64| kept.iter().map(|row| value(*row)).sum::<f64>() / rows;
        let means: Vec<f64> = (0..count).map(|j| mean(&|row| self.features[row][j])).collect();
        let target_mean = mean(&|row| self.target[row]);
        // The mean of equal numbers may differ from them by rounding, so constant features are
        // detected by value.
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
    /// Returns the linear model with these weights through the means.
    pub fn line(&self, weights: Vec<f64>) -> Linear {
        let shift: f64 = weights.iter().zip(&self.means).map(|(w, mean)| w * mean).sum();
        Linear { weights, intercept: self.target_mean - shift }
    }
}

impl Linear {
    /// Returns the prediction at `features`, one per weight.
    pub fn at(&self, features: &[f64]) -> f64 {
        self.weights.iter().zip(features).map(|(w, x)| w * x).sum::<f64>() + self.intercept
    }
}
