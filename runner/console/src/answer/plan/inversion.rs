//! Smaller configurations that are predicted to be faster than larger ones.

use foreglow_model::Warning;
use foreglow_shared::CoreSplit;
use serde::Serialize;

use super::Row;

/// Ratios up to this one are rounding or noise.
const NOTABLE: f64 = 1.02;

/// A configuration that is predicted to be slower than one with fewer executors or cores, or both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Inversion {
    smaller: (u32, u32),
    larger: (u32, u32),
    /// Time of the larger configuration, relative to the smaller one.
    ratio: f64,
}

impl Inversion {
    /// Returns the pair with the largest ratio; `None` if no larger configuration is clearly
    /// slower. Oversubscribed configurations are expected to be slower and are not considered.
    pub(super) fn among(rows: &[Row]) -> Option<Self> {
        // Arms differ in more than executors and cores.
        let first = rows.first()?;
        let rows = rows.iter().filter(|row| row.is_like(first));
        let is_oversubscribed =
            |row: &Row| row.warnings.iter().any(|one| matches!(one, Warning::Oversubscribed { .. }));
        let times: Vec<((u32, u32), f64)> = rows
            .filter(|row| !is_oversubscribed(row))
            .filter_map(|row| row.split.equal_counts().zip(row.completion_time_secs))
            .collect();
        let pairs = times.iter().flat_map(|larger| times.iter().map(move |smaller| (smaller, larger)));
        pairs
            .filter(|((smaller, _), (larger, _))| smaller != larger && smaller.0 <= larger.0 && smaller.1 <= larger.1)
            .map(|((smaller, fast), (larger, slow))| Self { smaller: *smaller, larger: *larger, ratio: slow / fast })
            .filter(|inversion| inversion.ratio > NOTABLE)
            .max_by(|a, b| a.ratio.total_cmp(&b.ratio))
    }

    /// Returns one sentence for users.
    pub(super) fn describe(&self) -> String {
        format!(
            "{} is predicted to take {:.2} times as long as {}, which is smaller: either this job does not scale that far, or \
             samples of one of the two are outliers. Measure both again to decide.",
            CoreSplit::even(self.larger.0, self.larger.1),
            self.ratio,
            CoreSplit::even(self.smaller.0, self.smaller.1),
        )
    }
}
