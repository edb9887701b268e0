//! The candidates that an ensemble blends.

use serde::{Deserialize, Serialize};

use crate::dataset::Training;
use crate::ensemble::canonical::Table;
use crate::ensemble::folds::has_forward;
use crate::ensemble::shape::{Extent, Shape};
use crate::regression::Regression;

/// A way to learn the logarithm of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// A Gaussian process of length 1.
    Near,
    /// A Gaussian process of length 2.
    Far,
    /// A posynomial of two terms and a Gaussian process of what it leaves.
    TwoTerms,
    /// A posynomial of three terms and a Gaussian process of what it leaves.
    ThreeTerms,
    /// A log-additive line.
    LogAdditive,
}
