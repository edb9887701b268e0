//! The baseline: one learner from all features to the completion time.

use serde::{Deserialize, Serialize};

use crate::learner::{Linear, Table};
use crate::row::{Row, longest_secs};
use crate::selection::select;
use crate::{Choice, Feature, Place, Setting};

/// A fitted line (1/C, 1/E) → t (the paper, Table 8, first row).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Baseline {
    line: Linear,
    /// Unit of the line's target: the longest training time, so that the unit of the times changes no choice.
    longest_secs: f64,
}

impl Baseline {
    /// Fits two rows or more.
    pub(crate) fn fit(rows: &[Row]) -> (Self, Choice) {
        let longest_secs = longest_secs(rows);
        let table = Table {
            features: rows.iter().map(|row| features(row.setting).to_vec()).collect(),
            target: rows.iter().map(|row| row.secs / longest_secs).collect(),
        };
        let (choice, line) = select(Place::Single, &table);
        (Self { line, longest_secs }, choice)
    }

    /// The line's value at a setting, seconds; not always above 0.
    pub(crate) fn secs(&self, setting: Setting) -> f64 {
        self.line.at(&features(setting)) * self.longest_secs
    }
}

fn features(setting: Setting) -> [f64; 2] {
    [Feature::InverseCores.transform(setting), Feature::InverseExecutors.transform(setting)]
}
