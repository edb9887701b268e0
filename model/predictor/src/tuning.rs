//! Constants of the default predictor that were chosen on data.

use serde::{Deserialize, Serialize};

/// Constants of the default predictor that were chosen on data. Only the test bed of the predictor
/// sets other values, to choose them without one data set and test them on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Prior weight of a flexible form relative to 1 for the scaling laws; above 0.
    pub flexible_prior: f64,
    /// Number of held-out rows at which a candidate's error counts half as much as with many; above
    /// 0.
    pub held_out_rows: f64,
    /// Standard deviation of the exponent of parallel work, whose mean is −1; above 0.
    pub efficiency: f64,
    /// Standard deviation of the effect of a name, or of a column without a meaning, on one cost of
    /// a law about its effect on the whole time; above 0.
    pub likeness: f64,
    /// Whether few candidates compete, because the table has many names and its fits take long.
    #[serde(default)]
    pub is_brief: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { flexible_prior: 0.1, held_out_rows: 6.0, efficiency: 0.2, likeness: 0.2, is_brief: false }
    }
}
