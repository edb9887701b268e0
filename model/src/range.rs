//! The values that a predictor was fitted on, and a warning beyond them.

use serde::{Deserialize, Serialize};

use crate::published::Row;
use crate::{Feature, Setting, Warning};

/// Smallest and largest fitted value of each feature.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Range {
    smallest: Setting,
    largest: Setting,
}

impl Range {
    /// The range of rows; `None` of no row.
    pub(crate) fn of(rows: &[Row]) -> Option<Self> {
        let first = rows.first()?.setting;
        let range = Self { smallest: first, largest: first };
        Some(rows.iter().fold(range, |range, row| Self {
            smallest: range.smallest.combine(row.setting, u32::min, f64::min),
            largest: range.largest.combine(row.setting, u32::max, f64::max),
        }))
    }

    /// Fewest and most executors.
    pub(crate) fn executors(&self) -> (u32, u32) {
        (self.smallest.executors, self.largest.executors)
    }

    /// Fewest and most cores per executor.
    pub(crate) fn cores(&self) -> (u32, u32) {
        (self.smallest.cores_per_executor, self.largest.cores_per_executor)
    }

    /// Whether a feature has more than one fitted value.
    pub(crate) fn varies(&self, feature: Feature) -> bool {
        feature.value(self.smallest) != feature.value(self.largest)
    }

    /// One warning for each feature that leaves its range. `scales_up` is true where the sampling rate was sampled in
    /// order to be exceeded, as scenario 4-2 does: a larger one is then its purpose and no cause for a warning.
    pub(crate) fn warnings(&self, setting: Setting, scales_up: bool) -> impl Iterator<Item = Warning> {
        Feature::ALL.into_iter().filter_map(move |feature| {
            let asked = feature.value(setting);
            let (smallest, largest) = (feature.value(self.smallest), feature.value(self.largest));
            let beyond = asked > largest && !(scales_up && feature == Feature::SamplingRate);
            (asked < smallest || beyond).then_some(Warning::OutsideSampledRange { feature, asked, smallest, largest })
        })
    }
}

impl Setting {
    fn combine(self, other: Self, count: fn(u32, u32) -> u32, rate: fn(f64, f64) -> f64) -> Self {
        Self {
            executors: count(self.executors, other.executors),
            cores_per_executor: count(self.cores_per_executor, other.cores_per_executor),
            sampling_rate: rate(self.sampling_rate, other.sampling_rate),
        }
    }
}
