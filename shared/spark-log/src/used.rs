//! What a run used, beside what was asked for.

use foreglow_shared::format_duration;
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
/// Multiple of the median task from which the longest task shows skew.
const SKEWED: f64 = 2.0;
/// Share of the slots' time below which cores are idle.
const IDLE: f64 = 0.5;
/// Share of the tasks' time from which garbage collection shows too little memory (Spark's
/// documentation, "Tuning": the interface marks 10 %).
const COLLECTING: f64 = 0.1;
/// Share of the executors below which their average is shown.
const FEW: f64 = 0.75;

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
                .filter_map(|(id, stage)| stage.longest(*id))
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

impl Stage {
    /// Describes the stage with the time of its longest task; `None` if no time is known.
    pub(crate) fn longest(&self, id: u32) -> Option<LongestStage> {
        let mut tasks_ms: Vec<u32> = self.known_task_ms().collect();
        tasks_ms.sort_unstable();
        let longest_ms = f64::from(*tasks_ms.last()?);
        let median_ms = f64::from(tasks_ms[tasks_ms.len() / 2]).max(1.0);
        let length_ms = self.last_finish_ms?.checked_sub(self.first_launch_ms?)?;
        Some(LongestStage {
            id,
            name: self.name.clone(),
            secs: length_ms.max(0) as f64 / 1e3,
            tasks: tasks_ms.len(),
            longest_task_secs: longest_ms / 1e3,
            skew: (longest_ms / median_ms).max(1.0),
        })
    }
}

impl Used {
    /// Returns the smallest `spark.executor.memory` that would have done, MiB; `None` if the peak
    /// of the heap is unknown, data were spilled, or it needs as much as it had. `sufficient`
    /// returns the memory for a peak.
    pub fn sufficient_memory_mib(&self, sufficient: impl Fn(f64) -> u32) -> Option<u32> {
        let peak_mib = self.peak_heap_mib.filter(|_| self.spilled_mib.is_none())?;
        Some(sufficient(peak_mib as f64))
            .filter(|mib| self.memory_per_executor_mib.is_some_and(|had| u64::from(*mib) < had))
    }

    /// Describes the executors beside those asked for: `4 of 6 asked, 3.2 on average × 2`.
    pub fn describe_executors(&self) -> String {
        let asked = self.executors_asked.filter(|asked| *asked != self.executors);
        let asked = asked.map_or_else(String::new, |asked| format!(" of {asked} asked"));
        // Executors that start a little after the first job are not worth a word.
        let is_constant = self.executors_removed == 0 && self.mean_executors > FEW * f64::from(self.executors);
        let mean = if is_constant { String::new() } else { format!(", {:.1} on average", self.mean_executors) };
        format!("{}{asked}{mean} × {}", self.executors, self.cores_per_executor)
    }

    /// Returns a sentence, without its full stop, for each way in which the run used less or more
    /// than it had. `sufficient_memory_mib` is that of [`Used::sufficient_memory_mib`].
    pub fn remarks(&self, sufficient_memory_mib: Option<u32>) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.busy_share < IDLE {
            sentences
                .push(format!("Tasks ran in {:.0} % of the time of its cores; fewer may do", self.busy_share * 100.0));
        }
        if let Some(stage) = self.longest_stage.as_ref().filter(|stage| stage.skew >= SKEWED && stage.tasks > 1) {
            sentences.push(format!(
                "In its longest stage ({}: {}), the longest task takes {}, {:.1} times the median; more executors do not \
                 shorten it",
                stage.id,
                stage.name,
                format_duration(stage.longest_task_secs),
                stage.skew
            ));
        }
        if let Some(spilled) = self.spilled_mib {
            sentences.push(format!(
                "It wrote {spilled} MiB to disk because execution memory was full; more memory or smaller partitions avoid \
                 that"
            ));
        }
        if let Some(share) = self.gc_share.filter(|share| *share >= COLLECTING) {
            sentences
                .push(format!("Garbage collection takes {:.0} % of its tasks' time; it lacks memory", share * 100.0));
        }
        if let Some((mib, peak_mib)) = sufficient_memory_mib.zip(self.peak_heap_mib) {
            sentences.push(format!(
                "The heap of its executors peaked at {peak_mib} MiB, as far as Spark looked; spark.executor.memory={mib}m \
                 would do"
            ));
        }
        sentences
    }
}
