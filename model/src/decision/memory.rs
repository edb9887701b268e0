//! Which configurations run out of memory, as far as the runs say.
//!
//! An executor needs no less memory for more cores or larger partitions, each of which holds more images at a time. A run
//! that went over its memory therefore speaks for every configuration with as many cores or more, partitions as large
//! or larger, and as much memory or less. The number of executors does not matter: each has its own memory. Nor does the
//! sampling rate, since an executor holds partitions and not the data set, unless a run says otherwise: a completed
//! run clears what asks for no more of anything, its sampling rate included, of runs at larger sampling rates.
//!
//! Where no run went over its memory, the memory that executors held tells which would: see [`peak`](super::peak).

use foreglow_shared::{IncompleteOutcome, IncompleteRun, Job, Observation};

use super::peak::expected_peak_mib;

/// What an executor holds at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Footprint {
    pub(crate) cores_per_executor: u32,
    pub(crate) memory_per_executor_mib: u32,
    pub(crate) partition_size: u32,
    pub(crate) sampling_rate: f64,
}

impl Footprint {
    /// The smallest partitions that completed are those that the job would be run with.
    pub(crate) fn of_job(job: &Job, cores_per_executor: u32, memory_per_executor_mib: u32, sampling_rate: f64) -> Self {
        let sizes = job.observations.iter().map(|run| run.partition_size);
        Self { cores_per_executor, memory_per_executor_mib, partition_size: sizes.min().unwrap_or(1), sampling_rate }
    }

    /// The run that says that this goes over its memory: the one with the fewest cores, the smallest partitions and the
    /// most memory, in this order.
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

    /// The memory that an executor is expected to need, MiB, where that is more than it has and no completed run had as
    /// little for as much.
    pub(crate) fn expected_over_memory(self, job: &Job) -> Option<u32> {
        let peak = expected_peak_mib(&job.peaks, self.cores_per_executor, self.partition_size)?;
        let is_over = peak > f64::from(self.memory_per_executor_mib);
        (is_over && !job.observations.iter().any(|run| self.is_within(run))).then_some(peak.ceil() as u32)
    }

    fn is_cleared(self, completed: &[Observation]) -> bool {
        completed.iter().any(|run| self.is_within(run) && run.sampling_rate >= self.sampling_rate)
    }

    /// Whether this holds no more than a run, and has no less memory.
    fn is_within(self, run: &Observation) -> bool {
        run.cores_per_executor >= self.cores_per_executor
            && run.partition_size >= self.partition_size
            && run.memory_per_executor_mib <= self.memory_per_executor_mib
    }
}

/// Whether a run went over its memory.
pub(crate) fn is_out_of_memory(run: &IncompleteRun) -> bool {
    run.outcome == IncompleteOutcome::OutOfMemory
}
