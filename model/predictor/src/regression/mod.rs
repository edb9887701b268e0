//! Regression of ln t on numbers and names: the building blocks of the default predictor.
//!
//! | member | ln t is |
//! |---|---|
//! | [`log_additive`] | a sum of one linear term a feature |
//! | [`posynomial`] | the logarithm of a sum of products of powers |
//! | [`gaussian_process`] | a smooth function, a sum over few features each |
//! | [`detrended`] | a posynomial with a Gaussian process on its residuals |
//!
//! A fit needs at least one row, with finite numbers. Every form ignores features that are constant
//! in its rows, takes the logarithm of columns that are positive throughout, and gives unknown
//! names no effect.

pub(crate) mod detrended;
mod encoding;
pub(crate) mod evidence;
pub(crate) mod gaussian_process;
mod kernel;
pub(crate) mod log_additive;
pub(crate) mod plane;
pub(crate) mod posynomial;
mod process_plane;
#[cfg(test)]
mod tests;

use crate::dataset::Points;
use crate::regression::plane::{Factored, Plane};

/// A fitted function of features.
pub(crate) trait Regression {
    /// Returns ln t of a point, D numbers and Q codes, less the constant that was subtracted from
    /// the training logarithms.
    fn log(&self, numeric: &[f64], category: &[u32]) -> f64;

    /// Adds `weight` times [`Regression::log`] of every point of a grid.
    fn add_to(&self, grid: &mut Factored, plane: &Plane, weight: f64);

    /// Returns [`Regression::log`] of every point.
    fn logs(&self, points: &Points) -> Vec<f64> {
        points.numeric.iter().zip(&points.category).map(|(numeric, category)| self.log(numeric, category)).collect()
    }
}

/// Returns the mean; `values` is not empty.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the weighted mean; `values` is not empty and weights are above 0.
fn weighted_mean(values: &[f64], weights: &[f64]) -> f64 {
    let sum: f64 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    sum / weights.iter().sum::<f64>()
}

/// Returns the population standard deviation; `values` is not empty.
fn spread(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / values.len() as f64).sqrt()
}
