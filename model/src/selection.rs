//! Which technique learns at a place of the hierarchy.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::learner::{LEARNERS, Linear, Table};
use crate::{Feature, Technique};

/// Errors that differ by less than this share are a tie: the difference is rounding.
const SAME_SHARE: f64 = 1e-9;
/// Errors below this (a millionth of a millionth of the longest time, squared) are all zero.
const ZERO: f64 = 1e-24;

/// A place in a predictor that a learner fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Level 1: from one feature to the scaled time.
    #[serde(rename = "level1")]
    Level1(Feature),
    /// Level 2-2: from the product of the level-1 outputs to the completion time.
    #[serde(rename = "level2")]
    Level2,
    /// The only learner of the baseline: from all features to the completion time.
    Single,
}

/// What leave-one-out selection chose at a place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Where.
    pub place: Place,
    /// The technique with its hyper-parameter.
    pub technique: Technique,
    /// Its mean squared leave-one-out error. The unit is a share of the longest time, squared: every learner's target is
    /// a time divided by the longest (of its group at level 1, of all rows elsewhere).
    pub loo_mse: f64,
}

/// The technique with the lowest mean squared leave-one-out error (the paper, §5.4), fitted on all rows.
///
/// Of techniques whose errors differ by rounding alone, the first in the grid's order wins, so that neither the unit of
/// the times nor the machine decides. The table has two rows or more.
pub(crate) fn select(place: Place, table: &Table) -> (Choice, Linear) {
    let errors: Vec<(Technique, f64)> = LEARNERS
        .iter()
        .flat_map(|learner| learner.grid().into_iter().zip(learner.leave_one_out(table)))
        .map(|(technique, predictions)| (technique, mean_squared_error(&table.target, &predictions)))
        .collect();
    let least = errors.iter().map(|(_, mse)| *mse).fold(f64::INFINITY, f64::min);
    let (technique, loo_mse) = *errors
        .iter()
        .find(|(_, mse)| *mse <= least * (1.0 + SAME_SHARE) + ZERO)
        .expect("the grid is not empty and targets are finite, so that one error is the least");
    (Choice { place, technique, loo_mse }, technique.fit(table))
}

fn mean_squared_error(actual: &[f64], predicted: &[f64]) -> f64 {
    actual.iter().zip(predicted).map(|(a, p)| (a - p) * (a - p)).sum::<f64>() / actual.len() as f64
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level1(feature) => write!(f, "level 1 {feature}"),
            Self::Level2 => f.write_str("level 2"),
            Self::Single => f.write_str("all features"),
        }
    }
}
