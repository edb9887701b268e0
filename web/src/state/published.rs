//! The published scenarios, which workers evaluate.

use std::sync::Arc;
use std::time::Duration;

use foreglow_shared::Job;
use leptos::prelude::*;
use wasm_bindgen::JsValue;

use super::{Compared, Evaluated, Fit, OpenedFiles, Planner};
use crate::client::{COMPARISON, READER, RunningRequest, storage};
use crate::worker::messages::{Published, Request, Response, SampleSource};

/// Key of the fingerprint of a job with the sentences about the whole jobs beside it: a reload
/// forgets the samples of files.
const WHOLE_JOBS: &str = "foreglow.whole-jobs.v1";

impl Planner {
    /// The published scenarios, evaluated on the first call after a fit; reactive.
    pub fn published(self) -> Option<Arc<Published>> {
        match (self.fit.with(|fit| *fit == Fit::Ready), self.evaluated.get()) {
            (true, Evaluated::Ready(published)) => Some(published),
            (true, Evaluated::None) => {
                self.evaluate();
                None
            }
            _ => None,
        }
    }

    /// Starts the evaluation in a separate task, because it changes signals.
    fn evaluate(self) {
        let start = move || {
            if self.evaluated.get_untracked() != Evaluated::None {
                return;
            }
            let Some(job) = untrack(|| self.job()) else { return };
            self.evaluated.set(Evaluated::Running);
            let of_job = untrack(|| self.measured(&job.context)).fingerprint();
            let (source, files) = self.samples_of(&job);
            if source == SampleSource::Unknown {
                self.whole_jobs.set(kept_whole_jobs(&of_job));
            }
            let told = move |told: Result<Response, String>| match told {
                Ok(Response::Evaluated(published)) => self.evaluated.set(Evaluated::Ready(Arc::new(*published))),
                Ok(Response::HeldOut(own)) => self.held_out.set(Some(own)),
                Ok(Response::WholeJobs(sentences)) => {
                    storage::keep(WHOLE_JOBS, &format!("{of_job}\n{}", sentences.join("\n")));
                    self.whole_jobs.set(sentences);
                }
                Ok(_) => {}
                Err(reason) => self.evaluated.set(Evaluated::Failed(reason)),
            };
            match RunningRequest::start(READER, &Request::Evaluate(job, source), files, told) {
                Ok(evaluation) => self.evaluation.set_value(Some(evaluation)),
                Err(reason) => self.evaluated.set(Evaluated::Failed(reason)),
            }
        };
        set_timeout(start, Duration::ZERO);
    }

    /// Where the samples of a job of the page are, and the files if it is from files.
    fn samples_of(self, job: &Job) -> (SampleSource, Option<JsValue>) {
        let context = untrack(|| self.measured(&job.context));
        let opened = self.import.opened.get_value().filter(|opened| opened.contexts.contains(&context));
        if let Some(OpenedFiles { files, added, .. }) = opened {
            return (SampleSource::Files(added), Some(files.into()));
        }
        let is_listed = self.live.listed.with_untracked(|listed| listed.iter().any(|listed| listed.context == context));
        (if is_listed { SampleSource::Collector } else { SampleSource::Unknown }, None)
    }

    /// Starts the comparison of the published scenarios with all of their learners.
    pub fn compare(self) {
        let Some(job) = untrack(|| self.job()) else { return };
        self.compared.set(Compared::Running(0, 1));
        let told = move |told: Result<Response, String>| match told {
            Ok(Response::Progress(done, total)) => self.compared.set(Compared::Running(done, total)),
            Ok(Response::Compared(rows)) => self.compared.set(Compared::Ready(rows)),
            Ok(_) => {}
            Err(reason) => self.compared.set(Compared::Failed(reason)),
        };
        match RunningRequest::start(COMPARISON, &Request::Compare(job), None, told) {
            Ok(comparison) => self.comparison.set_value(Some(comparison)),
            Err(reason) => self.compared.set(Compared::Failed(reason)),
        }
    }

    /// Cancels a running comparison, or clears a finished one.
    pub fn cancel_comparison(self) {
        self.comparison.set_value(None);
        self.compared.set(Compared::None);
    }

    /// Drops what was computed for the published scenarios of another job or of other runs.
    pub(super) fn forget_published(&self) {
        self.cancel_comparison();
        self.evaluation.set_value(None);
        self.evaluated.set(Evaluated::None);
        self.held_out.set(None);
        self.whole_jobs.set(Vec::new());
    }
}

/// Returns the sentences that were kept for a job.
fn kept_whole_jobs(of_job: &str) -> Vec<String> {
    let text = storage::kept(WHOLE_JOBS).unwrap_or_default();
    let mut lines = text.lines();
    if lines.next() == Some(of_job) { lines.map(str::to_owned).collect() } else { Vec::new() }
}
