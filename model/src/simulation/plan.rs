//! What of a run does not depend on the configuration: jobs, stages, the tasks' times, and the driver's between them.

use std::collections::{BTreeMap, BTreeSet};

use foreglow_shared::event_log::{Job, Run, Stage};

/// A run, with times relative to each other, milliseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// In the order of their submission.
    pub jobs: Vec<PlannedJob>,
    /// In the order in which Spark serves them: by job, then by number.
    pub stages: Vec<PlannedStage>,
    /// When each executor came, after the submission of the first job; 0 for those that were there. Ascending.
    pub arrivals_ms: Vec<u64>,
    /// Cores that one task takes.
    pub task_cpus: u32,
    /// Tasks whose time is not in the log.
    pub unknown_tasks: u64,
}

/// One job.
#[derive(Clone, Debug)]
pub(super) struct PlannedJob {
    /// The job after whose end the driver submitted it; `None` for the run's beginning.
    pub after: Option<usize>,
    /// The driver's time between the two.
    pub before_ms: u64,
    /// Its stages.
    pub stages: Vec<usize>,
    /// The driver's time after the last of them.
    pub tail_ms: u64,
}

/// One stage.
#[derive(Clone, Debug)]
pub(super) struct PlannedStage {
    /// Stages of its job whose output it reads.
    pub parents: Vec<usize>,
    /// The driver's time before its first task is launched, once its parents ended.
    pub before_ms: u64,
    /// Time of each task, in the order of launch.
    pub tasks_ms: Vec<u32>,
    /// Whether all run at the same time.
    pub is_barrier: bool,
    /// The driver's time after its last task.
    pub tail_ms: u64,
}

impl Plan {
    /// Of a run.
    pub fn of(run: &Run<'_>) -> Self {
        let mut plan = Self { task_cpus: run.application.task_cpus(), ..Self::default() };
        plan.arrivals_ms = run.executors().map(|executor| since(run.submitted_ms, Some(executor.added_ms))).collect();
        plan.arrivals_ms.sort_unstable();
        let stages = run.stages();
        let busy = busy_until(&stages);
        let mut claimed = BTreeSet::new();
        let mut ends: BTreeMap<i64, usize> = BTreeMap::new();
        let mut jobs: Vec<&Job> = run.jobs.iter().map(|(_, job)| *job).collect();
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
        // Until its first launch a stage waits for the driver, unless another one holds the slots.
        let is_alone = busy.range(..launched_ms).next_back().is_none_or(|(_, until_ms)| *until_ms <= submitted_ms);
        let tasks_ms = self.tasks_ms(stage);
        let is_unknown = tasks_ms.is_empty();
        let before_ms = since(ready_ms, Some(if is_alone { launched_ms } else { submitted_ms }));
        PlannedStage {
            parents: stage.parents.iter().filter_map(|parent| index.get(parent)).copied().collect(),
            before_ms,
            tasks_ms,
            is_barrier: stage.is_barrier,
            // A stage with no task in the log is time that no configuration is known to change.
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
        // Those that are missing at the end; the number is bounded by what the reader takes.
        let count = tasks.len().max(known.len() + usize::try_from(lost).unwrap_or(0).min(1 << 24));
        tasks.resize(count, median);
        tasks
    }

    /// The same with tasks that take no time.
    pub fn without_tasks(&self) -> Self {
        let mut plan = self.clone();
        plan.stages.iter_mut().for_each(|stage| stage.tasks_ms = Vec::new());
        plan
    }

    /// Time of all tasks.
    pub fn work_ms(&self) -> u64 {
        self.stages.iter().flat_map(|stage| &stage.tasks_ms).map(|ms| u64::from(*ms)).sum()
    }

    /// Number of all tasks.
    pub fn tasks(&self) -> u64 {
        self.stages.iter().map(|stage| stage.tasks_ms.len() as u64).sum()
    }

    /// Slots that the widest stage needs at the same time.
    pub fn widest_barrier(&self) -> u64 {
        self.stages.iter().filter(|stage| stage.is_barrier).map(|stage| stage.tasks_ms.len() as u64).max().unwrap_or(0)
    }
}

/// For each moment at which a stage launched its first task, until when that one or an earlier one was at work.
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

fn end_ms(job: &Job) -> Option<i64> {
    job.end.as_ref().map(|end| end.at_ms)
}

/// From one moment to another, and 0 where the clock says that it lies before, or says nothing.
fn since(from_ms: i64, to_ms: Option<i64>) -> u64 {
    to_ms.and_then(|to_ms| to_ms.checked_sub(from_ms)).and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0)
}
