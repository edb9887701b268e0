//! What the event log of one application says.

use std::collections::BTreeMap;

use crate::number;

/// One application: its executors, its jobs, their stages.
///
/// Every `_ms` that is a moment counts from 1970 on the driver's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Application {
    /// `Spark Version`, such as `3.5.9`.
    pub spark_version: Option<String>,
    /// The cluster's name for it, such as `app-20261121145553-0000`.
    pub id: Option<String>,
    /// The user's name for it.
    pub name: Option<String>,
    /// When the driver's context started.
    pub started_ms: Option<i64>,
    /// When it ended; absent where it is in progress, was killed, or the event was lost.
    pub ended_ms: Option<i64>,
    /// `Spark Properties`, those that begin with `spark.`.
    pub properties: BTreeMap<String, String>,
    /// What executors ask for, by `Resource Profile Id`; 0 is the application's own.
    pub profiles: BTreeMap<u32, ResourceProfile>,
    /// In the order in which they registered.
    pub executors: Vec<Executor>,
    /// By `Job ID`.
    pub jobs: BTreeMap<u32, Job>,
    /// By `Stage ID`, every attempt of a stage together.
    pub stages: BTreeMap<u32, Stage>,
    /// What could not be read.
    pub damage: Damage,
}

/// What the executors of one resource profile ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceProfile {
    /// Cores of an executor.
    pub cores: Option<u32>,
    /// Heap of an executor, MiB.
    pub memory_mib: Option<u64>,
    /// Memory of an executor beside its heap, MiB.
    pub overhead_mib: Option<u64>,
    /// Cores that one task takes; `None` stands for Spark's default of 1.
    pub task_cpus: Option<f64>,
}

/// One executor.
#[derive(Clone, Debug, PartialEq)]
pub struct Executor {
    /// Its name; `driver` where the driver itself runs the tasks (a local master).
    pub id: String,
    /// The machine.
    pub host: String,
    /// Cores, C.
    pub cores: u32,
    /// Addresses of each resource that it holds, such as `gpu`.
    pub resources: BTreeMap<String, Vec<String>>,
    /// Its resource profile.
    pub profile: u32,
    /// When it registered.
    pub added_ms: i64,
    /// When it went, and why, if it did before the application ended.
    pub loss: Option<Loss>,
}

/// The end of an executor.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// When the driver noticed.
    pub at_ms: i64,
    /// Spark's reason.
    pub reason: String,
}

/// One job: what an action of the driver's program started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// When it was submitted.
    pub submitted_ms: Option<i64>,
    /// How it ended.
    pub end: Option<JobEnd>,
    /// Its stages, those that were skipped included.
    pub stages: Vec<u32>,
    /// `spark.job.description`.
    pub description: Option<String>,
    /// Its local properties that begin with [`LABEL_PREFIX`](super::LABEL_PREFIX).
    pub labels: BTreeMap<String, String>,
}

/// The end of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEnd {
    /// When.
    pub at_ms: i64,
    /// `None` where it succeeded, and the message of the exception where it failed.
    pub failure: Option<String>,
}

/// One stage, all of its attempts together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stage {
    /// Spark's name for it: the call in the user's program.
    pub name: String,
    /// Stages whose output it reads.
    pub parents: Vec<u32>,
    /// Tasks of a full attempt.
    pub tasks: Option<u32>,
    /// Its resource profile.
    pub profile: u32,
    /// When its first attempt was submitted; absent where it was skipped.
    pub submitted_ms: Option<i64>,
    /// When its last attempt ended.
    pub completed_ms: Option<i64>,
    /// Why its last attempt failed, if it did.
    pub failure: Option<String>,
    /// The number of its last attempt: 0 where none had to be repeated.
    pub last_attempt: u32,
    /// Whether its tasks all run at the same time or not at all.
    pub is_barrier: bool,
    /// When its first task was launched.
    pub first_launch_ms: Option<i64>,
    /// When its last task finished.
    pub last_finish_ms: Option<i64>,
    /// For each task, by its index in the stage, how long it held its slot, milliseconds: launch to finish on the driver's
    /// clock, failed attempts before it included. [`Stage::UNKNOWN`] where the log does not say.
    pub task_ms: Vec<u32>,
    /// Sums over its tasks.
    pub totals: TaskTotals,
    /// Values of its named accumulators that begin with `foreglow.`.
    pub accumulators: BTreeMap<String, i64>,
}

