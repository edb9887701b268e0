//! A table of every configuration with its time and cost.

use std::sync::Arc;

use foreglow_model::{Candidate, Decision};
use foreglow_shared::{WhatIf, format_money};
use leptos::prelude::*;

use crate::panel::prediction::{interval_ends, time_of};
use crate::state::Planner;

/// Number of rows shown initially.
const FEW: usize = 12;
/// Limit on the rows for smooth scrolling.
const MOST: usize = 1_000;

/// The table of all candidates, cheapest first.
#[component]
pub fn Candidates() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let all = RwSignal::new(false);
    let decision = Memo::new(move |_| planner.decision.get().and_then(Result::ok));
    let count = Memo::new(move |_| decision.with(|decision| decision.as_ref().map_or(0, |d| d.candidates.len())));
    let rows = Memo::new(move |_| {
        let limit = if all.get() { MOST } else { FEW };
        let row = |decision: &Arc<Decision>| {
            by_money(decision)
                .into_iter()
                .take(limit)
                .map(|place| CandidateCells::of(planner, decision, place))
                .collect()
        };
        decision.with(|decision| decision.as_ref().map(row).unwrap_or_default())
    });
    let shown_rows = Memo::new(move |_| rows.with(Vec::<CandidateCells>::len));
    // One memo per row, so that unchanged rows are not rebuilt.
    let body = move || {
        let row = |place: usize| {
            let row = Memo::new(move |_| rows.with(|rows| rows.get(place).cloned()));
            move || row.get().map(|row| shown(planner, row))
        };
        (0..shown_rows.get()).map(row).collect_view()
    };
    view! {
        <section class="card candidates" aria-labelledby="candidates-title">
            <h2 id="candidates-title">"Every configuration"</h2>
            <p class="hush">
                "Cheapest first; those that miss the deadline or exceed the budget last. " <span class="pareto-mark">"◆"</span>
                " marks the Pareto front: nothing else is both faster and cheaper."
            </p>
            <div class="scroll" tabindex="0" role="region" aria-labelledby="candidates-title">
                <table data-testid="candidates">
                    <thead>
                        <tr>
                            <th scope="col">"Executors × cores"</th>
                            <th scope="col" class="number">"Completion time"</th>
                            <th scope="col" class="number wide">"90 % interval"</th>
                            <th scope="col" class="number">"Cost"</th>
                            <th scope="col" class="wide"></th>
                        </tr>
                    </thead>
                    <tbody>{body}</tbody>
                </table>
            </div>
            <Show when=move || { count.get() > FEW }>
                <button type="button" class="quiet" on:click=move |_| all.update(|all| *all = !*all)>
                    {move || match (all.get(), count.get()) {
                        (true, _) => "Show the cheapest only".to_owned(),
                        (false, count) if count > MOST => format!("Show the cheapest {MOST} of {count}"),
                        (false, count) => format!("Show all {count}"),
                    }}
                </button>
            </Show>
        </section>
    }
}

/// Indices of the candidates: feasible ones first, then by cost (executor-hours without prices) and
/// time; unknown values last.
fn by_money(decision: &Decision) -> Vec<usize> {
    let key = |place: &usize| {
        let candidate = &decision.candidates[*place];
        let secs = candidate.prediction.completion_time_secs.unwrap_or(f64::INFINITY);
        (!candidate.is_feasible, candidate.objective.unwrap_or(f64::INFINITY), secs)
    };
    let mut places: Vec<usize> = (0..decision.candidates.len()).collect();
    places.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2))
    });
    places
}

/// Cells of the row of a candidate.
#[derive(Clone, Debug, PartialEq)]
struct CandidateCells {
    configuration: WhatIf,
    time: (String, Option<String>),
    interval: Option<String>,
    money: String,
    recommended: bool,
    late: bool,
    pareto: bool,
    remark: &'static str,
}

impl CandidateCells {
    fn of(planner: Planner, decision: &Decision, place: usize) -> Self {
        let candidate: &Candidate = &decision.candidates[place];
        let interval = candidate.prediction.interval.as_ref();
        let currency = planner.prices.with(|prices| prices.currency.clone());
        let recommended = decision.recommended == Some(place);
        let is_over = |value: Option<f64>, limit: Option<f64>| limit.is_some_and(|limit| value > Some(limit));
        let is_late = is_over(candidate.prediction.completion_time_secs, planner.deadline_secs.get());
        let is_dear = is_over(candidate.cost, planner.budget.get());
        Self {
            configuration: WhatIf {
                executors: candidate.placement.executors,
                cores_per_executor: candidate.placement.cores_per_executor,
            },
            time: time_of(Some(&candidate.prediction)),
            interval: interval.map(|interval| interval_ends(Some(interval))),
            money: candidate.cost.map_or_else(|| "unknown".into(), |cost| format_money(cost, &currency)),
            recommended,
            late: !candidate.is_feasible,
            pareto: decision.pareto.contains(&place),
            remark: match (recommended, decision.fastest == Some(place), candidate.meets_deadline) {
                _ if candidate.exclusion.is_some() => "out of memory",
                _ if !candidate.keeps_accuracy => "accuracy too low or unknown",
                (true, ..) => "recommended",
                (_, true, false) if is_late => "fastest, still too late",
                (_, false, false) if is_late => "too late",
                _ if is_dear => "over budget",
                _ if !candidate.is_feasible => "too uncertain",
                (_, true, true) => "fastest",
                _ => "",
            },
        }
    }
}

fn shown(planner: Planner, row: CandidateCells) -> impl IntoView {
    let CandidateCells { configuration, time: (time, secs), interval, money, recommended, late, pareto, remark } = row;
    view! {
        <tr
            class:recommended-row=recommended
            class:late=late
            class:looked-at=move || planner.what_if.get() == configuration
        >
            <th scope="row">
                <button type="button" class="pick" title="Show it in the what-if" on:click=move |_| planner.look_at(configuration)>
                    {format!("{} × {}", configuration.executors, configuration.cores_per_executor)}
                </button>
                {pareto.then(|| view! { <span class="pareto-mark" title="on the Pareto front">" ◆"</span> })}
            </th>
            <td class="number" data-secs=secs>{time}</td>
            <td class="number wide">{interval}</td>
            <td class="number">{money}</td>
            <td class="wide remark">{remark}</td>
        </tr>
    }
}
