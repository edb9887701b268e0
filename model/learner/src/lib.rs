//! Learning techniques, one file each.
//!
//! To add one: a variant of [`Technique`] and of [`Model`], a file with its [`Learner`], and an
//! entry in [`Grid`].

mod draws;
mod forest;
mod hierarchy;
mod lasso;
mod network;
#[cfg(feature = "perceptron")]
mod parallel;
#[cfg(feature = "perceptron")]
mod perceptron;
pub mod ridge;
mod scaled_time;
mod selection;
mod table;
mod technique;
#[cfg(test)]
mod tests;
mod tree;
mod work;

use serde::{Deserialize, Serialize};

pub use crate::draws::Draws;
pub use crate::forest::Forest;
use crate::forest::Forests;
pub use crate::hierarchy::{Chosen, Hierarchy, Level2};
use crate::lasso::Lasso;
use crate::network::Network;
#[cfg(feature = "perceptron")]
use crate::perceptron::Perceptrons;
use crate::ridge::Ridge;
pub use crate::scaled_time::scaled_times;
pub use crate::selection::{Selection, select};
pub use crate::table::{Fold, Linear, Table};
pub use crate::technique::{Activation, MaxFeatures, Solver, Technique};
pub use crate::tree::{Ground, Tree};
pub use crate::work::Cancelled;
pub use crate::work::Work;

/// Penalty weights for Lasso and Ridge (the paper, Table 10), ascending.
const ALPHAS: [f64; 9] = [1e-15, 1e-10, 1e-8, 1e-3, 1e-2, 1.0, 5.0, 10.0, 20.0];

/// Seed of all random numbers.
const SEED: u32 = 0;

/// Grid of techniques that compete for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Lasso and Ridge, 18 techniques; the fastest grid.
    Linear,
    /// The grid of the paper: Lasso, Ridge, 27 random forests and 108 multi-layer perceptrons. The
    /// perceptrons need the crate feature `perceptron`.
    Published,
}

/// A family of techniques that differ only in their hyper-parameters.
pub(crate) trait Learner: Sync {
    /// Returns the number of steps that [`Learner::candidates`] reports.
    fn steps(&self) -> u64;

    /// Fits and cross-validates every technique of the family, in the order in which ties are
    /// resolved. The table has at least two rows. A family that scales badly returns nothing for
    /// tables above its limit.
    ///
    /// # Errors
    /// [`Cancelled`]: the watcher cancelled the work.
    fn candidates(&self, table: &Table, work: &mut Work<'_>) -> Result<Vec<Candidate>, Cancelled>;
}

/// A technique fitted to a table.
pub(crate) struct Candidate {
    pub(crate) technique: Technique,
    /// Prediction for each row by a fit without the row's fold; not always finite.
    pub(crate) held_out: Vec<f64>,
    /// The fit on all rows.
    pub(crate) model: Model,
}

/// A fitted model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// A linear model.
    Linear(Linear),
    /// A random forest.
    Forest(Forest),
    /// A multi-layer perceptron.
    Network(Network),
}

impl Grid {
    /// Returns the families, in the order in which ties are resolved.
    pub(crate) fn learners(self) -> &'static [&'static dyn Learner] {
        match self {
            Self::Linear => &[&Lasso, &Ridge],
            #[cfg(feature = "perceptron")]
            Self::Published => &[&Lasso, &Ridge, &Forests { seed: SEED }, &Perceptrons { seed: SEED }],
            #[cfg(not(feature = "perceptron"))]
            Self::Published => &[&Lasso, &Ridge, &Forests { seed: SEED }],
        }
    }

    /// Returns the number of steps to fill one place.
    pub fn steps(self) -> u64 {
        self.learners().iter().map(|learner| learner.steps()).sum()
    }
}

impl Model {
    /// Returns the prediction at `features`, as many as in training.
    pub fn at(&self, features: &[f64]) -> f64 {
        match self {
            Self::Linear(line) => line.at(features),
            Self::Forest(forest) => forest.at(features),
            Self::Network(network) => network.at(features),
        }
    }
}
