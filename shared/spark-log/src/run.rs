//! Runs of an application; each becomes one timing sample.

use std::collections::{BTreeMap, BTreeSet};

use crate::application::{Application, Executor, SparkJob, Stage};
use crate::{MEASURED, WARM_UP};
use foreglow_shared::Labels;

/// Jobs measured together, from the submission of the first to the end of the last.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The application.
    pub application: &'a Application,
    /// The jobs with their ids; at least one, each with a submission and an end.
    pub jobs: Vec<(u32, &'a SparkJob)>,
    /// When the first job was submitted.
    pub submitted_ms: i64,
    /// When the last job ended, not before `submitted_ms`.
    pub ended_ms: i64,
    /// Number of further jobs of the run, which have no end in the log.
    unended: usize,
}

/// Why an application has no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoRun {
    /// The log has no jobs.
    #[error("the log has no jobs: the application ran nothing on its executors, or the log ends too early")]
    NoJob,
    /// Spark before 1.3 did not record the times of jobs.
    #[error("its {0} jobs have no times, which Spark before 1.3 did not record; run it on a newer Spark")]
    NoTimes(u64),
    /// The log is of several applications, or of several attempts of one, whose jobs have the same
    /// ids.
    #[error("it has the starts of {0} applications or attempts; import the log of each separately")]
    SeveralApplications(u32),
    /// All jobs are warm-up jobs.
    #[error("its jobs only warm the executors up; the log ends before anything was measured")]
    WarmUpOnly,
    /// No measured job has an end.
    #[error("none of its {0} jobs has an end in the log; wait until one has ended, or run it again")]
    NoEnd(usize),
    /// Every run ends before it begins.
    #[error("its jobs end before they begin: the driver's clock was set back while it ran; run it again")]
    ClockSetBack,
}

impl Application {
    /// Returns the runs, by submission time. Measured jobs with the same label `run` form one run,
    /// and each other measured job is a run of its own; if no job is marked as measured, all jobs
    /// form one run. Warm-up jobs and jobs without an end are left out, and
    /// [`Run::missing_jobs`] counts the latter.
    ///
    /// # Errors
    /// [`NoRun`]: the log is of several applications, or it has no jobs, no times, only warm-up
    /// jobs, no job with an end, or every run ends before it begins.
    pub fn runs<'a>(&'a self) -> Result<Vec<Run<'a>>, NoRun> {
        if self.starts > 1 {
            return Err(NoRun::SeveralApplications(self.starts));
        }
        if self.untimed_jobs > 0 && self.jobs.values().all(|job| job.submitted_ms.is_none()) {
            return Err(NoRun::NoTimes(self.untimed_jobs));
        }
        let is_marked = self.jobs.values().any(SparkJob::is_measured);
        let mut groups: BTreeMap<String, Vec<(u32, &SparkJob)>> = BTreeMap::new();
        for (id, job) in &self.jobs {
            let group = match Labels::of(&job.labels).get("run") {
                _ if !is_marked => String::new(),
                Some(run) => run.to_owned(),
                None => format!("job {id}"),
            };
            if job.is_measured() || (!is_marked && !job.is_described(WARM_UP)) {
                groups.entry(group).or_default().push((*id, job));
            }
        }
        if groups.is_empty() {
            return Err(if self.jobs.is_empty() { NoRun::NoJob } else { NoRun::WarmUpOnly });
        }
        let has_end = |(_, job): &(u32, &SparkJob)| job.submitted_ms.is_some() && job.end.is_some();
        if !groups.values().flatten().any(has_end) {
            return Err(NoRun::NoEnd(groups.values().map(Vec::len).sum()));
        }
        let ended = |mut jobs: Vec<(u32, &'a SparkJob)>| {
            let all = jobs.len();
            jobs.retain(has_end);
            let unended = all - jobs.len();
            Run::new(self, jobs, unended)
        };
        let mut runs: Vec<Run<'_>> = groups.into_values().filter_map(ended).collect();
        let key = |run: &Run<'_>| (run.submitted_ms, run.jobs.first().map(|(id, _)| *id));
        runs.sort_by_key(key);
        if runs.is_empty() { Err(NoRun::ClockSetBack) } else { Ok(runs) }
    }
}

