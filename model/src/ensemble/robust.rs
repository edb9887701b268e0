//! Weights of rows: runs that were disturbed lose their influence on every candidate.

use crate::Meaning;
use crate::dataset::Training;
use crate::regression::posynomial::law::{self, Costs};
use crate::regression::posynomial::{self, Prior, Problem};

/// A row whose weight under the law is smaller is an outlier to every candidate.
const FAR: f64 = 0.25;

/// What is known of the noise of a table.
pub(super) struct Reliability {
    /// One per row, in (0, 1].
    pub(super) weights: Vec<f64>,
    /// Standard deviation of the noise in ln t.
    pub(super) noise: f64,
}

/// Judges rows by the scaling laws of the columns that have a meaning; without one all rows count the same.
pub(super) fn reliability(training: &Training, meanings: &[Option<Meaning>]) -> Reliability {
    let rows = training.logs.len();
    let Some(terms) = law::terms(meanings, Costs::All).filter(|_| rows > 2) else {
        return Reliability { weights: vec![1.0; rows], noise: posynomial::NOISE };
    };
    let fit = Problem::new(training, &Prior::default()).fit_law(&terms);
    let weights = fit.weights.into_iter().map(|weight| if weight < FAR { weight } else { 1.0 }).collect();
    Reliability { weights, noise: fit.scale.max(posynomial::NOISE) }
}
