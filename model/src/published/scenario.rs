//! The scenarios of the paper.

use foreglow_learner::Level2;
use serde::{Deserialize, Serialize};

use crate::Feature;
use crate::published::single::Column;

/// A scenario of the paper (Table 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scenario {
    /// One learner on (1/C, 1/E), trained on whole jobs.
    #[serde(rename = "baseline")]
    Baseline,
    /// One learner on 1/C, 1/E, executor memory, partition size and SR, trained on samples.
    #[serde(rename = "1")]
    One,
    /// One learner on 1/C, 1/E and SR, trained on samples.
    #[serde(rename = "2")]
    Two,
    /// Two levels without SR, level 2 on the vector of level-1 outputs, trained on whole jobs.
    #[serde(rename = "3-1")]
    ThreeOne,
    /// Two levels without SR, level 2 on the product of level-1 outputs, trained on whole jobs.
    #[serde(rename = "3-2")]
    ThreeTwo,
    /// Two levels, level 2 on the vector of level-1 outputs, trained on samples.
    #[serde(rename = "4-1")]
    FourOne,
    /// Two levels, level 2 on the product of level-1 outputs, trained on samples.
    #[serde(rename = "4-2")]
    FourTwo,
}

/// Structure of a scenario.
pub(super) enum Shape {
    /// One learner on these columns.
    Single(&'static [Column]),
    /// Level 1 on each of these features, and level 2.
    Levels(&'static [Feature], Level2),
}

impl Scenario {
    /// All scenarios, in the order of the paper.
    pub const ALL: [Self; 7] =
        [Self::Baseline, Self::One, Self::Two, Self::ThreeOne, Self::ThreeTwo, Self::FourOne, Self::FourTwo];

    /// Returns the name in the paper: `baseline`, `1`, `2`, `3-1`, `3-2`, `4-1`, `4-2`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::One => "1",
            Self::Two => "2",
            Self::ThreeOne => "3-1",
            Self::ThreeTwo => "3-2",
            Self::FourOne => "4-1",
            Self::FourTwo => "4-2",
        }
    }

    /// Whether it trains on whole jobs, so that testing it requires cross-validation.
    pub(super) fn learns_whole_jobs(self) -> bool {
        matches!(self, Self::Baseline | Self::ThreeOne | Self::ThreeTwo)
    }

    /// Whether it trains on runs at this sampling rate.
    pub(crate) fn trains_at(self, sampling_rate: f64) -> bool {
        (sampling_rate == 1.0) == self.learns_whole_jobs()
    }

    /// Whether executor memory and partition size are features, so that runs that differ in them
    /// are not averaged.
    pub(super) fn keeps_resources(self) -> bool {
        self == Self::One
    }

    pub(super) fn shape(self) -> Shape {
        const EXECUTORS_AND_CORES: &[Feature] = &[Feature::InverseExecutors, Feature::InverseCores];
        const ONE: &[Column] = &[
            Column::InverseCores,
            Column::InverseExecutors,
            Column::Memory,
            Column::PartitionSize,
            Column::SamplingRate,
        ];
        match self {
            Self::Baseline => Shape::Single(&[Column::InverseCores, Column::InverseExecutors]),
            Self::One => Shape::Single(ONE),
            Self::Two => Shape::Single(&[Column::InverseCores, Column::InverseExecutors, Column::SamplingRate]),
            Self::ThreeOne => Shape::Levels(EXECUTORS_AND_CORES, Level2::Vector),
            Self::ThreeTwo => Shape::Levels(EXECUTORS_AND_CORES, Level2::Product),
            Self::FourOne => Shape::Levels(&Feature::ALL, Level2::Vector),
            Self::FourTwo => Shape::Levels(&Feature::ALL, Level2::Product),
        }
    }

    /// Returns the number of places filled by a learner.
    pub(super) fn places(self) -> u64 {
        match self.shape() {
            Shape::Single(_) => 1,
            Shape::Levels(features, _) => features.len() as u64 + 1,
        }
    }
}
