//! Detects configurations that run out of memory, from measured runs.
//!
//! More cores or larger partitions never need less memory, because an executor then holds more
//! images at a time. A run that ran out of memory therefore excludes every configuration with at
//! least as many cores, at least as large partitions and at most as much memory. The number of
//! executors does not matter, because each has its own memory. Nor does the sampling rate, because
//! an executor holds partitions and not the data set, except where a completed run shows otherwise:
//! it refutes failures at larger sampling rates, for everything that needs no more than it did.
//!
//! If no run ran out of memory, the peak memory of completed runs is extrapolated: see
//! [`peak`](super::peak).

use foreglow_shared::{IncompleteOutcome, IncompleteRun, Job, Observation};

use super::peak::expected_peak_mib;

/// Properties of a configuration that determine its memory use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Footprint {
    pub(crate) cores_per_executor: u32,
    pub(crate) memory_per_executor_mib: u32,
    pub(crate) partition_size: u32,
    pub(crate) sampling_rate: f64,
}

impl Footprint {
    /// Returns the footprint with the smallest partition size that completed, with which the job
    /// would be run.
    pub(crate) fn of_job(job: &Job, cores_per_executor: u32, memory_per_executor_mib: u32, sampling_rate: f64) -> Self {
        let sizes = job.observations.iter().map(|run| run.partition_size);
        Self { cores_per_executor, memory_per_executor_mib, partition_size: sizes.min().unwrap_or(1), sampling_rate }
    }

    /// Returns the run that shows that this footprint runs out of memory: of several, the one with
    /// the fewest cores, then the smallest partitions, then the most memory.
    pub(crate) fn goes_over_memory(self, job: &Job) -> Option<IncompleteRun> {
        let over = |run: &&IncompleteRun| {
            is_out_of_memory(run)
                && run.cores_per_executor <= self.cores_per_executor
                && run.partition_size <= self.partition_size
                && run.memory_per_executor_mib >= self.memory_per_executor_mib
                && (run.sampling_rate <= self.sampling_rate || !self.is_cleared(&job.observations))
        };
        let place =
            |run: &&IncompleteRun| (run.cores_per_executor, run.partition_size, u32::MAX - run.memory_per_executor_mib);
        job.incomplete.iter().filter(over).min_by_key(place).copied()
    }

    /// Returns the expected peak memory, MiB, if it exceeds the memory and no completed run refutes
    /// it.
    pub(crate) fn expected_over_memory(self, job: &Job) -> Option<u32> {
        let peak = expected_peak_mib(&job.peaks, self.cores_per_executor, self.partition_size)?;
        let is_over = peak > f64::from(self.memory_per_executor_mib);
        (is_over && !job.observations.iter().any(|run| self.is_within(run))).then_some(peak.ceil() as u32)
    }

    fn is_cleared(self, completed: &[Observation]) -> bool {
        completed.iter().any(|run| self.is_within(run) && run.sampling_rate >= self.sampling_rate)
    }

    /// Whether this footprint needs no more than a run and has at least as much memory.
    fn is_within(self, run: &Observation) -> bool {
        run.cores_per_executor >= self.cores_per_executor
            && run.partition_size >= self.partition_size
            && run.memory_per_executor_mib <= self.memory_per_executor_mib
    }
}

/// Whether a run ran out of memory.
pub(crate) fn is_out_of_memory(run: &IncompleteRun) -> bool {
    run.outcome == IncompleteOutcome::OutOfMemory
}
