//! What a run used, beside what was asked for.

use serde::Serialize;

use crate::application::{Stage, TaskTotals};
use crate::run::Run;

/// What a run used, beside what was asked for. Values that the log lacks are absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Used {
    /// Application id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// Time from the submission of the first job to the end of the last, seconds.
    pub completion_time_secs: f64,
    /// Executors that were asked for; absent with dynamic allocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executors_asked: Option<u32>,
    /// Largest number of executors at one time.
    pub executors: u32,
    /// Executors alive, averaged over the time of the run.
    pub mean_executors: f64,
    /// Cores of an executor.
    pub cores_per_executor: u32,
    /// Executors that were removed during the run: lost, or released by dynamic allocation.
    pub executors_removed: usize,
    /// Share of the slots' time in which a task ran: all cores of the executors that were alive.
    pub busy_share: f64,
    /// `spark.executor.memory`, MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_per_executor_mib: Option<u64>,
    /// Largest heap of an executor, MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_heap_mib: Option<u64>,
    /// Largest execution memory of a task, MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_execution_mib: Option<u64>,
    /// Data that were written to disk because execution memory was full, MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spilled_mib: Option<u64>,
    /// Share of the tasks' time that garbage collection takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gc_share: Option<f64>,
    /// The stage that took longest; absent if the log has no times of tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_stage: Option<LongestStage>,
}

/// The stage of a run that took longest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LongestStage {
    /// Stage id.
    pub id: u32,
    /// The call site in the user's program.
    pub name: String,
    /// Time from its first launch to its last finish, seconds.
    pub secs: f64,
    /// Tasks with a known time.
    pub tasks: usize,
    /// Time of the longest task, seconds.
    pub longest_task_secs: f64,
    /// Skew: the time of the longest task divided by the median.
    pub skew: f64,
}

const BYTES_PER_MIB: u64 = 1 << 20;

impl Run<'_> {
    /// Returns what the run used; `None` if the log has no executors.
    pub fn used(&self) -> Option<Used> {
        let ending = self.ending()?;
        let stages = self.stages();
        let sum = |of: fn(&TaskTotals) -> Option<u64>| {
            stages.values().filter_map(|stage| of(&stage.totals)).reduce(u64::saturating_add)
        };
        let most = |of: fn(&TaskTotals) -> Option<u64>| stages.values().filter_map(|stage| of(&stage.totals)).max();
        let mib = |bytes: Option<u64>| bytes.filter(|bytes| *bytes > 0).map(|bytes| bytes.div_ceil(BYTES_PER_MIB));
        let busy_ms: u64 = stages.values().flat_map(|stage| stage.known_task_ms()).map(u64::from).sum();
        let busy_ms = busy_ms.saturating_mul(self.application.task_cpus().into());
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) };
        let run_ms = sum(|totals| totals.run_ms).filter(|ms| *ms > 0);
        let length_ms = self.ended_ms.saturating_sub(self.submitted_ms).max(1) as f64;
        let (alive_ms, slot_ms) = self.alive();
        let is_in_run = |at_ms: i64| (self.submitted_ms..=self.ended_ms).contains(&at_ms);
        Some(Used {
            application: self.application.id.clone(),
            completion_time_secs: self.completion_time_secs(),
            executors_asked: self.asked().0,
            executors: ending.executors,
            mean_executors: alive_ms as f64 / length_ms,
            cores_per_executor: ending.cores_per_executor,
            executors_removed: self
                .executors()
                .filter_map(|it| it.loss.as_ref())
                .filter(|loss| is_in_run(loss.at_ms))
                .count(),
            busy_share: share(busy_ms, slot_ms),
            memory_per_executor_mib: self.application.executor_memory_mib(),
            peak_heap_mib: mib(most(|totals| totals.peak_heap_bytes)),
            peak_execution_mib: mib(most(|totals| totals.peak_execution_bytes)),
            spilled_mib: mib(sum(|totals| totals.spilled_bytes)),
            gc_share: run_ms.zip(sum(|totals| totals.gc_ms)).map(|(run_ms, gc_ms)| share(gc_ms, run_ms)),
            longest_stage: stages
                .iter()
                .filter_map(|(id, stage)| longest(*id, stage))
                .max_by(|a, b| a.secs.total_cmp(&b.secs)),
        })
    }

    /// Returns the time that executors were alive during the run, and that of their cores, both
    /// summed, milliseconds.
    fn alive(&self) -> (u64, u64) {
        let alive = self.executors().map(|executor| {
            let until_ms = executor.loss.as_ref().map_or(self.ended_ms, |loss| loss.at_ms.min(self.ended_ms));
            let ms = until_ms.saturating_sub(executor.added_ms.max(self.submitted_ms));
            let ms = u64::try_from(ms).unwrap_or(0);
            (ms, ms.saturating_mul(executor.cores.into()))
        });
        alive.fold((0, 0), |sum, part| (sum.0.saturating_add(part.0), sum.1.saturating_add(part.1)))
    }
}

fn longest(id: u32, stage: &Stage) -> Option<LongestStage> {
    let mut tasks_ms: Vec<u32> = stage.known_task_ms().collect();
    tasks_ms.sort_unstable();
    let longest_ms = f64::from(*tasks_ms.last()?);
    let median_ms = f64::from(tasks_ms[tasks_ms.len() / 2]).max(1.0);
    let length_ms = stage.last_finish_ms?.checked_sub(stage.first_launch_ms?)?;
    Some(LongestStage {
        id,
        name: stage.name.clone(),
        secs: length_ms.max(0) as f64 / 1e3,
        tasks: tasks_ms.len(),
        longest_task_secs: longest_ms / 1e3,
        skew: (longest_ms / median_ms).max(1.0),
    })
}
