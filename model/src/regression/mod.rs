//! Regression of ln t on numbers and names: the members of which the default predictor is made.
//!
//! | member | ln t is |
//! |---|---|
//! | [`log_additive`] | a sum of one linear term a feature |
//! | [`posynomial`] | the logarithm of a sum of products of powers |
//! | [`gaussian_process`] | a smooth function, a sum over few features each |
//! | [`detrended`] | a posynomial and a smooth function of what it leaves |
//!
//! A fit needs one row or more, all numbers finite. Every member drops what is constant in its
//! rows, sees a column that is positive throughout as its logarithm, and gives a name that no row
//! has no effect.

pub(crate) mod detrended;
pub(crate) mod elementary;
mod encoding;
pub(crate) mod evidence;
pub(crate) mod gaussian_process;
mod kernel;
mod lbfgs;
mod linalg;
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
    /// ln t of a point, D numbers and Q codes, less the constant that the logarithms of the
    /// training rows lack.
    fn log(&self, numeric: &[f64], category: &[u32]) -> f64;

    /// Adds `weight` times [`Regression::log`] of every point of a grid to a function on it.
    fn add_to(&self, grid: &mut Factored, plane: &Plane, weight: f64);

    /// [`Regression::log`] of every point.
    fn logs(&self, points: &Points) -> Vec<f64> {
        points.numeric.iter().zip(&points.category).map(|(numeric, category)| self.log(numeric, category)).collect()
    }
}

/// Mean of one number or more.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean of one number or more with weights above 0.
fn weighted_mean(values: &[f64], weights: &[f64]) -> f64 {
    let sum: f64 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    sum / weights.iter().sum::<f64>()
}

/// Population standard deviation of one number or more.
fn spread(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / values.len() as f64).sqrt()
}
