//! Places in a scenario and the techniques chosen for them.

use std::fmt;

use foreglow_learner::Selection;
use serde::{Deserialize, Serialize};

use crate::{Feature, Technique};

/// A place in a scenario filled by a learner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Level 1: maps one feature to the scaled time.
    #[serde(rename = "level1")]
    Level1(Feature),
    /// Level 2: maps the level-1 outputs, or their product, to the completion time.
    #[serde(rename = "level2")]
    Level2,
    /// The only learner: maps all features to the completion time.
    Single,
}

/// The technique chosen for a place by leave-one-out cross-validation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The place.
    pub place: Place,
    /// The technique with its hyper-parameters.
    pub technique: Technique,
    /// Its mean squared leave-one-out error. Targets are times divided by the longest one (of the
    /// group at level 1, of all rows elsewhere), so this is a share squared.
    pub loo_mse: f64,
}

impl Choice {
    pub(crate) fn new(place: Place, selection: Selection) -> Self {
        Self { place, technique: selection.technique, loo_mse: selection.loo_mse }
    }
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
