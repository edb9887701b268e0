//! The measurements of one job: completed and incomplete runs.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::{
    Configuration, Context, CoreSplit, LoggedRun, Outcome, Sample, TrainedAccuracy, sort_by, sort_by_cached_key,
};

/// The measurements of one job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The context that all runs share.
    pub context: Context,
    /// The runs that completed.
    pub observations: Vec<Observation>,
    /// Runs that ran out of memory or were stopped at a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<IncompleteRun>,
    /// Peak memory of executors in completed runs, by cores and partition size, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peaks: Vec<PeakMemory>,
    /// The accuracies of completed training runs, on all images or on a sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accuracies: Vec<TrainedAccuracy>,
    /// Completed runs with the times that their event logs give on other configurations, the
    /// latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logged: Vec<LoggedRun>,
}

/// Peak memory of an executor over the completed runs with the same cores and partition size. A
/// link stores it as an array of three numbers, in the order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32, u32)", into = "(u32, u32, u32)")]
pub struct PeakMemory {
    /// Task threads of an executor, C.
    pub cores_per_executor: u32,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Peak memory, MiB, above 0.
    pub peak_mib: u32,
}

impl From<(u32, u32, u32)> for PeakMemory {
    fn from((cores_per_executor, partition_size, peak_mib): (u32, u32, u32)) -> Self {
        Self { cores_per_executor, partition_size, peak_mib }
    }
}

impl From<PeakMemory> for (u32, u32, u32) {
    fn from(peak: PeakMemory) -> Self {
        (peak.cores_per_executor, peak.partition_size, peak.peak_mib)
    }
}

/// One completed run, as the predictor sees it. A link stores it as an array of its fields, with
/// `total_cores` last. Trailing fields that are false or `None` are omitted, so that older versions
/// can read these rows.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "Row")]
pub struct Observation {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C; in an uneven split, the largest number.
    pub cores_per_executor: u32,
    /// Task threads of all executors in an uneven split; `None` if each has C.
    pub total_cores: Option<u32>,
    /// Upper bound on an executor's memory, MiB.
    pub memory_per_executor_mib: u32,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Sampling rate, in (0, 1].
    pub sampling_rate: f64,
    /// Completion time: wall clock from submission to the last result, seconds, above 0.
    pub completion_time_secs: f64,
    /// Start-up time, seconds; `None` if it was not measured.
    pub startup_secs: Option<f64>,
    /// Whether another program slowed the machine during the run ([`Sample::is_disturbed`]), so
    /// that the time may be too long.
    pub disturbed: bool,
    /// Standard error of ln of the time, if it was extrapolated from the progress of a run that was
    /// stopped early; 0 for a measured time.
    pub log_error: f64,
}

/// A completed run as a row. `total_cores` and `log_error` are last.
#[derive(Deserialize)]
#[serde(expecting = "a run as a row of 7 to 10 values")]
struct Row(
    u32,
    u32,
    u32,
    u32,
    f64,
    f64,
    Option<f64>,
    #[serde(default)] bool,
    #[serde(default)] Option<u32>,
    #[serde(default)] f64,
);

impl From<Row> for Observation {
    fn from(row: Row) -> Self {
        Self {
            executors: row.0,
            cores_per_executor: row.1,
            total_cores: row.8,
            memory_per_executor_mib: row.2,
            partition_size: row.3,
            sampling_rate: row.4,
            completion_time_secs: row.5,
            startup_secs: row.6,
            disturbed: row.7,
            log_error: row.9,
        }
    }
}

impl Serialize for Observation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (e, c, m, p) = (self.executors, self.cores_per_executor, self.memory_per_executor_mib, self.partition_size);
        let (rate, secs, startup, disturbed) =
            (self.sampling_rate, self.completion_time_secs, self.startup_secs, self.disturbed);
        match self.total_cores {
            total if self.log_error > 0.0 => {
                (e, c, m, p, rate, secs, startup, disturbed, total, self.log_error).serialize(serializer)
            }
            Some(total) => (e, c, m, p, rate, secs, startup, disturbed, total).serialize(serializer),
            None if disturbed => (e, c, m, p, rate, secs, startup, disturbed).serialize(serializer),
            None => (e, c, m, p, rate, secs, startup).serialize(serializer),
        }
    }
}

/// A run that ran out of memory or was stopped at a limit. A link stores it as an array of its
/// fields, with `total_cores` last, which is omitted if it is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "IncompleteRow")]
pub struct IncompleteRun {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C; in an uneven split, the largest number.
    pub cores_per_executor: u32,
    /// Task threads of all executors in an uneven split; `None` if each has C.
    pub total_cores: Option<u32>,
    /// Upper bound on an executor's memory, MiB.
    pub memory_per_executor_mib: u32,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Sampling rate, in (0, 1].
    pub sampling_rate: f64,
    /// Why the run did not complete.
    pub outcome: IncompleteOutcome,
    /// Lower bound of the completion time, seconds; `None` for runs out of memory, which give no
    /// bound.
    pub at_least_secs: Option<f64>,
}

