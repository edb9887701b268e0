//! The rows of the list of all configurations.

use foreglow_shared::format_probability;
use leptos::prelude::*;

use crate::control::{CopyButton, PinButton, WhyButton};
use crate::data::machine_choice::Selection;
use crate::panel::prediction::{all_digits, compared_money, interval_ends, time_of};
use crate::state::Planner;
use crate::worker::plan::view::{Hardware, PlanView, Row};

/// A row of the list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListedRow {
    row: Row,
    selection: Selection,
    /// `c5.xlarge`; empty with a single machine type.
    machine: String,
    money: String,
    /// The hardware of a machine type that was not measured, and the basis of its time.
    hardware: Option<(Hardware, String)>,
    is_recommended: bool,
    is_on_front: bool,
}

impl ListedRow {
    /// Describes the row at a place of a plan.
    pub(super) fn of(plan: &PlanView, place: usize) -> Option<Self> {
        let row = plan.row(Some(place))?.clone();
        let arm = plan.arms.get(row.arm);
        Some(Self {
            selection: plan.selection(&row),
            machine: arm.map(|arm| arm.machine.clone()).unwrap_or_default(),
            hardware: arm.and_then(|arm| Some((arm.hardware.clone()?, arm.borrowed_from.clone()?))),
            money: compared_money(plan, row.cost, row.secs, row.interval.as_ref()),
            is_recommended: plan.recommended == Some(place),
            is_on_front: plan.front.contains(&place),
            row,
        })
    }
}

impl ListedRow {
    /// Shows the row.
    pub(super) fn shown(self, planner: Planner) -> impl IntoView {
        let watched = self.selection.clone();
        let (is_recommended, is_late, machine) = (self.is_recommended, !self.row.is_feasible, self.machine.clone());
        let cells = match self.hardware.clone() {
            Some((hardware, basis)) => self.of_machine(planner, hardware, basis).into_any(),
            None => self.of_configuration(planner).into_any(),
        };
        view! {
            <tr
                class:recommended-row=is_recommended
                class:late=is_late
                class:looked-at=move || planner.selection() == watched
                data-machine=machine
            >
                {cells}
            </tr>
        }
    }

    /// The cells of a measured configuration.
    fn of_configuration(self, planner: Planner) -> impl IntoView {
        let Self { row, selection, money, is_on_front, .. } = self;
        let chance = row.success_probability.map(format_probability);
        let looked = selection.clone();
        let time = time_of(&row);
        view! {
            <th scope="row">
                <button type="button" class="pick" title="Show it in the what-if" on:click=move |_| planner.look_at(looked.clone())>
                    {row.name}
                </button>
                {is_on_front.then(front_mark)}
            </th>
            <td class="number" data-secs=all_digits(row.secs)>{time}</td>
            <td class="number wide">{row.interval.map(|interval| interval_ends(Some(&interval)))}</td>
            <td class="number" data-cost=all_digits(row.cost)>{money}</td>
            <td class="number wide">{chance}</td>
            <td class="wide remark" title=row.exclusion>{row.remark}</td>
            <td class="acts">
                <PinButton configuration=Signal::stored(selection) />
            </td>
        }
    }

    /// The cells of a machine type that was not measured.
    fn of_machine(self, planner: Planner, hardware: Hardware, basis: String) -> impl IntoView {
        let Self { row, selection, money, is_on_front, .. } = self;
        let Hardware { gpus, place, memory, command } = hardware;
        let (title, time) = (command.clone(), time_of(&row));
        let looked = selection.clone();
        view! {
            <th scope="row">
                <button type="button" class="pick" on:click=move |_| planner.look_at(looked.clone())>{row.name}</button>
                {is_on_front.then(front_mark)}
                <span class="second">{place}</span>
                <span class="second narrow">{gpus.clone()}</span>
            </th>
            <td class="wide">{gpus} <span class="second">{memory}</span></td>
            <td class="number" data-secs=all_digits(row.secs)>
                {time}
                <span class="second">{interval_ends(row.interval.as_ref())}</span>
            </td>
            <td class="number" data-cost=all_digits(row.cost)>{money}</td>
            <td class="number">
                {row.success_probability.map(format_probability)} <span class="second remark">{row.remark}</span>
            </td>
            <td class="from wide">{basis}</td>
            <td class="acts">
                <WhyButton configuration=Signal::stored(selection.clone()) />
                <PinButton configuration=Signal::stored(selection) />
                <span class="wide" title=title>
                    <CopyButton text=Signal::stored(command) label="Copy command" testid="copy-measure" />
                </span>
            </td>
        }
    }
}

fn front_mark() -> impl IntoView {
    view! { <span class="pareto-mark" title="on the Pareto front">" ◆"</span> }
}
