//! The plan: questions to the planning worker, and its answers.

use std::sync::Arc;

use foreglow_shared::WhatIf;
use leptos::prelude::*;

use super::{Fit, Planner};
use crate::client::PlanWorker;
use crate::data::job::related;
use crate::data::machine_choice::{MachinePick, Selection};
use crate::data::text::named;
use crate::data::unmeasured;
use crate::worker::messages::Subject;
use crate::worker::plan::view::{ChartView, PlanView, Row, WhatIfView};
use crate::worker::plan::why::Reason;
use crate::worker::plan::{PlanAnswer, PlanQuestion};

/// What the page shows of the last answer.
#[derive(Clone, Copy)]
pub struct Answer {
    /// The plan, or why it failed; `None` before the first answer about a job.
    pub plan: RwSignal<Option<Result<Arc<PlanView>, String>>>,
    /// The data of the charts.
    pub charts: RwSignal<Option<Arc<ChartView>>>,
    /// The configuration of the what-if.
    pub what_if: RwSignal<Option<Arc<WhatIfView>>>,
    /// The pinned configurations, in the order of the pins.
    pub pinned: RwSignal<Arc<Vec<Option<Row>>>>,
    /// The explanation that the user asked for.
    pub reasons: RwSignal<Option<Arc<Vec<Reason>>>>,
}

impl Answer {
    /// No answer.
    pub fn new() -> Self {
        Self {
            plan: RwSignal::new(None),
            charts: RwSignal::new(None),
            what_if: RwSignal::new(None),
            pinned: RwSignal::new(Arc::default()),
            reasons: RwSignal::new(None),
        }
    }

    /// The plan; reactive. `None` without one.
    pub fn planned(self) -> Option<Arc<PlanView>> {
        self.plan.with(|plan| plan.as_ref()?.as_ref().ok().map(Arc::clone))
    }

    /// The row of the what-if; reactive. `None` if it has no time.
    pub fn looked_at(self) -> Option<Row> {
        self.what_if.with(|view| view.as_ref()?.outcome.as_ref().ok().cloned())
    }

    fn clear(self) {
        self.plan.set(None);
        self.charts.set(None);
        self.what_if.set(None);
        self.pinned.set(Arc::default());
        self.reasons.set(None);
    }
}

impl Planner {
    /// Starts the planning worker, which answers every question of the page, or shows why it cannot
    /// be started.
    pub fn follow_plan(self) {
        match PlanWorker::start(move |answer| self.take_answer(answer), move |names| self.public_names.set(names)) {
            Ok(worker) => self.worker.set_value(Some(worker)),
            Err(reason) => self.alert.set(Some(reason)),
        }
        Effect::new(move |_| {
            if let (Some(question), Some(worker)) = (self.plan_question(), self.worker.get_value()) {
                worker.ask(question);
            }
        });
    }

    /// The current question; reactive.
    fn plan_question(self) -> Option<PlanQuestion> {
        let selected = self.selected.get();
        let context = self.jobs.with(|jobs| jobs.get(selected).map(|job| job.context.clone()));
        if context.is_none() {
            if !self.is_unmeasured() {
                return None;
            }
            // Another job without samples is another question in the same form.
            self.unmeasured.track();
        }
        Some(PlanQuestion {
            context,
            question: self.question_without_what_if(),
            choice: self.machine_choice.get(),
            chosen: self.chosen.get(),
            pins: self.pins.get(),
            explained: self.explained.get(),
        })
    }

    /// The jobs that the plan is fitted to, and the question of advice; reactive.
    pub fn advice_question(self) -> Option<(Vec<foreglow_shared::Job>, PlanQuestion)> {
        let question = PlanQuestion { chosen: None, pins: Vec::new(), explained: None, ..self.plan_question()? };
        let jobs = self.jobs.with(|jobs| question.context.as_ref().map(|context| related(jobs, context)))?;
        Some((jobs, question))
    }

