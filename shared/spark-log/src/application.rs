//! The content of one application's event log.

use std::collections::{BTreeMap, BTreeSet};

use foreglow_shared::number;

/// One application: its executors, jobs and stages.
///
/// Every `_ms` field that is a point in time counts from 1970 on the driver's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Application {
    /// `Spark Version`, such as `3.5.9`.
    pub spark_version: Option<String>,
    /// Application id given by the cluster manager, such as `app-20261121145553-0000`.
    pub id: Option<String>,
    /// Application name given by the user.
    pub name: Option<String>,
    /// When the driver's context started.
    pub started_ms: Option<i64>,
    /// Number of starts in the log; several if it is of several applications or attempts.
    pub starts: u32,
    /// When the application ended; absent while it runs, if it was killed, or if the event was
    /// lost.
    pub ended_ms: Option<i64>,
    /// [`Damage::losses`] before the end of the application.
    pub losses_before_end: u64,
    /// `Spark Properties` that begin with `spark.`.
    pub properties: BTreeMap<String, String>,
    /// Requested resources by `Resource Profile Id`; 0 is the application's default.
    pub profiles: BTreeMap<u32, ResourceProfile>,
    /// Executors, in the order of registration.
    pub executors: Vec<Executor>,
    /// Ids of executors that ended a task without having been registered.
    pub unregistered: BTreeSet<String>,
    /// Jobs by `Job ID`.
    pub jobs: BTreeMap<u32, SparkJob>,
    /// Number of jobs without the time of their submission: Spark before 1.3 did not record it.
    pub untimed_jobs: u64,
    /// Stages by `Stage ID`; all attempts of a stage are merged.
    pub stages: BTreeMap<u32, Stage>,
    /// Unreadable and missing parts of the log.
    pub damage: Damage,
}

/// Resources requested by a resource profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceProfile {
    /// Cores of an executor.
    pub cores: Option<u32>,
    /// Heap of an executor, MiB.
    pub memory_mib: Option<u64>,
    /// Off-heap memory of an executor (overhead), MiB.
    pub overhead_mib: Option<u64>,
    /// Cores of one task; `None` means Spark's default of 1.
    pub task_cpus: Option<f64>,
}

/// One executor.
#[derive(Clone, Debug, PartialEq)]
pub struct Executor {
    /// Executor id; `driver` if the driver itself runs the tasks (a local master).
    pub id: String,
    /// Host name.
    pub host: String,
    /// Cores, C.
    pub cores: u32,
    /// Addresses by resource name, such as `gpu`.
    pub resources: BTreeMap<String, Vec<String>>,
    /// Resource profile id.
    pub profile: u32,
    /// When it registered.
    pub added_ms: i64,
    /// When and why it was removed, if that was before the application ended.
    pub loss: Option<Loss>,
}

/// The removal of an executor.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// When the driver noticed it.
    pub at_ms: i64,
    /// Spark's reason.
    pub reason: String,
}

/// One job, started by an action of the driver's program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparkJob {
    /// When it was submitted.
    pub submitted_ms: Option<i64>,
    /// How it ended; absent if the log has no end.
    pub end: Option<JobEnd>,
    /// Its stages, including skipped ones.
    pub stages: Vec<u32>,
    /// `spark.job.description`.
    pub description: Option<String>,
    /// Its local properties that begin with [`LABEL_PREFIX`](super::LABEL_PREFIX).
    pub labels: BTreeMap<String, String>,
    /// Whether it is a micro-batch of a streaming query.
    pub is_of_stream: bool,
}

/// The end of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEnd {
    /// When it ended.
    pub at_ms: i64,
    /// Message of the exception if the job failed; `None` if it succeeded.
    pub failure: Option<String>,
    /// [`Damage::losses`] before the end of the job.
    pub losses_before: u64,
}

/// One stage, with all attempts merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stage {
    /// Spark's name of the stage: the call site in the user's program.
    pub name: String,
    /// Stages whose output it reads.
    pub parents: Vec<u32>,
    /// Tasks of a full attempt.
    pub tasks: Option<u32>,
    /// Resource profile id.
    pub profile: u32,
    /// When its first attempt was submitted; absent if the stage was skipped.
    pub submitted_ms: Option<i64>,
    /// When its last attempt ended.
    pub completed_ms: Option<i64>,
    /// Why its last attempt failed, if it did.
    pub failure: Option<String>,
    /// Number of its last attempt; 0 without a retry.
    pub last_attempt: u32,
    /// Whether this is a barrier stage, whose tasks must all run at the same time.
    pub is_barrier: bool,
    /// When its first task was launched.
    pub first_launch_ms: Option<i64>,
    /// When its last task finished.
    pub last_finish_ms: Option<i64>,
    /// Slot time of each task by index, milliseconds: from launch to finish on the driver's clock,
    /// summed over failed attempts and the final one. [`Stage::UNKNOWN`] if the log does not record
    /// it.
    pub task_ms: Vec<u32>,
    /// Sums over all tasks.
    pub totals: TaskTotals,
    /// Values of named accumulators that begin with `foreglow.`.
    pub accumulators: BTreeMap<String, i64>,
}

