//! Figures of new samples, to add to those of their runs and jobs.

use std::sync::Arc;

use super::newest::Newest;

/// Increments of a job by new samples.
#[derive(Clone, Debug)]
pub(super) struct AddedToJob {
    pub(super) job: Arc<str>,
    pub(super) samples: i64,
    /// Position of the newest one.
    pub(super) latest: i64,
}

/// Figures of the samples of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) samples: i64,
    pub(super) timed: i64,
    pub(super) sum: f64,
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
    pub(super) newest: Newest,
}

impl Sums {
    /// Counts the sample at a position.
    pub(super) fn count(&mut self, position: i64, secs: Option<f64>) {
        self.samples += 1;
        self.newest.add(position);
        if let Some(secs) = secs {
            self.timed += 1;
            self.sum += secs;
            self.least = Some(self.least.map_or(secs, |least| least.min(secs)));
            self.most = Some(self.most.map_or(secs, |most| most.max(secs)));
        }
    }
}