/// Why a run did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncompleteOutcome {
    /// An executor exceeded its memory.
    OutOfMemory,
    /// The accelerator had too little memory.
    OutOfAcceleratorMemory,
    /// The run was stopped at a time limit.
    TimedOut,
}

/// An incomplete run as a row. `total_cores` is last.
#[derive(Deserialize)]
#[serde(expecting = "an incomplete run as a row of 7 or 8 values")]
struct IncompleteRow(u32, u32, u32, u32, f64, IncompleteOutcome, Option<f64>, #[serde(default)] Option<u32>);

impl From<IncompleteRow> for IncompleteRun {
    fn from(row: IncompleteRow) -> Self {
        Self {
            executors: row.0,
            cores_per_executor: row.1,
            total_cores: row.7,
            memory_per_executor_mib: row.2,
            partition_size: row.3,
            sampling_rate: row.4,
            outcome: row.5,
            at_least_secs: row.6,
        }
    }
}

impl Serialize for IncompleteRun {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (e, c, m, p) = (self.executors, self.cores_per_executor, self.memory_per_executor_mib, self.partition_size);
        let (rate, outcome, secs) = (self.sampling_rate, self.outcome, self.at_least_secs);
        match self.total_cores {
            Some(total) => (e, c, m, p, rate, outcome, secs, total).serialize(serializer),
            None => (e, c, m, p, rate, outcome, secs).serialize(serializer),
        }
    }
}

impl Job {
    /// Returns a job with completed runs only.
    pub fn of_runs(context: Context, observations: Vec<Observation>) -> Self {
        let (incomplete, peaks, accuracies, logged) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { context, observations, incomplete, peaks, accuracies, logged }
    }

    /// Returns the job that processes the most images over its epochs, of those with a completed
    /// run if there is one.
    pub fn largest<'a>(jobs: impl IntoIterator<Item = &'a Self>) -> Option<&'a Self> {
        let size = |job: &Self| (!job.observations.is_empty(), job.context.workload.images_processed());
        let order = |one: &&Self, other: &&Self| {
            let ((is_measured, images), (is_other_measured, other_images)) = (size(one), size(other));
            is_measured.cmp(&is_other_measured).then(images.total_cmp(&other_images))
        };
        jobs.into_iter().max_by(order)
    }

    /// Returns jobs that differ only in their size as one job. The sampling rates become shares of
    /// `images`, all images that it processes over its epochs.
    pub fn joined(context: Context, parts: &[&Self], images: f64) -> Self {
        let mut job = Self::of_runs(context, Vec::new());
        for part in parts {
            let share = part.context.workload.images_processed() / images;
            // Rounding must not lift the share of the largest run above 1.
            let rate = |sampling_rate: f64| (sampling_rate * share).min(1.0);
            job.observations.extend(
                part.observations.iter().map(|run| Observation { sampling_rate: rate(run.sampling_rate), ..*run }),
            );
            job.incomplete.extend(
                part.incomplete.iter().map(|run| IncompleteRun { sampling_rate: rate(run.sampling_rate), ..*run }),
            );
            job.peaks.extend(&part.peaks);
            job.accuracies.extend(part.accuracies.iter().cloned());
            job.logged.extend(part.logged.iter().cloned());
        }
        job.sort_runs();
        job
    }

    /// Adds the run of a sample. [`Job::sort_runs`] has to follow the last one.
    pub fn add(&mut self, sample: &Sample) {
        self.accuracies.extend(TrainedAccuracy::of(sample));
        self.peaks.extend(PeakMemory::of(sample));
        self.observations.extend(Observation::of(sample));
        self.incomplete.extend(IncompleteRun::of(sample));
        self.logged.extend(LoggedRun::of(sample));
    }

    /// Whether every completed run has the times that its event log gives on other configurations.
    pub fn is_logged(&self) -> bool {
        let has_log = |run: &Observation| self.logged.iter().any(|logged| logged.is_of(run));
        !self.observations.is_empty() && self.observations.iter().all(has_log)
    }

    /// Returns the number of runs, completed or not.
    pub fn runs(&self) -> usize {
        self.observations.len() + self.incomplete.len()
    }

    /// Sorts the runs by their features, in the order of [`group_by_context`].
    pub fn sort_runs(&mut self) {
        sort_by(&mut self.observations, Observation::cmp_features);
        sort_by(&mut self.incomplete, IncompleteRun::cmp_features);
        // The largest peak of equal keys comes first, and `dedup` keeps the first.
        let key = |peak: &PeakMemory| (peak.cores_per_executor, peak.partition_size, Reverse(peak.peak_mib));
        sort_by_cached_key(&mut self.peaks, key);
        self.peaks.dedup_by_key(|peak| (peak.cores_per_executor, peak.partition_size));
        sort_by(&mut self.accuracies, TrainedAccuracy::order);
        let order = |one: &LoggedRun, other: &LoggedRun| {
            let time = one.completion_time_secs.total_cmp(&other.completion_time_secs);
            one.started_ms.cmp(&other.started_ms).then(time)
        };
        sort_by(&mut self.logged, order);
    }
}

