//! Detects configurations that run out of memory, from measured runs.
//!
//! More cores or larger partitions never need less memory, because an executor then holds more
//! images at a time. A run that ran out of memory therefore excludes every configuration with at
//! least as many cores, at least as large partitions and at most as much memory. The number of
//! executors does not matter, because each has its own memory. The sampling rate does not matter
//! either, because an executor holds partitions and not the data set. The exception is a completed
//! run at a smaller sampling rate: it refutes failures at larger sampling rates for every
//! configuration that needs no more memory.
//!
//! If the memory of the GPU was exceeded, more memory of the executor does not help, and more
//! executors that share the GPU need at least as much.
//!
//! If no run ran out of memory, the peak memory of completed runs is extrapolated: see
//! [`peak`](super::peak).

use foreglow_shared::{IncompleteOutcome, IncompleteRun, Job, Observation};

use super::peak::expected_peak_mib;

/// Properties of a configuration that determine its memory use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Footprint {
    pub(crate) executors: u32,
    pub(crate) cores_per_executor: u32,
    pub(crate) memory_per_executor_mib: u32,
    pub(crate) partition_size: u32,
    pub(crate) sampling_rate: f64,
}

impl Footprint {
    /// Returns the run that shows that this footprint runs out of memory: of several, the one with
    /// the fewest cores, then the smallest partitions, then the most memory.
    pub(crate) fn goes_over_memory(self, job: &Job) -> Option<IncompleteRun> {
        let is_shared = job.context.shares_accelerators;
        let over = |run: &&IncompleteRun| {
            let has_no_less = match run.outcome {
                IncompleteOutcome::OutOfMemory => run.memory_per_executor_mib >= self.memory_per_executor_mib,
                IncompleteOutcome::OutOfAcceleratorMemory => !is_shared || run.executors <= self.executors,
                IncompleteOutcome::TimedOut => false,
            };
            has_no_less
                && run.cores_per_executor <= self.cores_per_executor
                && run.partition_size <= self.partition_size
                && (run.sampling_rate <= self.sampling_rate || !self.is_cleared(job, run.outcome))
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

    /// Whether a completed run on at least as many images refutes such a failure.
    fn is_cleared(self, job: &Job, outcome: IncompleteOutcome) -> bool {
        let clears = |run: &Observation| match outcome {
            IncompleteOutcome::OutOfAcceleratorMemory => self.is_within_accelerator(run, job),
            _ => self.is_within(run),
        };
        job.observations.iter().any(|run| run.sampling_rate >= self.sampling_rate && clears(run))
    }

    /// Whether a completed run of the job shows that the footprint fits into memory.
    pub(crate) fn is_shown_by(self, job: &Job) -> bool {
        let on_gpu = job.context.accelerator.is_some();
        let shows = |run: &Observation| if on_gpu { self.is_within_accelerator(run, job) } else { self.is_within(run) };
        job.observations.iter().any(shows)
    }

    /// Whether this footprint needs at most as much accelerator memory as a run.
    fn is_within_accelerator(self, run: &Observation, job: &Job) -> bool {
        let is_shared = job.context.shares_accelerators;
        self.needs_no_more_than(run) && (!is_shared || run.executors >= self.executors)
    }

    fn needs_no_more_than(self, run: &Observation) -> bool {
        run.cores_per_executor >= self.cores_per_executor && run.partition_size >= self.partition_size
    }

    /// Whether this footprint needs no more than a run and its executors have at least as much
    /// memory.
    fn is_within(self, run: &Observation) -> bool {
        self.needs_no_more_than(run) && run.memory_per_executor_mib <= self.memory_per_executor_mib
    }
}

/// Whether a run ran out of the memory of an executor or of a GPU.
pub(crate) fn is_out_of_memory(run: &IncompleteRun) -> bool {
    run.outcome != IncompleteOutcome::TimedOut
}