    /// Fits the selected job on all its machine types again. The answer about the same job stays
    /// until the next one.
    pub(super) fn refit(&self, is_same: bool) {
        if !is_same {
            self.answer.clear();
        }
        let subject = match untrack(|| self.job()) {
            Some(job) => Subject::Jobs(self.jobs.with_untracked(|jobs| related(jobs, &job.context))),
            None if untrack(|| self.is_unmeasured()) => {
                Subject::Unmeasured(unmeasured::fragment(&self.unmeasured.get_untracked(), untrack(|| self.limits())))
            }
            None => {
                self.fit.set(Fit::None);
                return;
            }
        };
        self.fit.set(Fit::Running);
        match self.worker.get_value() {
            Some(worker) => worker.take(subject),
            None => self.fit.set(Fit::Failed("this browser cannot run the fit in a worker; try a current one".into())),
        }
    }

    /// Fetches the public measurements of the usual networks, or of all, before they are needed.
    pub fn expect_no_samples(self, all: bool) {
        if let Some(worker) = self.worker.get_value() {
            worker.fetch_tables(all);
        }
    }

    /// Ends the loading of the page: without samples, it asks about the job without samples.
    pub fn end_loading(self) {
        self.loading.set(false);
        if self.jobs.with_untracked(Vec::is_empty) {
            self.refit(false);
        }
    }

    fn take_answer(self, answer: Result<PlanAnswer, String>) {
        let PlanAnswer { plan, charts, what_if, pinned, reasons } = match answer {
            Ok(answer) => answer,
            Err(reason) => {
                self.answer.clear();
                self.fit.set(Fit::Failed(reason));
                return;
            }
        };
        let shown = self.answer;
        if let Some(plan) = plan {
            if plan.is_err() {
                shown.clear();
            }
            shown.plan.set(Some(plan.map(Arc::new)));
        }
        if let Some(charts) = charts {
            shown.charts.set(Some(Arc::new(charts)));
        }
        if let Some(pinned) = pinned {
            shown.pinned.set(Arc::new(pinned));
        }
        if let Some(what_if) = what_if {
            shown.what_if.set(Some(Arc::new(what_if)));
        }
        if let Some(reasons) = reasons {
            shown.reasons.set(Some(Arc::new(reasons)));
        }
        if self.fit.with_untracked(|fit| *fit != Fit::Ready) {
            self.fit.set(Fit::Ready);
        }
    }

    /// Shows a configuration in the what-if, with its machine type and sizes.
    pub fn look_at(self, selection: Selection) {
        let Selection { counts, pick } = selection;
        self.chosen.set(Some(counts));
        if self.machine_choice.with_untracked(|choice| choice.pick != pick) {
            self.machine_choice.update(|choice| choice.pick = pick);
        }
    }

    /// Shows other executors and cores on the machine type of the what-if.
    pub fn look_at_counts(self, counts: WhatIf) {
        self.look_at(untrack(|| self.selection_of(counts)));
    }

    /// The name of a configuration: its executors and cores, or the machine type whose GPUs all
    /// work; reactive.
    pub fn called(self, selection: &Selection) -> String {
        match selection.pick.machine.clone().filter(|_| self.is_unmeasured()) {
            Some(machine) => machine,
            None => named(selection.counts),
        }
    }

    /// The configuration of the what-if; reactive.
    pub fn selection(self) -> Selection {
        self.selection_of(self.what_if.get())
    }

    /// Executors and cores on the machine type of the what-if; reactive. With several machine types
    /// it is part of the selection, so that it stays when another one is recommended.
    fn selection_of(self, counts: WhatIf) -> Selection {
        let pick = self.machine_choice.with(|choice| choice.pick.clone());
        let arm = self.answer.what_if.with(|view| Some(view.as_ref()?.outcome.as_ref().ok()?.arm));
        let own = self.answer.planned().zip(arm).map(|(plan, arm)| plan.selection_on(arm, counts).pick);
        let own = own.unwrap_or_default();
        let pick = MachinePick {
            machine: pick.machine.or(own.machine),
            batch_size: pick.batch_size.or(own.batch_size),
            partition_size: pick.partition_size.or(own.partition_size),
            ..pick
        };
        Selection { counts, pick }
    }
}
