//! The techniques that learn a number from features, one file each.
//!
//! To add one: a variant of [`Technique`] and of [`Model`], a file with its [`Learner`], and a place in [`Grid`].

mod cholesky;
mod draws;
mod forest;
mod lasso;
mod network;
#[cfg(feature = "perceptron")]
mod parallel;
#[cfg(feature = "perceptron")]
mod perceptron;
pub(crate) mod ridge;
mod selection;
mod table;
mod technique;
#[cfg(test)]
mod tests;
mod tree;
mod work;

use serde::{Deserialize, Serialize};

pub(crate) use crate::learner::cholesky::Cholesky;
pub(crate) use crate::learner::draws::Draws;
pub(crate) use crate::learner::forest::Forest;
use crate::learner::forest::Forests;
use crate::learner::lasso::Lasso;
use crate::learner::network::Network;
#[cfg(feature = "perceptron")]
use crate::learner::perceptron::Perceptrons;
use crate::learner::ridge::Ridge;
pub(crate) use crate::learner::selection::{Selection, select};
pub(crate) use crate::learner::table::{Fold, Linear, Table};
pub use crate::learner::technique::{Activation, MaxFeatures, Solver, Technique};
pub(crate) use crate::learner::tree::{Ground, Tree};
pub use crate::learner::work::Cancelled;
pub(crate) use crate::learner::work::Work;

/// Weights of the penalty that Lasso and Ridge choose from (the paper, Table 10), ascending.
const ALPHAS: [f64; 9] = [1e-15, 1e-10, 1e-8, 1e-3, 1e-2, 1.0, 5.0, 10.0, 20.0];

/// Of every random number that a technique starts from.
const SEED: u32 = 0;

/// Which techniques compete for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Lasso and Ridge, 18 techniques: instant.
    Linear,
    /// All that the paper tries: Lasso, Ridge, 27 random forests and 108 multi-layer perceptrons (these where the crate is
    /// built with its feature `perceptron`).
    Published,
}

/// A family of techniques that differ in their hyper-parameters alone.
pub(crate) trait Learner: Sync {
    /// How many steps [`Learner::candidates`] reports.
    fn steps(&self) -> u64;

    /// Every technique of the family, in the order in which ties are settled. The table has two rows or more. A family
    /// whose cost grows too fast with the rows gives none above its limit.
    ///
    /// # Errors
    /// The watcher said stop.
    fn candidates(&self, table: &Table, work: &mut Work<'_>) -> Result<Vec<Candidate>, Cancelled>;
}

/// A technique on a table.
pub(crate) struct Candidate {
    pub(crate) technique: Technique,
    /// What it predicts for each row when it learns without the row's fold; not always finite.
    pub(crate) held_out: Vec<f64>,
    /// What it learns from all rows.
    pub(crate) model: Model,
}

/// What a technique has learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Model {
    Linear(Linear),
    Forest(Forest),
    Network(Network),
}

impl Grid {
    /// The families, in the order in which ties are settled.
    pub(crate) fn learners(self) -> &'static [&'static dyn Learner] {
        match self {
            Self::Linear => &[&Lasso, &Ridge],
            #[cfg(feature = "perceptron")]
            Self::Published => &[&Lasso, &Ridge, &Forests { seed: SEED }, &Perceptrons { seed: SEED }],
            #[cfg(not(feature = "perceptron"))]
            Self::Published => &[&Lasso, &Ridge, &Forests { seed: SEED }],
        }
    }

    /// Steps of work to fill one place.
    pub(crate) fn steps(self) -> u64 {
        self.learners().iter().map(|learner| learner.steps()).sum()
    }
}

impl Model {
    /// The value at `features`, as many as it learned from.
    pub(crate) fn at(&self, features: &[f64]) -> f64 {
        match self {
            Self::Linear(line) => line.at(features),
            Self::Forest(forest) => forest.at(features),
            Self::Network(network) => network.at(features),
        }
    }
}