/// Sums over the tasks of a stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskTotals {
    /// Attempts that succeeded.
    pub succeeded: u32,
    /// Attempts that failed.
    pub failed: u32,
    /// Attempts that were killed, most of them because another copy was faster.
    pub killed: u32,
    /// Time in the executors' threads, milliseconds; `None` where no task says.
    pub run_ms: Option<u64>,
    /// Processor time of those threads, child processes not included, nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Time in which the executors' JVMs collected garbage, milliseconds.
    pub gc_ms: Option<u64>,
    /// The first failure.
    pub failure: Option<TaskFailure>,
}

/// Why a task failed.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskFailure {
    /// The task's index in its stage.
    pub index: u32,
    /// The executor that ran it.
    pub executor: String,
    /// Spark's word for it and the first line of the message: `ExceptionFailure: java.io.IOException: …`.
    pub reason: String,
}

/// What of the log could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Lines that are no event, or an event without what it must have.
    pub lines: u64,
    /// The number of the first of them, from 1.
    pub first: Option<u64>,
    /// Whether the last line was cut short, as in the log of an application that still runs.
    pub cut_short: bool,
    /// Tasks whose finish is before their launch: the driver's clock was set back. Their time is unknown.
    pub backward_tasks: u64,
}

impl Application {
    /// The executors that were there at a moment.
    pub fn executors_at(&self, moment_ms: i64) -> impl Iterator<Item = &Executor> {
        self.executors.iter().filter(move |executor| {
            executor.added_ms <= moment_ms && executor.loss.as_ref().is_none_or(|loss| loss.at_ms > moment_ms)
        })
    }

    /// Cores that one task takes, 1 or more.
    pub fn task_cpus(&self) -> u32 {
        let asked = self.profiles.get(&0).and_then(|profile| profile.task_cpus);
        let asked = asked.or_else(|| number(self.properties.get("spark.task.cpus")?));
        // Saturates: a share of a core counts as one.
        asked.map_or(1, |cpus| (cpus as u32).max(1))
    }

    /// Whether executors come and go with the load.
    pub fn has_dynamic_allocation(&self) -> bool {
        self.properties.get("spark.dynamicAllocation.enabled").is_some_and(|value| value == "true")
    }

    /// Heap that an executor was given, MiB: of its resource profile or of `spark.executor.memory`.
    pub fn executor_memory_mib(&self) -> Option<u64> {
        let property = || memory_mib(self.properties.get("spark.executor.memory")?);
        self.profiles.get(&0).and_then(|profile| profile.memory_mib).or_else(property)
    }
}

impl Stage {
    /// Stands in [`Stage::task_ms`] for a time that the log does not say.
    pub const UNKNOWN: u32 = u32::MAX;

    /// The times that the log says, milliseconds, in the order of the tasks.
    pub fn known_task_ms(&self) -> impl Iterator<Item = u32> {
        self.task_ms.iter().copied().filter(|ms| *ms != Self::UNKNOWN)
    }

    /// Tasks whose time the log does not say, of a stage that ended well.
    pub fn lost_tasks(&self) -> u64 {
        let is_whole = self.completed_ms.is_some() && self.failure.is_none();
        let known = self.known_task_ms().count() as u64;
        self.tasks.filter(|_| is_whole).map_or(0, |tasks| u64::from(tasks).saturating_sub(known))
    }
}

/// Reads a size as Spark's properties write it, MiB: `4g`, `512m`, `1024` (MiB, as `spark.executor.memory` has it).
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
    fn a_size_is_read_as_spark_writes_it() {
        let sizes = [("4g", 4096), ("512m", 512), ("1024", 1024), ("2GB", 2048), ("1t", 1 << 20), ("2048k", 2)];
        for (text, mib) in sizes {
            assert_eq!(memory_mib(text), Some(mib), "{text}");
        }
        for text in ["", "g", "4x", "-1g", "99999999999999999999g", "18446744073709551615p"] {
            assert_eq!(memory_mib(text), None, "{text}");
        }
    }
}
