//! Times of an arm that are not those of a fit of runs.

use std::collections::BTreeSet;
use std::fmt::Debug;

use foreglow_shared::{CoreSplit, Job, SlotTimes};

use super::Basis;
use crate::public::PublicTimes;
use crate::{Prediction, SimulatedTimes};

/// Times of an arm that are not those of a fit of runs.
pub(crate) trait GivenTimes: Debug + Send + Sync {
    /// Predicts a share of the job; `None` on configurations that have no time.
    fn predict(&self, split: CoreSplit, share: f64) -> Option<Prediction>;

    /// Returns the basis of the times.
    fn basis(&self) -> Basis;

    /// Returns the numbers of executors and of cores to compare, ascending. `executors` and `cores`
    /// are those that the user asks about; empty for the default.
    fn counts(&self, job: &Job, executors: &[u32], cores: &[u32]) -> (Vec<u32>, Vec<u32>);
}

/// From public measurements, of a job that never ran there.
impl GivenTimes for PublicTimes {
    fn predict(&self, split: CoreSplit, share: f64) -> Option<Prediction> {
        self.of_share(split.executors, share)
    }

    fn basis(&self) -> Basis {
        Basis::Public
    }

    /// Returns the counts that have a time: they are part of the question.
    fn counts(&self, _job: &Job, _executors: &[u32], _cores: &[u32]) -> (Vec<u32>, Vec<u32>) {
        (self.executors(), vec![1])
    }
}

/// From the simulation of event logs.
impl GivenTimes for SimulatedTimes {
    fn predict(&self, split: CoreSplit, share: f64) -> Option<Prediction> {
        let (executors, cores) = split.equal_counts()?;
        self.of_share(executors, cores, share)
    }

    fn basis(&self) -> Basis {
        Basis::Simulated
    }

    /// Returns, by default, 1 to twice the logged executors, in equal steps, and the logged cores.
    fn counts(&self, job: &Job, executors: &[u32], cores: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let logged = self.runs().iter().map(|run| run.executors).max().unwrap_or(1);
        let usual = SlotTimes::compared_executors(logged);
        let or_usual = |given: &[u32], usual: BTreeSet<u32>| -> Vec<u32> {
            let given: BTreeSet<u32> = given.iter().copied().collect();
            if given.is_empty() { usual } else { given }.into_iter().collect()
        };
        let measured = job.observations.iter().map(|run| run.cores_per_executor).collect();
        (or_usual(executors, usual.collect()), or_usual(cores, measured))
    }
}
