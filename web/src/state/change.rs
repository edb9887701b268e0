//! Reads and writes all signals of the [`ViewState`] at once.

use std::convert::Infallible;

use foreglow_model::UnmeasuredJob;
use foreglow_shared::{Job, JobDefinition, View};
use leptos::prelude::*;

use super::Planner;
use crate::data::job::{Limits, related};
use crate::data::machine_choice::{MachineChoice, MachinePick};
use crate::data::view_state::{Link, Rest, Step, ViewState};

impl Planner {
    /// The state of the page; reactive.
    pub fn state(&self) -> ViewState {
        ViewState {
            jobs: self.jobs.get(),
            selected: self.selected.get(),
            unmeasured: self.unmeasured.get(),
            edits: self.edits.get(),
            limits: self.limits(),
            space: self.space.get(),
            prices: self.prices.get(),
            what_if: self.chosen.get(),
            pins: self.pins.get(),
            choice: self.machine_choice.get(),
            tab: self.tab.get(),
            switches: self.switches.get(),
            list: self.list.get(),
        }
    }

    /// The page as files and reports hold it, with the what-if that is shown; reactive. `None`
    /// without a job.
    pub fn view(&self) -> Option<View> {
        let mut view = self.state().view()?;
        view.question.what_if = self.what_if.get();
        Some(view)
    }

    /// The limits of the question; reactive.
    pub fn limits(&self) -> Limits {
        Limits {
            deadline_secs: self.deadline_secs.get(),
            budget: self.budget.get(),
            min_accuracy: self.min_accuracy.get(),
            probability: self.probability.get(),
        }
    }

    /// The part of the state whose changes are steps of the history; reactive. It equals
    /// [`ViewState::step`], but does not copy the runs.
    pub fn step(&self) -> Step {
        let selected = self.selected.get();
        Step {
            context: self.jobs.with(|jobs| jobs.get(selected).map(|job| job.context.clone())),
            unmeasured: self.jobs.with(Vec::is_empty).then(|| self.unmeasured.get()),
            limits: self.limits(),
            memory_per_executor_mib: self.space.with(|space| space.memory_per_executor_mib),
            prices: self.prices.get(),
            choice: MachineChoice { pick: MachinePick::default(), ..self.machine_choice.get() },
            tab: self.tab.get(),
        }
    }

    /// Subscribes to all signals of the state.
    pub fn track_state(&self) {
        self.step();
        self.edits.track();
        self.space.track();
        self.chosen.track();
        self.pins.track();
        self.machine_choice.track();
        self.switches.track();
        self.list.track();
    }

    /// Changes the state and refits if the runs of the selected job changed.
    pub fn change(&self, change: impl FnOnce(&mut ViewState)) {
        let changed: Result<(), Infallible> = self.try_change(|state| {
            change(state);
            Ok(())
        });
        changed.unwrap_or_default();
    }

    /// Changes the state as [`Planner::change`] does, or keeps it after an error.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn try_change<E>(&self, change: impl FnOnce(&mut ViewState) -> Result<(), E>) -> Result<(), E> {
        let before = untrack(|| self.state());
        let mut after = before.clone();
        change(&mut after)?;
        // Only the signals of what changed, because each redraws a part of the page.
        set(self.jobs, &before.jobs, &after.jobs);
        set(self.selected, &before.selected, &after.selected);
        set(self.unmeasured, &before.unmeasured, &after.unmeasured);
        set(self.edits, &before.edits, &after.edits);
        set(self.deadline_secs, &before.limits.deadline_secs, &after.limits.deadline_secs);
        set(self.budget, &before.limits.budget, &after.limits.budget);
        set(self.min_accuracy, &before.limits.min_accuracy, &after.limits.min_accuracy);
        set(self.probability, &before.limits.probability, &after.limits.probability);
        set(self.space, &before.space, &after.space);
        set(self.prices, &before.prices, &after.prices);
        set(self.chosen, &before.what_if, &after.what_if);
        set(self.pins, &before.pins, &after.pins);
        set(self.machine_choice, &before.choice, &after.choice);
        set(self.tab, &before.tab, &after.tab);
        set(self.switches, &before.switches, &after.switches);
        set(self.list, &before.list, &after.list);
        let context = |state: &ViewState| state.job().map(|job| job.context.clone());
        let fitted = |state: &ViewState| -> (Option<(JobDefinition, Vec<Job>)>, Option<UnmeasuredJob>) {
            let measured = context(state).map(|own| (JobDefinition::of(&own), related(&state.jobs, &own)));
            let unmeasured = measured.is_none().then(|| state.unmeasured.clone());
            (measured, unmeasured)
        };
        if before.job() != after.job() {
            self.forget_published();
        }
        if fitted(&before) != fitted(&after) {
            self.refit(context(&before) == context(&after));
        }
        Ok(())
    }

    /// Opens the fragment of a link. An invalid one changes nothing.
    ///
    /// # Errors
    /// One sentence without its full stop.
    pub fn open(&self, fragment: &str) -> Result<(), String> {
        self.open_link(Link::read(fragment).map_err(|error| error.to_string())?)
    }

    /// Opens the fragment of a link with what this tab kept. An invalid one changes nothing.
    ///
    /// # Errors
    /// As [`Planner::open`].
    pub fn reopen(&self, fragment: &str, rest: Rest) -> Result<(), String> {
        let link = Link::read(fragment).map_err(|error| error.to_string())?;
        let state = ViewState::reopened(link, rest)?;
        self.change(|shown| *shown = state);
        self.choose();
        self.alert.set(None);
        Ok(())
    }

    /// Opens a link. One whose job is unknown changes nothing.
    ///
    /// # Errors
    /// As [`ViewState::open`].
    pub fn open_link(&self, link: Link) -> Result<(), String> {
        self.try_change(|state| state.open(link))?;
        self.choose();
        self.alert.set(None);
        Ok(())
    }
}

fn set<T: Clone + PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, before: &T, after: &T) {
    if before != after {
        signal.set(after.clone());
    }
}
