//! The techniques that learn a number from features, one file each.
//!
//! To add one: a variant of [`Technique`], a file with its [`Learner`], and a place in [`LEARNERS`].

mod cholesky;
mod forest;
mod lasso;
pub(crate) mod ridge;
mod table;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use crate::learner::cholesky::Cholesky;
pub(crate) use crate::learner::forest::below;
pub(crate) use crate::learner::table::{Linear, Table};
pub(crate) use crate::learner::tree::{Ground, Tree};
use crate::learner::{lasso::Lasso, ridge::Ridge};

/// Weights of the penalty that Lasso and Ridge choose from (the paper, Table 10), ascending.
const ALPHAS: [f64; 9] = [1e-15, 1e-10, 1e-8, 1e-3, 1e-2, 1.0, 5.0, 10.0, 20.0];

/// Every learner, in the order in which ties are settled.
pub(crate) const LEARNERS: [&dyn Learner; 2] = [&Lasso, &Ridge];

/// A technique with its hyper-parameter.
///
/// | technique | minimises, for weights w and an intercept b without penalty |
/// |---|---|
/// | Lasso | ‖y − Xw − b‖² / 2n + α‖w‖₁ |
/// | Ridge | ‖y − Xw − b‖² + α‖w‖² |
///
/// These are scikit-learn's objectives, and α comes from the paper's grid: 1e-15, 1e-10, 1e-8, 1e-3, 1e-2, 1, 5, 10, 20.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Technique {
    /// Linear regression with the L1 penalty `alpha`.
    Lasso {
        /// Weight of the penalty.
        alpha: f64,
    },
    /// Linear regression with the L2 penalty `alpha`.
    Ridge {
        /// Weight of the penalty.
        alpha: f64,
    },
}

/// A family of techniques that differ in their hyper-parameters alone.
pub(crate) trait Learner {
    /// Every technique of the family, in the order in which ties are settled.
    fn grid(&self) -> Vec<Technique>;

    /// What each technique of the grid predicts for each row when it learns from the others: one list a technique, one
    /// number a row. The table has two rows or more.
    fn leave_one_out(&self, table: &Table) -> Vec<Vec<f64>>;
}

impl Technique {
    /// Learns from all rows of a table.
    pub(crate) fn fit(self, table: &Table) -> Linear {
        match self {
            Self::Lasso { alpha } => lasso::fit(table, alpha),
            Self::Ridge { alpha } => ridge::fit(table, alpha),
        }
    }
}

impl fmt::Display for Technique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, alpha) = match self {
            Self::Lasso { alpha } => ("Lasso", *alpha),
            Self::Ridge { alpha } => ("Ridge", *alpha),
        };
        if alpha < 1e-3 { write!(f, "{name} α={alpha:e}") } else { write!(f, "{name} α={alpha}") }
    }
}
