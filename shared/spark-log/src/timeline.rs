//! The stages and the executors of a run over time.

use crate::application::Stage;
use crate::run::Run;
use crate::used::Used;

/// What a run used, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedRun {
    /// What it used, beside what was asked for.
    pub used: Used,
    /// The stages by their start.
    pub stages: Vec<StageSpan>,
    /// The executors alive: seconds since the submission of the first job, and their number from
    /// then on. The first is at 0.
    pub executors: Vec<(f64, usize)>,
}

/// A stage from its first launch to its last finish.
#[derive(Clone, Debug, PartialEq)]
pub struct StageSpan {
    /// Stage id.
    pub id: u32,
    /// The call site in the user's program.
    pub name: String,
    /// First launch, seconds since the submission of the first job.
    pub start_secs: f64,
    /// Time to the last finish, seconds.
    pub secs: f64,
    /// Tasks with a known time.
    pub tasks: usize,
    /// Cores on which its tasks ran, averaged over its time.
    pub busy_cores: f64,
    /// The time of the longest task divided by the median; at least 1.
    pub skew: f64,
}

impl Run<'_> {
    /// Returns what the run used, and when; `None` if the log has no executors.
    pub fn logged(&self) -> Option<LoggedRun> {
        let stages = self.stages();
        let spans = stages.iter().filter_map(|(id, stage)| self.span(*id, stage));
        let mut stages: Vec<StageSpan> = spans.collect();
        stages.sort_by(|a, b| a.start_secs.total_cmp(&b.start_secs).then(a.id.cmp(&b.id)));
        Some(LoggedRun { used: self.used()?, stages, executors: self.executors_alive() })
    }

    fn span(&self, id: u32, stage: &Stage) -> Option<StageSpan> {
        let start_ms = stage.first_launch_ms?;
        let longest = stage.longest(id)?;
        let busy_ms: u64 = stage.known_task_ms().map(u64::from).sum();
        let busy_secs = busy_ms.saturating_mul(self.application.task_cpus().into()) as f64 / 1e3;
        Some(StageSpan {
            id,
            name: longest.name,
            start_secs: start_ms.saturating_sub(self.submitted_ms).max(0) as f64 / 1e3,
            secs: longest.secs,
            tasks: longest.tasks,
            busy_cores: if longest.secs > 0.0 { busy_secs / longest.secs } else { 0.0 },
            skew: longest.skew,
        })
    }

    /// Returns the number of executors alive from each change on.
    fn executors_alive(&self) -> Vec<(f64, usize)> {
        let mut changes = vec![(self.submitted_ms, 0)];
        for executor in self.executors() {
            changes.push((executor.added_ms.max(self.submitted_ms), 1));
            let lost_ms = executor.loss.as_ref().map(|loss| loss.at_ms).filter(|at_ms| *at_ms < self.ended_ms);
            changes.extend(lost_ms.map(|at_ms| (at_ms, -1)));
        }
        changes.sort_unstable();
        let mut alive = 0_i64;
        let mut steps: Vec<(f64, usize)> = Vec::new();
        for at_once in changes.chunk_by(|a, b| a.0 == b.0) {
            alive += at_once.iter().map(|(_, change)| change).sum::<i64>();
            let secs = at_once[0].0.saturating_sub(self.submitted_ms) as f64 / 1e3;
            steps.push((secs, usize::try_from(alive).unwrap_or(0)));
        }
        steps
    }
}
