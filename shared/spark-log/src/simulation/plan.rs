//! The parts of a run that do not depend on the configuration: jobs, stages, task durations, and
//! driver time.

use std::collections::{BTreeMap, BTreeSet};

use crate::application::{SparkJob, Stage};
use crate::run::Run;

/// A run with relative times, milliseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Jobs in the order of submission.
    pub jobs: Vec<PlannedJob>,
    /// Stages in Spark's scheduling order: by job, then by id.
    pub stages: Vec<PlannedStage>,
    /// Registration of each executor after the submission of the first job, ascending; 0 for those
    /// already registered.
    pub arrivals_ms: Vec<u64>,
    /// Cores per task.
    pub task_cpus: u32,
    /// Number of tasks without a duration in the log.
    pub unknown_tasks: u64,
}

/// One job.
#[derive(Clone, Debug)]
pub(super) struct PlannedJob {
    /// The job whose end preceded the submission; `None` at the beginning of the run.
    pub after: Option<usize>,
    /// Driver time between the two.
    pub before_ms: u64,
    /// Its stages, as indices.
    pub stages: Vec<usize>,
    /// Driver time after the last stage.
    pub tail_ms: u64,
}

/// One stage.
#[derive(Clone, Debug)]
pub(super) struct PlannedStage {
    /// Parent stages within the job, as indices.
    pub parents: Vec<usize>,
    /// Driver time from the end of the parents to the launch of the first task.
    pub before_ms: u64,
    /// Duration of each task, in the order of launch.
    pub tasks_ms: Vec<u32>,
    /// Whether all tasks must run at the same time.
    pub is_barrier: bool,
    /// Driver time after the last task.
    pub tail_ms: u64,
}

impl Plan {
    /// Extracts the plan of a run.
    pub fn of(run: &Run<'_>) -> Self {
        let mut plan = Self { task_cpus: run.application.task_cpus(), ..Self::default() };
        plan.arrivals_ms = run.executors().map(|executor| since(run.submitted_ms, Some(executor.added_ms))).collect();
        plan.arrivals_ms.sort_unstable();
        let stages = run.stages();
        let busy = busy_until(&stages);
        let mut claimed = BTreeSet::new();
        let mut ends: BTreeMap<i64, usize> = BTreeMap::new();
        let mut jobs: Vec<&SparkJob> = run.jobs.iter().map(|(_, job)| *job).collect();
        jobs.sort_by_key(|job| job.submitted_ms);
        for job in &jobs {
            let window = job.submitted_ms.unwrap_or(run.submitted_ms)..=end_ms(job).unwrap_or(run.ended_ms);
            let own: BTreeMap<u32, &Stage> = job
                .stages
                .iter()
                .filter_map(|id| Some((*id, *stages.get(id)?)))
                .filter(|(_, stage)| stage.submitted_ms.is_some_and(|at_ms| window.contains(&at_ms)))
                .filter(|(id, _)| claimed.insert(*id))
                .collect();
            let first = plan.stages.len();
            let index: BTreeMap<u32, usize> = own.keys().copied().zip(first..).collect();
            for stage in own.values() {
                let planned = plan.stage(stage, *window.start(), &own, &busy, &index);
                plan.stages.push(planned);
            }
            let last_ms = own.values().filter_map(|stage| stage.completed_ms).max();
            let before = ends.range(..=*window.start()).next_back();
            let (ended_ms, after) = before.map_or((run.submitted_ms, None), |(ended_ms, job)| (*ended_ms, Some(*job)));
            ends.insert(*window.end(), plan.jobs.len());
            plan.jobs.push(PlannedJob {
                after,
                before_ms: since(ended_ms, job.submitted_ms),
                stages: (first..plan.stages.len()).collect(),
                tail_ms: since(last_ms.unwrap_or(*window.start()), end_ms(job)),
            });
        }
        plan
    }