impl Application {
    /// Describes the jobs whose events were dropped or removed. Spark 3 and newer record every job,
    /// and number them from 0.
    fn lost_jobs(&self) -> Option<String> {
        let major: u32 = self.spark_version.as_deref()?.split('.').next()?.parse().ok()?;
        let all = u64::from(*self.jobs.keys().next_back()?) + 1;
        let lost = all.saturating_sub(self.jobs.len() as u64);
        (lost > 0 && major >= 3).then(|| format!("{lost} of the application's {all} jobs are not in the log"))
    }
}

impl SparkJob {
    fn is_described(&self, mark: &str) -> bool {
        self.description.as_deref().is_some_and(|text| text.starts_with(mark))
    }

    fn is_measured(&self) -> bool {
        self.is_described(MEASURED)
    }
}

impl<'a> Run<'a> {
    fn new(application: &'a Application, jobs: Vec<(u32, &'a SparkJob)>, unended: usize) -> Option<Self> {
        let submitted_ms = jobs.iter().filter_map(|(_, job)| job.submitted_ms).min()?;
        let ended_ms = jobs.iter().filter_map(|(_, job)| Some(job.end.as_ref()?.at_ms)).max()?;
        let is_forward = ended_ms.checked_sub(submitted_ms)? >= 0;
        is_forward.then_some(Self { application, jobs, submitted_ms, ended_ms, unended })
    }

    /// Returns the time from the submission of the first job to the end of the last, seconds.
    pub fn completion_time_secs(&self) -> f64 {
        // Exact: the difference of two timestamps is far below 2^53.
        (self.ended_ms - self.submitted_ms) as f64 / 1000.0
    }

    /// Counts the run's jobs without an end in the log: those that started, and those that did not
    /// start although the label `jobs` counts them.
    pub fn missing_jobs(&self) -> u64 {
        self.labelled_jobs().map_or(0, |all| all.saturating_sub(self.jobs.len() as u64)).max(self.unended as u64)
    }

    /// Returns the number of jobs of the whole run according to the label `jobs`.
    fn labelled_jobs(&self) -> Option<u64> {
        self.labels().get("jobs")?.trim().parse().ok()
    }

    /// Describes what the log lacks of the run; `None` if it shows the whole run: all of its jobs,
    /// or, if their number is unknown, the application from its start to its end, and in both all
    /// of their stages, tasks and executors.
    pub(crate) fn missing_part(&self) -> Option<String> {
        self.missing_jobs_or_ends().or_else(|| self.gap())
    }

    /// Describes events that are missing between others.
    fn gap(&self) -> Option<String> {
        let stages = &self.application.stages;
        let begun = |id: &u32| stages.get(id).filter(|stage| stage.has_begun());
        // A stage that never began was skipped, but a job that skips all of its stages has no work.
        let lost_jobs = self
            .jobs
            .iter()
            .filter(|(_, job)| !job.stages.is_empty() && !job.stages.iter().any(|id| begun(id).is_some()));
        let own: BTreeSet<u32> = self.jobs.iter().flat_map(|(_, job)| job.stages.iter().copied()).collect();
        let own: Vec<&Stage> = own.iter().filter_map(begun).collect();
        let ended = own.iter().filter(|stage| stage.completed_ms.is_some()).count() as u64;
        let tasks = own.iter().map(|stage| stage.all_tasks()).sum();
        let succeeded = own.iter().map(|stage| stage.all_tasks().min(stage.totals.succeeded.into())).sum();
        let all = (own.len() + lost_jobs.count()) as u64;
        let counts = [("stages", ended, all), ("tasks", succeeded, tasks)];
        let lost = counts.into_iter().find(|(_, there, all)| there < all);
        let why = "a part of the log is missing, or Spark dropped events";
        match (lost, self.application.unregistered.first()) {
            (Some((what, there, all)), _) => Some(format!("{there} of {all} {what} have an end in the log: {why}")),
            (None, Some(id)) => Some(format!("the start of executor {id}, which ran tasks, is not in the log: {why}")),
            (None, None) => None,
        }
    }

    /// Describes the missing jobs, the missing start or end of the application, and damage.
    fn missing_jobs_or_ends(&self) -> Option<String> {
        let (there, missing) = (self.jobs.len() as u64, self.missing_jobs());
        if missing > 0 {
            let all = there + missing;
            return Some(format!(
                "{there} of {all} jobs have an end in the log: the run is still in progress, or was killed"
            ));
        }
        let is_own_run = |job: &SparkJob| job.is_measured() && Labels::of(&job.labels).get("run").is_none();
        if self.labelled_jobs().is_some() || self.jobs.iter().all(|(_, job)| is_own_run(job)) {
            let losses = self.jobs.iter().filter_map(|(_, job)| Some(job.end.as_ref()?.losses_before)).max();
            return self.loss(losses.unwrap_or(0));
        }
        let application = self.application;
        let place = match (application.started_ms, application.ended_ms) {
            (None, _) => "start",
            (_, None) => "end",
            _ => return self.loss(application.losses_before_end).or_else(|| application.lost_jobs()),
        };
        // The damage may be the reason, such as a file that cannot be decompressed to its end.
        Some(match application.damage.describe() {
            Some(damage) => format!("the {place} of the application is not in the log ({damage})"),
            None if place == "end" => {
                "the end of the application is not in the log: it is still running, or was killed".to_owned()
            }
            None => "the start of the application is not in the log: its first part is missing".to_owned(),
        })
    }

    fn loss(&self, losses: u64) -> Option<String> {
        let damage = self.application.damage.describe().filter(|_| losses > 0)?;
        Some(format!("events of the run may be missing in the log: {damage}"))
    }

    /// Returns the time from the application's start to the submission, seconds: executor start,
    /// warm-up and other work of the driver. `None` for a run that follows another measured one in
    /// the same application, which was already started.
    pub fn startup_secs(&self) -> Option<f64> {
        let is_before =
            |job: &SparkJob| job.is_measured() && job.submitted_ms.is_some_and(|at_ms| at_ms < self.submitted_ms);
        if self.application.jobs.values().any(is_before) {
            return None;
        }
        let secs = (self.submitted_ms.checked_sub(self.application.started_ms?)?) as f64 / 1000.0;
        (secs >= 0.0).then_some(secs)
    }

    /// Returns the labels of the jobs, completed by those of the application.
    pub fn labels(&self) -> Labels {
        let of_jobs = self.jobs.iter().map(|(_, job)| Labels::of(&job.labels));
        of_jobs.fold(Labels::default(), |labels, job| labels.or(&job)).or(&Labels::of(&self.application.properties))
    }

    /// Returns the executors registered at some time during the run.
    pub fn executors(&self) -> impl Iterator<Item = &'a Executor> {
        let (from_ms, to_ms) = (self.submitted_ms, self.ended_ms);
        self.application.executors.iter().filter(move |executor| {
            executor.added_ms <= to_ms && executor.loss.as_ref().is_none_or(|loss| loss.at_ms > from_ms)
        })
    }

    /// Returns the stages that ran, by id, without skipped ones.
    pub fn stages(&self) -> BTreeMap<u32, &'a Stage> {
        let ids = self.jobs.iter().flat_map(|(_, job)| &job.stages);
        let ran = |stage: &&Stage| {
            stage.submitted_ms.is_some_and(|at_ms| (self.submitted_ms..=self.ended_ms).contains(&at_ms))
        };
        ids.filter_map(|id| Some((*id, self.application.stages.get(id).filter(ran)?))).collect()
    }
}
