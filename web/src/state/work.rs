//! Work for the page's workers: fits, and the published scenarios.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;

use super::{Compared, Evaluated, Fit, Planner};
use crate::client::{COMPARISON, Errand, FitWorker, READER};
use crate::worker::messages::{Fitted, FromErrand, Published, ToErrand};

impl Planner {
    /// Starts the fit worker, or shows why it cannot be started.
    pub fn start_worker(self) {
        let foresee = move |fitted: &Arc<Fitted>| self.foresee.run(Arc::clone(fitted));
        let started = FitWorker::start(foresee, move |answer| {
            self.fit.set(match answer {
                Ok(fitted) => Fit::Ready(fitted),
                Err(reason) => Fit::Failed(reason),
            });
        });
        match started {
            Ok(worker) => self.worker.set_value(Some(worker)),
            Err(reason) => self.alert.set(Some(reason)),
        }
    }

    /// The published scenarios, evaluated on the first call after a fit; reactive.
    pub fn published(self) -> Option<Arc<Published>> {
        match (self.fit.with(|fit| matches!(fit, Fit::Ready(_))), self.evaluated.get()) {
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
            let told = move |told: Result<FromErrand, String>| match told {
                Ok(FromErrand::Evaluated(published)) => self.evaluated.set(Evaluated::Ready(Arc::new(*published))),
                Ok(_) => {}
                Err(reason) => self.evaluated.set(Evaluated::Failed(reason)),
            };
            match Errand::start(READER, &ToErrand::Evaluate(job), None, told) {
                Ok(evaluation) => self.evaluation.set_value(Some(evaluation)),
                Err(reason) => self.evaluated.set(Evaluated::Failed(reason)),
            }
        };
        set_timeout(start, Duration::ZERO);
    }

    /// Starts the comparison of the published scenarios with all of their learners.
    pub fn compare(self) {
        let Some(job) = untrack(|| self.job()) else { return };
        self.compared.set(Compared::Running(0, 1));
        let told = move |told: Result<FromErrand, String>| match told {
            Ok(FromErrand::Progress(done, total)) => self.compared.set(Compared::Running(done, total)),
            Ok(FromErrand::Compared(rows)) => self.compared.set(Compared::Ready(rows)),
            Ok(_) => {}
            Err(reason) => self.compared.set(Compared::Failed(reason)),
        };
        match Errand::start(COMPARISON, &ToErrand::Compare(job), None, told) {
            Ok(comparison) => self.comparison.set_value(Some(comparison)),
            Err(reason) => self.compared.set(Compared::Failed(reason)),
        }
    }

    /// Cancels a running comparison, or clears a finished one.
    pub fn cancel_comparison(self) {
        self.comparison.set_value(None);
        self.compared.set(Compared::None);
    }

    /// Fits the selected job again.
    pub(super) fn refit(&self) {
        self.cancel_comparison();
        self.evaluation.set_value(None);
        self.evaluated.set(Evaluated::None);
        let Some(job) = untrack(|| self.job()) else {
            self.fit.set(Fit::None);
            return;
        };
        self.fit.set(Fit::Running);
        match self.worker.get_value() {
            Some(worker) => worker.request(job, untrack(|| self.question())),
            None => self.fit.set(Fit::Failed("this browser cannot run the fit in a worker; try a current one".into())),
        }
    }
}
