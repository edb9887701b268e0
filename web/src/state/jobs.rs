//! Changes of the jobs and of their runs.

use foreglow_shared::{Context, Job};
use leptos::prelude::*;

use super::{JobSummary, Planner};
use crate::data::left_out::Run;

impl Planner {
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

    /// Replaces all jobs, as by a file, and asks the default question about one of them.
    pub fn take_jobs(&self, jobs: Vec<Job>, selected: usize) {
        self.choose();
        self.change(|state| state.take_jobs(jobs, selected));
    }

    /// Selects a job; the question stays.
    pub fn select(&self, place: usize) {
        self.choose();
        self.change(|state| state.select(place));
    }

    /// Asks about another number of images and epochs; the question stays.
    ///
    /// # Errors
    /// The runs do not fit such a job; one sentence.
    pub fn ask_about(&self, images: u64, epochs: u32) -> Result<(), String> {
        self.try_change(|state| state.ask_about(images, epochs))?;
        self.choose();
        Ok(())
    }

    /// Excludes a run of the selected job, or restores it.
    pub fn set_left_out(&self, run: Run, out: bool) {
        self.change(|state| state.set_left_out(run, out));
    }

    /// Removes the user's excluded runs from a measured job.
    pub fn without_left_out(&self, job: Job) -> Job {
        self.edits.with_untracked(|edits| edits.left_out.without(job))
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
    pub fn others(&self) -> Vec<JobSummary> {
        let known: Vec<Context> = self.jobs.with(|jobs| jobs.iter().map(|job| self.measured(&job.context)).collect());
        let is_other = |listed: &&JobSummary| !known.contains(&listed.context);
        self.live.listed.with(|listed| listed.iter().filter(is_other).cloned().collect())
    }
}
