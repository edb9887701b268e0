//! Changes of the jobs and of their runs.

use foreglow_shared::{Job, Observation, Question};
use leptos::prelude::*;

use super::Planner;
use super::history::begin_scenario;
use crate::data::job::{Space, same_job};
use crate::data::left_out::Run;
use crate::data::workload::with_work;

impl Planner {
    /// Replaces all jobs and asks the default question about one of them.
    pub fn take_jobs(&self, jobs: Vec<Job>, selected: usize) {
        self.jobs.set(jobs);
        self.select(selected);
    }

    /// Replaces the runs of jobs of the collector by its current ones, and adds new jobs. The
    /// question and the excluded runs stay.
    pub fn renew_jobs(&self, jobs: Vec<Job>) {
        let jobs: Vec<Job> = jobs.into_iter().map(|job| self.without_left_out(job)).collect();
        let Some(shown) = untrack(|| self.job()) else { return self.take_jobs(jobs, 0) };
        let renewed = same_job(&jobs, &shown.context).filter(|job| **job != shown).cloned();
        if let Some(renewed) = &renewed {
            // A user who has not narrowed the choice gets the configurations that the new runs add.
            let usual = |job: &Job| Space::of(&Question::about(&job.observations));
            if self.space.get_untracked() == usual(&shown) {
                self.space.set(usual(renewed));
            }
        }
        jobs.into_iter().for_each(|job| self.add_job(job));
        if renewed.is_some() {
            self.refit();
        }
    }

    /// Adds a job, or replaces its runs.
    pub fn add_job(&self, job: Job) {
        self.jobs.update(|jobs| match jobs.iter_mut().find(|known| known.context == job.context) {
            Some(known) => *known = job,
            None => jobs.push(job),
        });
    }

    /// Removes the user's excluded runs from a job as it was measured.
    pub fn without_left_out(&self, job: Job) -> Job {
        self.left_out.with_untracked(|left_out| left_out.without(job))
    }

    /// Counts a choice of a job. What the page then fetches for an earlier choice is obsolete.
    pub fn choose(&self) -> u64 {
        let choice = self.choice.get_value() + 1;
        self.choice.set_value(choice);
        choice
    }

    /// Whether the user has not chosen a job since this choice.
    pub fn is_latest(&self, choice: u64) -> bool {
        self.choice.get_value() == choice
    }

    /// Excludes a run of the selected job, or restores it, and refits.
    pub fn set_left_out(&self, run: Run, out: bool) {
        let selected = self.selected.get_untracked();
        self.jobs.update(|jobs| {
            let Some(job) = jobs.get_mut(selected) else { return };
            self.left_out.update(|runs| if out { runs.leave_out(job, run) } else { runs.put_back(job, run) });
        });
        self.refit();
    }

    /// Adds a job over another number of images and epochs that reuses the selected job's runs, and
    /// selects it. The question stays.
    ///
    /// # Errors
    /// The runs cannot be those of such a job; one sentence.
    pub fn ask_about(&self, images: u64, epochs: u32) -> Result<(), String> {
        let Some(job) = untrack(|| self.job()) else { return Ok(()) };
        let left_out = self.left_out.with_untracked(|left_out| left_out.of(&job.context));
        let (job, left_out) = with_work(&job, &left_out, images, epochs)?;
        self.choose();
        begin_scenario();
        self.left_out.update(|runs| runs.set(&job.context, left_out));
        self.jobs.update(|jobs| {
            jobs.retain(|known| known.context != job.context);
            jobs.push(job);
        });
        self.selected.set(self.jobs.with_untracked(Vec::len) - 1);
        self.refit();
        Ok(())
    }

    /// Selects a job. Deadline, budget, minimum accuracy, what-if and pins belong to a job and are
    /// reset; probability and the user's own prices stay. Published prices for other hardware are
    /// replaced by those for the job's.
    pub fn select(&self, selected: usize) {
        self.choose();
        begin_scenario();
        self.selected.set(selected);
        let question = Question::about(&self.observations_untracked());
        let accelerator = untrack(|| self.job()).and_then(|job| job.context.accelerator);
        let prices = self.prices.get_untracked();
        let fitting = prices.clone().or_usual_for(accelerator.as_deref());
        if fitting != prices {
            self.prices.set(fitting);
        }
        self.deadline_secs.set(None);
        self.budget.set(None);
        self.min_accuracy.set(None);
        self.space.set(Space::of(&question));
        self.what_if.set(question.what_if);
        self.pins.set(Vec::new());
        self.refit();
    }

    /// Replaces the runs of the job with the same context and refits. The question stays.
    pub fn take_runs(&self, job: Job) {
        self.jobs.update(|jobs| {
            if let Some(known) = jobs.iter_mut().find(|known| known.context == job.context) {
                *known = job;
            }
        });
        self.refit();
    }

    fn observations_untracked(&self) -> Vec<Observation> {
        untrack(|| self.observations())
    }
}
