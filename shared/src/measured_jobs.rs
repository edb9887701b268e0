//! The jobs of which samples hold a completed run, with the numbers by which users choose one.

use crate::{Job, Sample, format_count, group_by_context};

/// Returns the jobs with a completed run, with their numbers, from 1.
pub fn measured_jobs(samples: &[Sample]) -> Vec<(usize, Job)> {
    let jobs = group_by_context(samples).into_iter().filter(|job| !job.observations.is_empty());
    jobs.enumerate().map(|(index, job)| (index + 1, job)).collect()
}

/// Lists jobs with their numbers, one a line.
pub fn list_jobs(jobs: &[(usize, Job)]) -> String {
    let line = |(number, job): &(usize, Job)| {
        let runs = format_count(job.observations.len(), "completed run");
        format!("  {number}  {} ({runs})", job.context.title())
    };
    jobs.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl Job {
    /// Returns jobs that differ only in their size as one job, which has the size of the largest;
    /// `None` if they differ in more, or for no jobs.
    pub fn of_all_sizes(jobs: &[&Self]) -> Option<Self> {
        let largest = Self::largest(jobs.iter().copied())?;
        let is_alike = jobs.iter().all(|job| job.context.is_same_but_for_size(&largest.context));
        is_alike.then(|| Self::joined(largest.context.clone(), jobs, largest.context.workload.images_processed()))
    }
}
