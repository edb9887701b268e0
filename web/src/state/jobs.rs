//! Changes of the jobs and of their runs.

use foreglow_shared::{Context, Job, JobDefinition, Observation, Question};
use leptos::prelude::*;

use super::history::begin_scenario;
use super::{Listed, Planner};
use crate::data::edits::{Edits, resized};
use crate::data::job::{Space, same_job};
use crate::data::left_out::Run;

impl Planner {
    /// Replaces all jobs and asks the default question about one of them.
    pub fn take_jobs(&self, jobs: Vec<Job>, selected: usize) {
        self.edits.update(Edits::forget_sizes);
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
            // With the default choice of configurations, those of the new runs are added.
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

    /// Removes the user's excluded runs from a measured job.
    pub fn without_left_out(&self, job: Job) -> Job {
        self.edits.with_untracked(|edits| edits.left_out.without(job))
    }

    /// Counts a choice of a job. Requests for an earlier choice are then obsolete.
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
            self.edits.update(|Edits { left_out, .. }| match out {
                true => left_out.leave_out(job, run),
                false => left_out.put_back(job, run),
            });
        });
        self.refit();
    }

    /// Rescales the selected job, on all machine types and with all settings, to another number of
    /// images and epochs. If a job of that size was measured, it is selected. The question stays.
    ///
    /// # Errors
    /// The runs do not fit such a job; one sentence.
    pub fn ask_about(&self, images: u64, epochs: u32) -> Result<(), String> {
        let Some(Job { context, .. }) = untrack(|| self.job()) else { return Ok(()) };
        let asked = resized(&context, images, epochs);
        if asked == context {
            return Ok(());
        }
        let definition = JobDefinition::of(&asked);
        let is_measured = |job: &Job| {
            let is_same = self.edits.with_untracked(|edits| edits.is_same_job(&job.context, &context));
            JobDefinition::of(&job.context) == definition && !is_same
        };
        match self.jobs.with_untracked(|jobs| jobs.iter().position(is_measured)) {
            // Measured runs of this size are better than rescaled ones.
            Some(place) => self.selected.set(place),
            None => self.resize(&context, images, epochs)?,
        }
        self.choose();
        begin_scenario();
        self.refit();
        Ok(())
    }

    /// Rescales all jobs of the page that were measured as the job of a context.
    pub(super) fn resize(&self, context: &Context, images: u64, epochs: u32) -> Result<(), String> {
        let mut told = Ok(());
        self.edits.update(|edits| self.jobs.update(|jobs| told = edits.resize(jobs, context, images, epochs)));
        told
    }

    /// Rescales the jobs of the page that were measured as the job of a context to its size.
    pub(super) fn show_size(&self, context: &Context) {
        // If runs have more images, the job stays as a separate one.
        let _ = self.resize(context, context.workload.images, context.workload.epochs);
    }

    /// The measured context of a job of the page; reactive.
    pub fn measured(&self, context: &Context) -> Context {
        self.edits.with(|edits| edits.measured(context))
    }

    /// A job of the collector in the size on the page.
    pub fn as_shown(&self, job: Job) -> Job {
        self.jobs.with_untracked(|jobs| self.edits.with_untracked(|edits| edits.as_shown(jobs, job)))
    }

    /// The jobs of the collector whose runs the page lacks; reactive.
    pub fn others(&self) -> Vec<Listed> {
        let known: Vec<Context> = self.jobs.with(|jobs| jobs.iter().map(|job| self.measured(&job.context)).collect());
        let is_other = |listed: &&Listed| !known.contains(&listed.context);
        self.live.listed.with(|listed| listed.iter().filter(is_other).cloned().collect())
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
