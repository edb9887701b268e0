//! Times of an arm that are not those of a fit of runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use foreglow_shared::{CoreSplit, Job};

use super::Basis;
use crate::public::PublicTimes;
use crate::{Prediction, SimulatedTimes};

/// Most executors to compare by default: twice the logged number up to this, or the logged number.
const MOST_EXECUTORS: u32 = 64;

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
    /// those that have a time or, of logs, 1 to twice the logged executors and the logged cores.
    /// Those of public measurements are part of their question.
    pub(crate) fn counts(&self, job: &Job, executors: &[u32], cores: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let times = match self {
            Self::Public(times) => return (times.executors(), vec![1]),
            Self::Simulated(times) => times,
        };
        let logged = times.runs().iter().map(|run| run.executors).max().unwrap_or(1);
        let most = logged.saturating_mul(2).min(MOST_EXECUTORS).max(logged);
        let or_usual = |given: &[u32], usual: BTreeSet<u32>| -> Vec<u32> {
            let given: BTreeSet<u32> = given.iter().copied().collect();
            if given.is_empty() { usual } else { given }.into_iter().collect()
        };
        let measured = job.observations.iter().map(|run| run.cores_per_executor).collect();
        (or_usual(executors, (1..=most).collect()), or_usual(cores, measured))
    }
}