/// Sums over the tasks of a stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskTotals {
    /// Attempts that succeeded.
    pub succeeded: u32,
    /// Attempts that failed.
    pub failed: u32,
    /// Attempts that were killed, mostly because a speculative copy was faster.
    pub killed: u32,
    /// Time in the executors' threads, milliseconds; `None` if no task recorded it.
    pub run_ms: Option<u64>,
    /// CPU time of those threads, without child processes, nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Time of garbage collection in the executors' JVMs, milliseconds.
    pub gc_ms: Option<u64>,
    /// Bytes read from files and other sources, without shuffles.
    pub read_bytes: Option<u64>,
    /// Rows read from them.
    pub read_rows: Option<u64>,
    /// Bytes written to disk because the execution memory was full.
    pub spilled_bytes: Option<u64>,
    /// Largest execution memory of a task, bytes.
    pub peak_execution_bytes: Option<u64>,
    /// Largest heap of an executor that ran the stage, bytes; `None` if Spark did not look while a
    /// task ran.
    pub peak_heap_bytes: Option<u64>,
    /// The first failure.
    pub failure: Option<TaskFailure>,
}

/// Why a task failed.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskFailure {
    /// Index of the task in its stage.
    pub index: u32,
    /// The executor that ran it.
    pub executor: String,
    /// Spark's reason and the first line of the message:
    /// `ExceptionFailure: java.io.IOException: …`.
    pub reason: String,
}

/// Unreadable and missing parts of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Missing parts: why events are not in the log.
    pub gaps: Vec<String>,
    /// Number of lines that are not events or lack a required field.
    pub lines: u64,
    /// Number of the first such line, from 1.
    pub first: Option<u64>,
    /// Whether the last line is incomplete, as in the log of a running application.
    pub cut_short: bool,
    /// Tasks that finish before their launch because the driver's clock was set back; their time is
    /// unknown.
    pub backward_tasks: u64,
}

impl Damage {
    /// Counts the unreadable lines and the missing parts.
    pub fn losses(&self) -> u64 {
        self.lines.saturating_add(self.gaps.len() as u64)
    }

    /// Describes the unreadable lines and the missing parts; `None` without any.
    pub fn describe(&self) -> Option<String> {
        let lines =
            self.first.map(|first| format!("lines that are not events: {}, the first is line {first}", self.lines));
        let losses: Vec<String> = self.gaps.iter().cloned().chain(lines).collect();
        (!losses.is_empty()).then(|| losses.join("; "))
    }
}

impl Application {
    /// Returns the executors registered at a point in time.
    pub fn executors_at(&self, moment_ms: i64) -> impl Iterator<Item = &Executor> {
        self.executors.iter().filter(move |executor| {
            executor.added_ms <= moment_ms && executor.loss.as_ref().is_none_or(|loss| loss.at_ms > moment_ms)
        })
    }

    /// Returns the cores of one task, at least 1.
    pub fn task_cpus(&self) -> u32 {
        let asked = self.profiles.get(&0).and_then(|profile| profile.task_cpus);
        let asked = asked.or_else(|| number(self.properties.get("spark.task.cpus")?));
        // The cast saturates; a fraction of a core counts as one.
        asked.map_or(1, |cpus| (cpus as u32).max(1))
    }

    /// Whether Spark adds and removes executors with the load.
    pub fn has_dynamic_allocation(&self) -> bool {
        self.properties.get("spark.dynamicAllocation.enabled").is_some_and(|value| value == "true")
    }

    /// Returns the heap of an executor, MiB, from its resource profile or `spark.executor.memory`.
    pub fn executor_memory_mib(&self) -> Option<u64> {
        let property = || memory_mib(self.properties.get("spark.executor.memory")?);
        self.profiles.get(&0).and_then(|profile| profile.memory_mib).or_else(property)
    }
}

impl Stage {
    /// Marks an unknown time in [`Stage::task_ms`].
    pub const UNKNOWN: u32 = u32::MAX;

    /// Returns the known slot times, milliseconds, in the order of the tasks.
    pub fn known_task_ms(&self) -> impl Iterator<Item = u32> {
        self.task_ms.iter().copied().filter(|ms| *ms != Self::UNKNOWN)
    }

    /// Counts the tasks without a known time, if the stage succeeded.
    pub fn lost_tasks(&self) -> u64 {
        self.all_tasks().saturating_sub(self.known_task_ms().count() as u64)
    }

    /// Counts the tasks of a stage that succeeded; 0 for other stages.
    pub fn all_tasks(&self) -> u64 {
        let is_whole = self.completed_ms.is_some() && self.failure.is_none();
        self.tasks.filter(|_| is_whole).map_or(0, u64::from)
    }

    /// Whether the log shows that the stage began, unlike one that was skipped.
    pub fn has_begun(&self) -> bool {
        [self.submitted_ms, self.first_launch_ms, self.completed_ms].iter().any(Option::is_some)
    }
}

/// Parses a size of a Spark property, MiB: `4g`, `512m`, or `1024`, which is MiB as for
/// `spark.executor.memory`.
fn memory_mib(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_suffix('b').unwrap_or(&text);
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let count: u64 = digits.parse().ok()?;
    match unit {
        "k" => Some(count / 1024),
        "" | "m" => Some(count),
        "g" => count.checked_mul(1 << 10),
        "t" => count.checked_mul(1 << 20),
        "p" => count.checked_mul(1 << 30),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::memory_mib;

    #[test]
    fn memory_sizes_of_spark_are_parsed() {
        let sizes = [("4g", 4096), ("512m", 512), ("1024", 1024), ("2GB", 2048), ("1t", 1 << 20), ("2048k", 2)];
        for (text, mib) in sizes {
            assert_eq!(memory_mib(text), Some(mib), "{text}");
        }
        for text in ["", "g", "4x", "-1g", "99999999999999999999g", "18446744073709551615p"] {
            assert_eq!(memory_mib(text), None, "{text}");
        }
    }
}
