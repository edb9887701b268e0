//! What was measured of one job: the runs that completed, and those that did not.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Context, Outcome, Sample, sort_by};

/// The measurements of one job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What the runs have in common.
    pub context: Context,
    /// The runs that completed.
    pub observations: Vec<Observation>,
    /// The runs that say something without having completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<IncompleteRun>,
    /// Most memory that executors held in the runs that completed, by cores and partition size, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peaks: Vec<PeakMemory>,
}

/// Most memory that an executor held, of the completed runs with as many cores and partitions as large. In a link it is a row
/// of three numbers, in the order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32, u32)", into = "(u32, u32, u32)")]
pub struct PeakMemory {
    /// Task threads of an executor, C.
    pub cores_per_executor: u32,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Most memory, MiB, above 0.
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

/// One completed run, as the predictor sees it. In a link it is a row of the fields in their order, without the last one where it
/// is `false`: a version that does not know it reads these rows too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C.
    pub cores_per_executor: u32,
    /// Upper bound on an executor's memory, MiB.
    pub memory_per_executor_mib: u32,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Share of the images, in (0, 1].
    pub sampling_rate: f64,
    /// Wall clock from submission to the last result, seconds, above 0.
    pub completion_time_secs: f64,
    /// Start-up, seconds; `None` where it was not measured.
    pub startup_secs: Option<f64>,
    /// Whether something else slowed the machine during the run ([`Sample::is_disturbed`]), so that the time may be too long.
    pub disturbed: bool,
}

impl Serialize for Observation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_seq(Some(if self.disturbed { 8 } else { 7 }))?;
        row.serialize_element(&self.executors)?;
        row.serialize_element(&self.cores_per_executor)?;
        row.serialize_element(&self.memory_per_executor_mib)?;
        row.serialize_element(&self.partition_size)?;
        row.serialize_element(&self.sampling_rate)?;
        row.serialize_element(&self.completion_time_secs)?;
        row.serialize_element(&self.startup_secs)?;
        if self.disturbed {
            row.serialize_element(&true)?;
        }
        row.end()
    }
}

impl<'de> Deserialize<'de> for Observation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = Observation;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a run as a row of 7 or 8 values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<Observation, A::Error> {
        fn next<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(row: &mut A, place: usize) -> Result<T, A::Error> {
            row.next_element()?.ok_or_else(|| A::Error::invalid_length(place, &RowVisitor))
        }
        Ok(Observation {
            executors: next(&mut row, 0)?,
            cores_per_executor: next(&mut row, 1)?,
            memory_per_executor_mib: next(&mut row, 2)?,
            partition_size: next(&mut row, 3)?,
            sampling_rate: next(&mut row, 4)?,
            completion_time_secs: next(&mut row, 5)?,
            startup_secs: next(&mut row, 6)?,
            disturbed: row.next_element()?.unwrap_or(false),
        })
    }
}

/// A run that went over its memory or was stopped at a limit, as the predictor and the decision see it. In a link it is a
/// row, in the order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "IncompleteRow", into = "IncompleteRow")]
pub struct IncompleteRun {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C.
    pub cores_per_executor: u32,
    /// Upper bound on an executor's memory, MiB.
    pub memory_per_executor_mib: u32,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Share of the images, in (0, 1].
    pub sampling_rate: f64,
    /// Why it did not complete.
    pub outcome: IncompleteOutcome,
    /// The completion time is longer than so many seconds; `None` where the run says nothing of its time, as one that
    /// went over its memory does not.
    pub at_least_secs: Option<f64>,
}

/// Why a run did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncompleteOutcome {
    /// An executor went over its memory.
    OutOfMemory,
    /// Stopped at a limit.
    TimedOut,
}

type IncompleteRow = (u32, u32, u32, u32, f64, IncompleteOutcome, Option<f64>);

impl From<IncompleteRow> for IncompleteRun {
    fn from(row: IncompleteRow) -> Self {
        Self {
            executors: row.0,
            cores_per_executor: row.1,
            memory_per_executor_mib: row.2,
            partition_size: row.3,
            sampling_rate: row.4,
            outcome: row.5,
            at_least_secs: row.6,
        }
    }
}

