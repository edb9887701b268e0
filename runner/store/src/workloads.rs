//! Workloads with their number of samples.

use std::collections::BTreeMap;

use foreglow_exit::unusable;
use foreglow_shared::Context;

use super::Store;
use super::failure::Outcome;
use super::row::text;
use super::runs::MOST_BYTES;

/// A workload and its number of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedWorkload {
    /// The workload, JSON.
    pub workload: String,
    /// Number of samples.
    pub samples: u64,
}

/// A page of workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadPage {
    /// The workloads, sorted by their JSON.
    pub workloads: Vec<CountedWorkload>,
    /// Fingerprint of a job with the last of these workloads, if others follow.
    pub next: Option<String>,
}

/// A job of a workload, and the number of samples of all its jobs.
struct OfWorkload {
    job: String,
    samples: u64,
}

impl Store {
    /// Returns workloads with samples, sorted by their JSON: at most this number, and few enough
    /// for an answer in memory. `after` is a job after whose workload the list continues.
    ///
    /// # Errors
    /// The store cannot be read, or the job is unknown.
    pub fn workloads(&self, after: Option<&str>, limit: usize) -> anyhow::Result<WorkloadPage> {
        let after = after.map(|job| self.workload_of(job)).transpose()?;
        let mut counted: BTreeMap<String, OfWorkload> = BTreeMap::new();
        let (mut bytes, mut has_more) = (0, false);
        let query = "SELECT job, context, samples FROM jobs WHERE samples > 0";
        let read = self.database.each(query, &[], &mut |mut row| {
            let (job, samples) = (row.text(0)?, row.integer(2)?.unsigned_abs());
            let workload = workload_in(&row.text(1)?)?;
            let is_later = has_more && counted.last_key_value().is_none_or(|(last, _)| workload > *last);
            if is_later || after.as_ref().is_some_and(|after| workload <= *after) {
                return Ok(true);
            }
            if let Some(of_workload) = counted.get_mut(&workload) {
                of_workload.samples += samples;
                return Ok(true);
            }
            bytes += workload.len();
            counted.insert(workload, OfWorkload { job, samples });
            // Only those of this page are kept in memory.
            while counted.len() > limit || (bytes > MOST_BYTES && counted.len() > 1) {
                bytes -= counted.pop_last().map_or(0, |(workload, _)| workload.len());
                has_more = true;
            }
            Ok(true)
        });
        read.map_err(|failure| self.explain(&failure))?;
        let next = counted.last_key_value().filter(|_| has_more).map(|(_, last)| last.job.clone());
        let workloads = counted.into_iter().map(|(workload, of)| CountedWorkload { workload, samples: of.samples });
        Ok(WorkloadPage { workloads: workloads.collect(), next })
    }

    fn workload_of(&self, job: &str) -> anyhow::Result<String> {
        let query = "SELECT context FROM jobs WHERE job = $1";
        let found = self.read(query, &[text(job)], |mut row| workload_in(&row.text(0)?))?.pop();
        found.ok_or_else(|| unusable(format!("there is no job {job:?} to continue after; start without after")))
    }
}

/// Returns the JSON of the workload in that of a context.
fn workload_in(context: &str) -> Outcome<String> {
    Ok(serde_json::to_string(&serde_json::from_str::<Context>(context)?.workload)?)
}