impl Observation {
    /// Returns how the cores are divided among the executors.
    pub fn split(&self) -> CoreSplit {
        CoreSplit {
            executors: self.executors,
            cores_per_executor: self.cores_per_executor,
            total_cores: self.total_cores,
        }
    }

    /// Returns a run of which only the time is known.
    pub fn new(configuration: &Configuration, sampling_rate: f64, completion_time_secs: f64) -> Self {
        let CoreSplit { executors, cores_per_executor, total_cores } = configuration.split();
        Self {
            executors,
            cores_per_executor,
            total_cores,
            memory_per_executor_mib: configuration.memory_per_executor_mib,
            partition_size: configuration.partition_size,
            sampling_rate,
            completion_time_secs,
            startup_secs: None,
            disturbed: false,
            log_error: 0.0,
        }
    }

    /// Converts a sample; `None` unless its run completed.
    pub fn of(sample: &Sample) -> Option<Self> {
        let (startup_secs, disturbed) = (sample.startup_secs, sample.is_disturbed());
        let run = Self::new(&sample.configuration, sample.sampling_rate, sample.completed_secs()?);
        Some(Self { startup_secs, disturbed, log_error: sample.log_error, ..run })
    }

    fn cmp_features(&self, other: &Self) -> Ordering {
        let features =
            |run: &Self| (run.executors, run.cores_per_executor, run.memory_per_executor_mib, run.partition_size);
        features(self)
            .cmp(&features(other))
            .then(self.sampling_rate.total_cmp(&other.sampling_rate))
            .then(self.completion_time_secs.total_cmp(&other.completion_time_secs))
            .then(self.startup_secs.unwrap_or(0.0).total_cmp(&other.startup_secs.unwrap_or(0.0)))
            .then(self.disturbed.cmp(&other.disturbed))
            .then(self.total_cores.cmp(&other.total_cores))
            .then(self.log_error.total_cmp(&other.log_error))
    }
}

impl IncompleteRun {
    /// Returns how the cores are divided among the executors.
    pub fn split(&self) -> CoreSplit {
        CoreSplit {
            executors: self.executors,
            cores_per_executor: self.cores_per_executor,
            total_cores: self.total_cores,
        }
    }

    /// Returns a run that ended with this outcome.
    pub fn new(
        configuration: &Configuration,
        sampling_rate: f64,
        outcome: IncompleteOutcome,
        at_least_secs: Option<f64>,
    ) -> Self {
        let CoreSplit { executors, cores_per_executor, total_cores } = configuration.split();
        Self {
            executors,
            cores_per_executor,
            total_cores,
            memory_per_executor_mib: configuration.memory_per_executor_mib,
            partition_size: configuration.partition_size,
            sampling_rate,
            outcome,
            at_least_secs,
        }
    }

    /// Converts a sample; `None` for completed runs, and for failed ones, because other failures do
    /// not depend on the configuration.
    pub fn of(sample: &Sample) -> Option<Self> {
        let (outcome, at_least_secs) = match sample.outcome {
            Outcome::OutOfMemory if sample.is_out_of_accelerator_memory() => {
                (IncompleteOutcome::OutOfAcceleratorMemory, None)
            }
            Outcome::OutOfMemory => (IncompleteOutcome::OutOfMemory, None),
            Outcome::TimedOut => (IncompleteOutcome::TimedOut, sample.completion_time_secs),
            Outcome::Completed | Outcome::Failed => return None,
        };
        Some(Self::new(&sample.configuration, sample.sampling_rate, outcome, at_least_secs))
    }

    fn cmp_features(&self, other: &Self) -> Ordering {
        let features =
            |run: &Self| (run.executors, run.cores_per_executor, run.memory_per_executor_mib, run.partition_size);
        features(self)
            .cmp(&features(other))
            .then(self.sampling_rate.total_cmp(&other.sampling_rate))
            .then(self.outcome.cmp(&other.outcome))
            .then(self.at_least_secs.unwrap_or(0.0).total_cmp(&other.at_least_secs.unwrap_or(0.0)))
            .then(self.total_cores.cmp(&other.total_cores))
    }
}

impl PeakMemory {
    /// Extracts the peak memory of a completed run; `None` if the sample does not hold it.
    pub fn of(sample: &Sample) -> Option<Self> {
        sample.completed_secs()?;
        let configuration = &sample.configuration;
        Some(Self {
            cores_per_executor: configuration.cores_per_executor,
            partition_size: configuration.partition_size,
            peak_mib: u32::try_from(sample.peak_memory_mib?).ok().filter(|mib| *mib > 0)?,
        })
    }
}

/// Groups samples into jobs. The result does not depend on the order of the samples: jobs are
/// sorted by the JSON of their contexts, runs by their features. A job whose runs all failed has no
/// runs.
pub fn group_by_context(samples: &[Sample]) -> Vec<Job> {
    let mut jobs: BTreeMap<String, Job> = BTreeMap::new();
    for sample in samples {
        let context = Context::of(sample);
        jobs.entry(context.key()).or_insert_with(|| Job::of_runs(context, Vec::new())).add(sample);
    }
    let mut jobs: Vec<Job> = jobs.into_values().collect();
    jobs.iter_mut().for_each(Job::sort_runs);
    jobs
}
