//! Times of an arm that are not those of a fit of runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use foreglow_shared::{CoreSplit, Job};

use super::Basis;
use crate::public::PublicTimes;
use crate::{Prediction, SimulatedTimes};

/// About the most numbers of executors that are compared by default; each log is simulated on each.
const MOST_COUNTS: u32 = 64;

/// Times of an arm that are not those of a fit of runs.
#[derive(Clone, Debug)]
pub(crate) enum GivenTimes {
    /// From public measurements, of a job that never ran there.
    Public(PublicTimes),
    /// From the simulation of event logs.
    Simulated(Arc<SimulatedTimes>),
}

impl GivenTimes {
    /// Predicts a share of the job; `None` on configurations that have no time.
    pub(crate) fn predict(&self, split: CoreSplit, share: f64) -> Option<Prediction> {
        match self {
            Self::Public(times) => times.predict(split.executors, share),
            Self::Simulated(times) => {
                let (executors, cores) = split.equal_counts()?;
                times.predict(executors, cores, share)
            }
        }
    }

    /// Returns the basis of the times.
    pub(crate) fn basis(&self) -> Basis {
        match self {
            Self::Public(_) => Basis::Public,
            Self::Simulated(_) => Basis::Simulated,
        }
    }

    /// Returns the numbers of executors and of cores to compare, ascending: the given ones, or else
    /// those that have a time or, of logs, 1 to twice the logged executors, in equal steps, and the
    /// logged cores.
    /// Those of public measurements are part of their question.
    pub(crate) fn counts(&self, job: &Job, executors: &[u32], cores: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let times = match self {
            Self::Public(times) => return (times.executors(), vec![1]),
            Self::Simulated(times) => times,
        };
        let logged = times.runs().iter().map(|run| run.executors).max().unwrap_or(1);
        let most = logged.saturating_mul(2);
        let step = most.div_ceil(MOST_COUNTS);
        let usual = (1..=most).filter(|count| count.is_multiple_of(step) || [1, logged].contains(count));
        let or_usual = |given: &[u32], usual: BTreeSet<u32>| -> Vec<u32> {
            let given: BTreeSet<u32> = given.iter().copied().collect();
            if given.is_empty() { usual } else { given }.into_iter().collect()
        };
        let measured = job.observations.iter().map(|run| run.cores_per_executor).collect();
        (or_usual(executors, usual.collect()), or_usual(cores, measured))
    }
}
