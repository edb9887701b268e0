//! The answer in one line, and the neighbours of the recommended configuration on the front.

use foreglow_model::{Candidate, Neighbours};
use foreglow_shared::{WhatIf, format_duration, format_money};
use leptos::prelude::*;

use crate::data::neighbours::Taken;
use crate::data::text::counted;
use crate::data::text::named;
use crate::panel::prediction::time_of;
use crate::state::{Machines, Planner};

/// The answer in one line, over all machine types if several are compared. It stays visible while
/// the page scrolls if there is one column.
#[component]
pub fn InShort() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let words = move || {
        let machines = match planner.machines.get() {
            Machines::Ready(shown) => shown.compared.in_short.clone(),
            _ => String::new(),
        };
        let decision = planner.decision.get()?.ok()?;
        let limit = planner.deadline_secs.get().map(|secs| format!(" · deadline {}", format_duration(secs)));
        let limit = limit.unwrap_or_default();
        if !machines.is_empty() {
            return Some(view! { <span>"Recommended: " {machines + &limit}</span> }.into_any());
        }
        let Some(candidate) = decision.recommended.and_then(|place| decision.candidates.get(place)) else {
            return Some(view! { <span>"No configuration is recommended" {limit}</span> }.into_any());
        };
        let currency = planner.prices.with(|prices| prices.currency.clone());
        let money = candidate.cost.map_or_else(|| "cost unknown".into(), |cost| format_money(cost, &currency));
        let text = format!(
            "{} × {} · {} · {money}{limit}",
            counted(candidate.placement.executors, "executor"),
            counted(candidate.placement.cores_per_executor, "core"),
            time_of(Some(&candidate.prediction)).0,
        );
        Some(view! { <span>"Recommended: " {text}</span> }.into_any())
    };
    view! { <p class="in-short">{words}</p> }
}

/// The recommended configuration's neighbours on the Pareto front.
#[component]
pub fn NextOnFront() -> impl IntoView {
    let planner = expect_context::<Planner>();
    move || {
        let decision = planner.decision.get()?.ok()?;
        let neighbours = Neighbours::of(&decision);
        let recommended = decision.candidates.get(decision.recommended?).and_then(Taken::of)?;
        let row = |label: &'static str, place: Option<usize>, nothing: &'static str| match place
            .and_then(|place| decision.candidates.get(place))
        {
            Some(candidate) => neighbour(planner, label, candidate, recommended).into_any(),
            None => view! { <li><span class="label">{label}</span><span class="hush">{nothing}</span></li> }.into_any(),
        };
        let is_priced = planner.unpriced().is_none();
        is_priced.then(|| {
            view! {
                <ul class="neighbours">
                    {row("Next faster", neighbours.faster, "nothing is faster")}
                    {row("Next cheaper", neighbours.cheaper, "nothing is cheaper")}
                </ul>
            }
        })
    }
}

fn neighbour(
    planner: Planner,
    label: &'static str,
    candidate: &Candidate,
    recommended: Taken,
) -> impl IntoView + use<> {
    let configuration =
        WhatIf { executors: candidate.placement.executors, cores_per_executor: candidate.placement.cores_per_executor };
    let (time, secs) = time_of(Some(&candidate.prediction));
    let currency = planner.prices.with_untracked(|prices| prices.currency.clone());
    let money = candidate.cost.map_or_else(|| "unknown".into(), |cost| format_money(cost, &currency));
    let beside = match Taken::of(candidate) {
        _ if !candidate.keeps_accuracy => Some("accuracy too low or unknown".to_owned()),
        own => own.map(|own| own.beside(recommended, &currency)),
    };
    let short = format!("{} × {}", configuration.executors, configuration.cores_per_executor);
    view! {
        <li data-testid=label.to_ascii_lowercase().replace(' ', "-")>
            <span class="label">{label}</span>
            <button
                type="button"
                class="pick"
                aria-label=format!("{short}: show {} in the what-if", named(configuration))
                on:click=move |_| planner.look_at(configuration)
            >
                {short.clone()}
            </button>
            <strong data-secs=secs>{time}</strong>
            <strong>{money}</strong>
            <span class="beside">{beside}</span>
        </li>
    }
}
