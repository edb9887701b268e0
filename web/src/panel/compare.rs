//! Comparison of the recommended configuration with its neighbours and with pinned configurations.

use std::sync::Arc;

use foreglow_shared::format_probability;
use leptos::prelude::*;

use crate::control::{WhyButton, refocus};
use crate::data::machine_choice::Selection;
use crate::data::neighbours::TimeCost;
use crate::data::text::named;
use crate::panel::prediction::{all_digits, interval_ends, money_of, taken, time_of};
use crate::state::Planner;
use crate::worker::plan::view::{PlanView, Row};

const RECOMMENDED: &str = "Recommended";

/// One row of the comparison.
#[derive(Clone, Debug, PartialEq)]
struct ComparedRow {
    label: &'static str,
    row: Row,
    selection: Selection,
}

/// The comparison table.
#[component]
pub fn Compare() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let plan = Memo::new(move |_| planner.answer.planned());
    let rows = Memo::new(move |_| plan.with(|plan| plan.as_ref().map(|plan| rows(planner, plan)).unwrap_or_default()));
    let limits = Memo::new(move |_| planner.deadline_secs.get().is_some() || planner.budget.get().is_some());
    let machines = Memo::new(move |_| plan.with(|plan| plan.as_ref().is_some_and(|plan| plan.compares())));
    let body = move || {
        let plan = plan.get()?;
        let rows = rows.get();
        Some(rows.into_iter().map(|row| shown(planner, &plan, row, limits.get())).collect_view())
    };
    view! {
        <section class="card side-by-side" aria-labelledby="compare-title">
            <div class="chart-head">
                <h2 id="compare-title">"Side by side"</h2>
                <button
                    type="button"
                    class="quiet"
                    data-testid="pin"
                    aria-disabled=move || planner.is_pinned(&planner.selection()).to_string()
                    on:click=move |_| planner.pin(untrack(|| planner.selection()))
                >
                    {move || format!("Pin {} × {}", planner.what_if.get().executors, planner.what_if.get().cores_per_executor)}
                </button>
            </div>
            <div class="scroll" tabindex="0" role="region" aria-labelledby="compare-title">
                <table data-testid="compare-table">
                    <thead>
                        <tr>
                            <th scope="col"><span class="out-of-sight">"Which"</span></th>
                            <th scope="col">{move || if machines.get() { "Machines" } else { "Executors × cores" }}</th>
                            <th scope="col" class="number">"Completion time"</th>
                            <th scope="col" class="number wide">"90 % interval"</th>
                            <th scope="col" class="number">"Cost"</th>
                            <Show when=move || limits.get()>
                                <th scope="col" class="number">"Probability"</th>
                            </Show>
                            <th scope="col">"Compared with the recommended"</th>
                            <th scope="col"><span class="out-of-sight">"Actions"</span></th>
                        </tr>
                    </thead>
                    <tbody>{body}</tbody>
                </table>
            </div>
        </section>
    }
}

fn rows(planner: Planner, plan: &Arc<PlanView>) -> Vec<ComparedRow> {
    let row = |label: &'static str, place: Option<usize>| {
        let row = plan.row(place)?.clone();
        Some(ComparedRow { label, selection: plan.selection(&row), row })
    };
    let outstanding = [
        row("Next cheaper", plan.next_cheaper),
        row(RECOMMENDED, plan.recommended),
        row("Next faster", plan.next_faster),
    ];
    let pinned = planner.answer.pinned.get();
    let pins = planner.pins.get().into_iter().zip(pinned.iter().cloned());
    let pins = pins.filter_map(|(selection, row)| Some(ComparedRow { label: "Pinned", row: row?, selection }));
    outstanding.into_iter().flatten().chain(pins).collect()
}

/// The sentence about missing neighbours of the recommended configuration, next cheaper and next
/// faster. Cheaper ones within the error of the cost count as equally costly.
fn missing<T>(cheaper: Option<T>, faster: Option<T>) -> &'static str {
    match (cheaper, faster) {
        (None, None) => "none is faster, or cheaper by more than the error of its cost",
        (None, Some(_)) => "none is cheaper by more than the error of its cost",
        (Some(_), None) => "none is faster",
        (Some(_), Some(_)) => "",
    }
}

fn shown(planner: Planner, plan: &PlanView, compared: ComparedRow, limits: bool) -> impl IntoView + use<> {
    let ComparedRow { label, row, selection } = compared;
    let recommended = plan.row(plan.recommended).and_then(taken);
    let chance = row.success_probability.map_or_else(|| "unknown".into(), format_probability);
    let beside = match taken(&row).zip(recommended) {
        Some((own, recommended)) if label != RECOMMENDED => {
            let [own, recommended] = [own, recommended].map(|of| TimeCost { cost: plan.compared_cost(of.cost), ..of });
            own.beside(recommended, &plan.currency, plan.compared_unit())
        }
        _ if plan.cost_unknown.is_some() => String::new(),
        _ => missing(plan.next_cheaper, plan.next_faster).to_owned(),
    };
    let is_pinned = label == "Pinned";
    let (looked, unpinned, watched) = (selection.clone(), selection.clone(), selection.clone());
    let unpin = move |_| {
        planner.pins.update(|pins| pins.retain(|pin| *pin != unpinned));
        // The rows move up, so the button of the last row disappears.
        request_animation_frame(|| {
            refocus("tr:last-child [data-testid=unpin]");
            refocus("[data-testid=pin]");
        });
    };
    view! {
        <tr
            data-testid=format!("compare-{}", label.to_ascii_lowercase().replace(' ', "-"))
            class:recommended-row=label == RECOMMENDED
            class:late=!row.is_feasible
            class:looked-at=move || planner.selection() == watched
        >
            <th scope="row" class="label">{label}</th>
            <td>
                <button
                    type="button"
                    class="pick"
                    aria-label=format!("{}: show {} in the what-if", row.name, named(selection.counts))
                    on:click=move |_| planner.look_at(looked.clone())
                >
                    {row.name.clone()}
                </button>
            </td>
            <td class="number strong" data-secs=all_digits(row.secs)>{time_of(&row)}</td>
            <td class="number wide hush">{interval_ends(row.interval.as_ref())}</td>
            <td class="number strong" data-cost=all_digits(row.cost)>{money_of(&row, &plan.currency)}</td>
            {limits.then(|| view! { <td class="number" data-testid="chance">{chance}</td> })}
            <td class="beside">{row.exclusion.unwrap_or(beside)}</td>
            <td class="acts">
                <WhyButton configuration=Signal::stored(selection.clone()) />
                {is_pinned.then(|| {
                    view! {
                        <button
                            type="button"
                            class="why"
                            data-testid="unpin"
                            aria-label=format!("Unpin {}", named(selection.counts))
                            on:click=unpin
                        >
                            "Unpin"
                        </button>
                    }
                })}
            </td>
        </tr>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cheaper_configurations_within_the_error_are_not_denied() {
        assert_eq!(missing(None, Some(1)), "none is cheaper by more than the error of its cost");
        assert_eq!(missing(None::<usize>, None), "none is faster, or cheaper by more than the error of its cost");
        assert_eq!((missing(Some(1), None), missing(Some(1), Some(2))), ("none is faster", ""));
    }
}