impl From<IncompleteRun> for IncompleteRow {
    fn from(run: IncompleteRun) -> Self {
        (
            run.executors,
            run.cores_per_executor,
            run.memory_per_executor_mib,
            run.partition_size,
            run.sampling_rate,
            run.outcome,
            run.at_least_secs,
        )
    }
}

impl Job {
    /// Puts the runs into the order of their features, in which [`group_by_context`] gives them.
    pub fn sort_runs(&mut self) {
        sort_by(&mut self.observations, Observation::cmp_features);
        sort_by(&mut self.incomplete, IncompleteRun::cmp_features);
        // Of equal cores and partitions the largest comes first, and stays.
        let key = |peak: &PeakMemory| (peak.cores_per_executor, peak.partition_size, Reverse(peak.peak_mib));
        sort_by(&mut self.peaks, |a, b| key(a).cmp(&key(b)));
        self.peaks.dedup_by_key(|peak| (peak.cores_per_executor, peak.partition_size));
    }
}

impl Observation {
    /// What the predictor sees of a sample; `None` unless the run completed.
    pub fn of(sample: &Sample) -> Option<Self> {
        let configuration = &sample.configuration;
        Some(Self {
            executors: configuration.executors,
            cores_per_executor: configuration.cores_per_executor,
            memory_per_executor_mib: configuration.memory_per_executor_mib,
            partition_size: configuration.partition_size,
            sampling_rate: sample.sampling_rate,
            completion_time_secs: sample.completed_secs()?,
            startup_secs: sample.startup_secs,
            disturbed: sample.is_disturbed(),
        })
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
    }
}

impl IncompleteRun {
    /// What a sample says without having completed; `None` of a completed run, and of one that failed for reasons that
    /// say nothing of its configuration.
    pub fn of(sample: &Sample) -> Option<Self> {
        let (outcome, at_least_secs) = match sample.outcome {
            Outcome::OutOfMemory => (IncompleteOutcome::OutOfMemory, None),
            Outcome::TimedOut => (IncompleteOutcome::TimedOut, sample.completion_time_secs),
            Outcome::Completed | Outcome::Failed => return None,
        };
        let configuration = &sample.configuration;
        Some(Self {
            executors: configuration.executors,
            cores_per_executor: configuration.cores_per_executor,
            memory_per_executor_mib: configuration.memory_per_executor_mib,
            partition_size: configuration.partition_size,
            sampling_rate: sample.sampling_rate,
            outcome,
            at_least_secs,
        })
    }

    fn cmp_features(&self, other: &Self) -> Ordering {
        let features =
            |run: &Self| (run.executors, run.cores_per_executor, run.memory_per_executor_mib, run.partition_size);
        features(self)
            .cmp(&features(other))
            .then(self.sampling_rate.total_cmp(&other.sampling_rate))
            .then(self.outcome.cmp(&other.outcome))
            .then(self.at_least_secs.unwrap_or(0.0).total_cmp(&other.at_least_secs.unwrap_or(0.0)))
    }
}

impl PeakMemory {
    /// The most memory that an executor of a completed run held; `None` where the sample does not say.
    pub fn of(sample: &Sample) -> Option<Self> {
        sample.completed_secs()?;
        let configuration = &sample.configuration;
        Some(Self {
            cores_per_executor: configuration.cores_per_executor,
            partition_size: configuration.partition_size,
            peak_mib: u32::try_from(sample.peak_memory_mib()?).ok().filter(|mib| *mib > 0)?,
        })
    }
}

/// Sorts samples into the jobs that they measured. The order of the samples changes nothing: jobs come in the order of
/// their contexts' JSON, runs in the order of their features. A job whose runs all failed is there without runs.
pub fn group_by_context(samples: &[Sample]) -> Vec<Job> {
    let mut jobs: BTreeMap<String, Job> = BTreeMap::new();
    for sample in samples {
        let context = Context::of(sample);
        let job = jobs.entry(context.key()).or_insert_with(|| Job {
            context,
            observations: Vec::new(),
            incomplete: Vec::new(),
            peaks: Vec::new(),
        });
        job.peaks.extend(PeakMemory::of(sample));
        job.observations.extend(Observation::of(sample));
        job.incomplete.extend(IncompleteRun::of(sample));
    }
    let mut jobs: Vec<Job> = jobs.into_values().collect();
    jobs.iter_mut().for_each(Job::sort_runs);
    jobs
}