    fn stage(
        &mut self,
        stage: &Stage,
        job_ms: i64,
        own: &BTreeMap<u32, &Stage>,
        busy: &BTreeMap<i64, i64>,
        index: &BTreeMap<u32, usize>,
    ) -> PlannedStage {
        let parents_ms = stage.parents.iter().filter_map(|parent| own.get(parent)?.completed_ms);
        let ready_ms = parents_ms.fold(job_ms, i64::max);
        let submitted_ms = stage.submitted_ms.unwrap_or(ready_ms);
        let launched_ms = stage.first_launch_ms.unwrap_or(submitted_ms);
        // The wait for the first launch is driver time, unless another stage occupies the slots.
        let is_alone = busy.range(..launched_ms).next_back().is_none_or(|(_, until_ms)| *until_ms <= submitted_ms);
        let tasks_ms = self.tasks_ms(stage);
        let is_unknown = tasks_ms.is_empty();
        let before_ms = since(ready_ms, Some(if is_alone { launched_ms } else { submitted_ms }));
        PlannedStage {
            parents: stage.parents.iter().filter_map(|parent| index.get(parent)).copied().collect(),
            before_ms,
            tasks_ms,
            is_barrier: stage.is_barrier,
            // Without tasks in the log, the whole stage counts as time independent of the
            // configuration.
            tail_ms: since(stage.last_finish_ms.filter(|_| !is_unknown).unwrap_or(launched_ms), stage.completed_ms),
        }
    }

    fn tasks_ms(&mut self, stage: &Stage) -> Vec<u32> {
        let lost = stage.lost_tasks();
        self.unknown_tasks += lost;
        let mut known: Vec<u32> = stage.known_task_ms().collect();
        if known.is_empty() || lost == 0 {
            return known;
        }
        known.sort_unstable();
        let median = known[known.len() / 2];
        let mut tasks: Vec<u32> =
            stage.task_ms.iter().map(|ms| if *ms == Stage::UNKNOWN { median } else { *ms }).collect();
        // Adds tasks missing at the end; the count is bounded by the reader's limit on task
        // indices.
        let count = tasks.len().max(known.len() + usize::try_from(lost).unwrap_or(0).min(1 << 24));
        tasks.resize(count, median);
        tasks
    }

    /// Returns the plan with tasks of zero duration.
    pub fn without_tasks(&self) -> Self {
        let mut plan = self.clone();
        plan.stages.iter_mut().for_each(|stage| stage.tasks_ms = Vec::new());
        plan
    }

    /// Returns the total duration of all tasks, milliseconds.
    pub fn work_ms(&self) -> u64 {
        self.stages.iter().flat_map(|stage| &stage.tasks_ms).map(|ms| u64::from(*ms)).sum()
    }

    /// Returns the number of tasks.
    pub fn tasks(&self) -> u64 {
        self.widths().sum()
    }

    /// Returns the numbers of tasks of the stages.
    pub fn widths(&self) -> impl Iterator<Item = u64> {
        self.stages.iter().map(|stage| stage.tasks_ms.len() as u64)
    }

    /// Returns the number of slots that the largest barrier stage needs.
    pub fn widest_barrier(&self) -> u64 {
        self.stages.iter().filter(|stage| stage.is_barrier).map(|stage| stage.tasks_ms.len() as u64).max().unwrap_or(0)
    }
}

/// Returns, for each first launch of a stage, until when that stage or an earlier one was running.
fn busy_until(stages: &BTreeMap<u32, &Stage>) -> BTreeMap<i64, i64> {
    let mut busy: BTreeMap<i64, i64> = BTreeMap::new();
    for stage in stages.values() {
        if let (Some(from_ms), Some(to_ms)) = (stage.first_launch_ms, stage.last_finish_ms) {
            let until_ms = busy.entry(from_ms).or_insert(to_ms);
            *until_ms = (*until_ms).max(to_ms);
        }
    }
    let mut latest_ms = i64::MIN;
    for until_ms in busy.values_mut() {
        latest_ms = latest_ms.max(*until_ms);
        *until_ms = latest_ms;
    }
    busy
}

fn end_ms(job: &SparkJob) -> Option<i64> {
    job.end.as_ref().map(|end| end.at_ms)
}

/// Returns the time between two timestamps, milliseconds; 0 if it is negative or unknown.
fn since(from_ms: i64, to_ms: Option<i64>) -> u64 {
    to_ms.and_then(|to_ms| to_ms.checked_sub(from_ms)).and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0)
}
