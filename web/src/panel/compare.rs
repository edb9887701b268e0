//! Comparison of the recommended configuration with its neighbours and with pinned configurations.

use foreglow_model::{Candidate, Limits, Neighbours, Plan};
use foreglow_shared::{Question, WhatIf, format_money, format_probability};
use leptos::prelude::*;

use crate::control::{WhyButton, refocus};
use crate::data::neighbours::{Taken, missing};
use crate::data::text::named;
use crate::panel::prediction::{interval_ends, time_of};
use crate::state::Planner;

/// One row of the comparison.
#[derive(Clone, Debug, PartialEq)]
struct ComparedCandidate {
    label: &'static str,
    candidate: Candidate,
    /// The sentence about missing neighbours of the recommended configuration.
    missing: &'static str,
    is_pinned: bool,
}

/// The comparison table.
#[component]
pub fn Compare() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let rows = Memo::new(move |_| rows(planner));
    let limits = Memo::new(move |_| planner.deadline_secs.get().is_some() || planner.budget.get().is_some());
    let body = move || {
        let rows = rows.get();
        let recommended = rows.iter().find(|row| row.label == RECOMMENDED).and_then(|row| Taken::of(&row.candidate));
        rows.into_iter().map(|row| shown(planner, row, recommended, limits.get())).collect_view()
    };
    let pin = move |_| {
        let what_if = planner.what_if.get_untracked();
        planner.pins.update(|pins| {
            if !pins.contains(&what_if) && pins.len() < MOST_PINS {
                pins.push(what_if);
            }
        });
    };
    let is_pinned = Memo::new(move |_| {
        let what_if = planner.what_if.get();
        planner.pins.with(|pins| pins.contains(&what_if) || pins.len() >= MOST_PINS)
    });
    view! {
        <section class="card side-by-side" aria-labelledby="compare-title">
            <div class="chart-head">
                <h2 id="compare-title">"Side by side"</h2>
                <button type="button" class="quiet" data-testid="pin" aria-disabled=move || is_pinned.get().to_string() on:click=pin>
                    {move || format!("Pin {}", short(planner.what_if.get()))}
                </button>
            </div>
            <div class="scroll" tabindex="0" role="region" aria-labelledby="compare-title">
                <table data-testid="compare-table">
                    <thead>
                        <tr>
                            <th scope="col"><span class="out-of-sight">"Which"</span></th>
                            <th scope="col">"Executors × cores"</th>
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

const RECOMMENDED: &str = "Recommended";
/// Limit on the pins, to keep the link short and the table readable.
const MOST_PINS: usize = 12;

fn rows(planner: Planner) -> Vec<ComparedCandidate> {
    let Some(Ok(decision)) = planner.decision.get() else { return Vec::new() };
    let neighbours = Neighbours::of(&decision);
    let row = |label: &'static str, place: Option<usize>| {
        let candidate = decision.candidates.get(place?)?.clone();
        let is_known = label == RECOMMENDED && Taken::of(&candidate).is_some();
        let missing = if is_known { missing(neighbours) } else { "" };
        Some(ComparedCandidate { label, candidate, missing, is_pinned: false })
    };
    let mut rows: Vec<ComparedCandidate> = [
        row("Next cheaper", neighbours.cheaper),
        row(RECOMMENDED, decision.recommended),
        row("Next faster", neighbours.faster),
    ]
    .into_iter()
    .flatten()
    .collect();
    let (Some(fitted), Some(job)) = (planner.fitted(), planner.job()) else { return rows };
    let question = planner.question_without_what_if();
    for pin in planner.pins.get() {
        let asked = Question {
            executors: vec![pin.executors],
            cores_per_executor: vec![pin.cores_per_executor],
            ..question.clone()
        };
        let plan = Plan::from_context(fitted.predictor.clone(), &job, &asked).ok();
        let decision = plan.and_then(|plan| plan.decide(&Limits::of(&asked)).ok());
        let candidate = decision.and_then(|decision| decision.candidates.into_iter().next());
        rows.extend(candidate.map(|candidate| ComparedCandidate {
            label: "Pinned",
            candidate,
            missing: "",
            is_pinned: true,
        }));
    }
    rows
}

fn short(what_if: WhatIf) -> String {
    format!("{} × {}", what_if.executors, what_if.cores_per_executor)
}

fn shown(planner: Planner, row: ComparedCandidate, recommended: Option<Taken>, limits: bool) -> impl IntoView {
    let ComparedCandidate { label, candidate, missing, is_pinned } = row;
    let configuration =
        WhatIf { executors: candidate.placement.executors, cores_per_executor: candidate.placement.cores_per_executor };
    let (time, secs) = time_of(Some(&candidate.prediction));
    let currency = planner.prices.with(|prices| prices.currency.clone());
    let money = candidate.cost.map_or_else(|| "unknown".into(), |cost| format_money(cost, &currency));
    let chance = candidate.success_probability.map_or_else(|| "unknown".into(), format_probability);
    let beside = match (label, Taken::of(&candidate).zip(recommended)) {
        (RECOMMENDED, _) | (_, None) => missing.to_owned(),
        (_, Some((own, recommended))) => own.beside(recommended, &currency),
    };
    let remark = candidate.exclusion.as_ref().map(|exclusion| exclusion.to_string());
    let test_id = format!("compare-{}", label.to_ascii_lowercase().replace(' ', "-"));
    let unpin = move |_| {
        planner.pins.update(|pins| pins.retain(|pin| *pin != configuration));
        // The rows move up, so the button of the last row disappears.
        request_animation_frame(|| {
            refocus("tr:last-child [data-testid=unpin]");
            refocus("[data-testid=pin]");
        });
    };
    view! {
        <tr
            data-testid=test_id
            class:recommended-row=label == RECOMMENDED
            class:late=!candidate.is_feasible
            class:looked-at=move || planner.what_if.get() == configuration
        >
            <th scope="row" class="label">{label}</th>
            <td>
                <button
                    type="button"
                    class="pick"
                    aria-label=format!("{}: show {} in the what-if", short(configuration), named(configuration))
                    on:click=move |_| planner.look_at(configuration)
                >
                    {short(configuration)}
                </button>
            </td>
            <td class="number strong" data-secs=secs>{time}</td>
            <td class="number wide hush">{interval_ends(candidate.prediction.interval.as_ref())}</td>
            <td class="number strong" data-cost=candidate.cost.map(|cost| cost.to_string())>{money}</td>
            {limits.then(|| view! { <td class="number" data-testid="chance">{chance}</td> })}
            <td class="beside">{remark.unwrap_or(beside)}</td>
            <td class="acts">
                <WhyButton configuration=Signal::stored(configuration) />
                {is_pinned.then(|| {
                    view! {
                        <button
                            type="button"
                            class="why"
                            data-testid="unpin"
                            aria-label=format!("Unpin {}", named(configuration))
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
