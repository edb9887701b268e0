//! The comparison of machine types.

use std::sync::Arc;
use std::time::Duration;

use foreglow_model::Limits;
use foreglow_shared::{Job, JobDefinition, measured_choices};
use leptos::prelude::*;

use super::{MachineView, Machines, Planner};
use crate::client::MachineWorker;
use crate::worker::machines::{MachineHtml, MachineQuestion};

/// Delay between the last change of the jobs and the fit, so that several changes need one fit.
const PAUSE: Duration = Duration::from_millis(250);

/// The compared jobs, and the one of the question.
type Compared = Option<(JobDefinition, Vec<Job>)>;

impl Planner {
    /// Updates the comparison of machine types. Other jobs need a new fit in a new worker; a
    /// question is answered from the existing fit.
    pub fn follow_machines(self) {
        let compared = Memo::new(move |_| self.compared_jobs());
        Effect::new(move |earlier: Option<(Option<TimeoutHandle>, Option<JobDefinition>)>| {
            let (handle, before) = earlier.unwrap_or_default();
            if let Some(handle) = handle {
                handle.clear();
            }
            self.machine_worker.set_value(None);
            let definition = compared.with(|compared| compared.as_ref().map(|(definition, _)| definition.clone()));
            if definition.is_none() {
                self.machines.set(Machines::None);
                return (None, None);
            }
            // An answer about the same job stays until the next one; an answer about another job is
            // removed.
            if before != definition || !matches!(self.machines.get_untracked(), Machines::Ready(_)) {
                self.machines.set(Machines::Running);
            }
            (set_timeout_with_handle(move || self.start_machines(compared), PAUSE).ok(), definition)
        });
        Effect::new(move |_| {
            let question = self.machine_question();
            match (self.machine_worker.get_value(), question) {
                (Some(worker), Some(question)) => worker.ask(question),
                // The worker failed on the last question.
                (None, Some(_)) if matches!(self.machines.get_untracked(), Machines::Failed(_)) => {
                    self.start_machines(compared);
                }
                _ => {}
            }
        });
    }

    /// All jobs, if the selected one was measured with several machine types, batch sizes,
    /// averaging intervals or partition sizes, or its accuracy was; reactive.
    fn compared_jobs(self) -> Compared {
        let selected = self.selected.get();
        self.jobs.with(|jobs| {
            let Job { context, accuracies, .. } = jobs.get(selected)?;
            let compares = !accuracies.is_empty() || measured_choices(jobs, context) > 1;
            compares.then(|| (JobDefinition::of(context), jobs.clone()))
        })
    }

    /// The current question about all machine types; reactive.
    fn machine_question(self) -> Option<MachineQuestion> {
        let selected = self.selected.get();
        let question = self.question();
        Some(MachineQuestion {
            context: self.jobs.with(|jobs| jobs.get(selected).map(|job| job.context.clone()))?,
            limits: Limits::of(&question),
            what_if: question.what_if,
            sheet: question.prices,
            choice: self.machine_choice.get(),
        })
    }

    fn start_machines(self, compared: Memo<Compared>) {
        let Some((_, jobs)) = compared.get_untracked() else { return };
        let Some(question) = untrack(|| self.machine_question()) else { return };
        match MachineWorker::start(jobs, move |told| self.show_machines(told)) {
            Ok(worker) => {
                worker.ask(question);
                self.machine_worker.set_value(Some(worker));
            }
            Err(reason) => self.machines.set(Machines::Failed(reason)),
        }
    }

    fn show_machines(self, told: Result<MachineHtml, String>) {
        let html = match told {
            Ok(html) => html,
            Err(reason) => {
                self.machine_worker.set_value(None);
                self.machines.set(Machines::Failed(reason));
                return;
            }
        };
        let shown = match self.machines.get_untracked() {
            Machines::Ready(shown) => Some(shown.compared),
            _ => None,
        };
        let compared = html.compared.map(Arc::new).or(shown).unwrap_or_default();
        self.machines.set(Machines::Ready(MachineView { compared, picked: html.picked.into() }));
    }
}
