//! The comparison of machine types.

use std::sync::Arc;
use std::time::Duration;

use foreglow_model::MachineLimits;
use foreglow_shared::{Question, WhatIf, measured_choices};
use leptos::prelude::*;

use super::{Machines, Planner};
use crate::client::{Errand, READER};
use crate::worker::machines::MachineQuestion;
use crate::worker::messages::{FromErrand, ToErrand};

/// Delay after the last change of the question until machine types are compared again.
const MACHINES_PAUSE: Duration = Duration::from_millis(250);

impl Planner {
    /// Whether the selected job was measured with several machine types, batch sizes or partition
    /// sizes; reactive.
    pub fn has_machine_types(self) -> bool {
        self.job().is_some_and(|job| self.jobs.with(|jobs| measured_choices(jobs, &job.context) > 1))
    }

    /// Keeps the comparison of machine types current. A change of the question cancels the
    /// comparison in progress.
    pub fn follow_machines(self) {
        Effect::new(move |earlier: Option<Option<TimeoutHandle>>| {
            if let Some(handle) = earlier.flatten() {
                handle.clear();
            }
            self.machine_errand.set_value(None);
            if !self.has_machine_types() {
                self.machines.set(Machines::None);
                return None;
            }
            let question =
                Question { what_if: WhatIf { executors: 1, cores_per_executor: 1 }, ..self.question_without_what_if() };
            let question = MachineQuestion {
                jobs: self.jobs.get(),
                context: self.job()?.context,
                limits: MachineLimits::of(&question),
                sheet: question.prices,
                choice: self.machine_choice.get(),
                what_if: self.what_if.get(),
            };
            if !matches!(self.machines.get_untracked(), Machines::Ready(_)) {
                self.machines.set(Machines::Running);
            }
            set_timeout_with_handle(move || self.compare_machines(question), MACHINES_PAUSE).ok()
        });
    }

    fn compare_machines(self, question: MachineQuestion) {
        let told = move |told: Result<FromErrand, String>| match told {
            Ok(FromErrand::Machines(html)) => self.machines.set(Machines::Ready(Arc::new(*html))),
            Err(reason) => self.machines.set(Machines::Failed(reason)),
            Ok(_) => {}
        };
        match Errand::start(READER, &ToErrand::Machines(Box::new(question)), None, told) {
            Ok(errand) => self.machine_errand.set_value(Some(errand)),
            Err(reason) => self.machines.set(Machines::Failed(reason)),
        }
    }
}
