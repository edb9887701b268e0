//! What to measure next, with the commands for it.

use std::time::Duration;

use foreglow_model::{Advice, Suggestion, Verdict};
use foreglow_shared::{
    Configuration, Context, collect_command, format_duration, format_money, format_percent, format_rate,
};
use leptos::prelude::*;

use crate::clipboard::CopyButton;
use crate::errand::{Errand, READER};
use crate::fit::{FromErrand, ToErrand};
use crate::panel::prediction::capitalised;
use crate::state::Planner;

/// Number of suggestions shown.
const FEW: usize = 5;
/// Delay after the last change of the question, because the advice is expensive to compute.
const PAUSE: Duration = Duration::from_millis(400);

/// The samples expected to narrow the decision most for their time.
#[component]
pub fn NextSamples() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let open = RwSignal::new(false);
    let advice = RwSignal::new(None::<Result<Advice, String>>);
    let errand = StoredValue::new_local(None::<Errand>);
    let asked = Memo::new(move |_| open.get().then(|| planner.job().map(|job| (job, planner.question()))).flatten());
    Effect::new(move |earlier: Option<Option<TimeoutHandle>>| {
        if let Some(handle) = earlier.flatten() {
            handle.clear();
        }
        let (job, mut question) = asked.get()?;
        // The advice does not depend on the what-if.
        question.what_if = foreglow_shared::WhatIf { executors: 1, cores_per_executor: 1 };
        let ask = move || {
            advice.set(None);
            let told = move |told: Result<FromErrand, String>| match told {
                Ok(FromErrand::Advised(advised)) => advice.set(Some(advised)),
                Ok(_) => {}
                Err(reason) => advice.set(Some(Err(reason))),
            };
            match Errand::start(READER, &ToErrand::Advise(job, Box::new(question)), None, told) {
                Ok(started) => errand.set_value(Some(started)),
                Err(reason) => advice.set(Some(Err(reason))),
            }
        };
        set_timeout_with_handle(ask, PAUSE).ok()
    });
    let body = move || match advice.get() {
        None => view! { <p class="hush" role="status">"Comparing the samples that could be collected…"</p> }.into_any(),
        Some(Err(reason)) => view! { <p class="reason" role="alert">{capitalised(&reason)}</p> }.into_any(),
        Some(Ok(advice)) => advised(planner, &advice).into_any(),
    };
    view! {
        <section class="card next" aria-labelledby="next-title">
            <details on:toggle=move |_| open.update(|open| *open = !*open)>
                <summary data-testid="next-samples">
                    <h2 id="next-title">"What to measure next"</h2>
                </summary>
                <div class="next-body" data-testid="advice">{move || open.get().then(body)}</div>
            </details>
        </section>
    }
}

fn advised(planner: Planner, advice: &Advice) -> impl IntoView + use<> {
    let context = untrack(|| planner.job()).map(|job| job.context);
    let currency = planner.prices.with_untracked(|prices| prices.currency.clone());
    let rows = advice
        .suggestions
        .iter()
        .take(FEW)
        .map(|suggestion| row(context.as_ref(), suggestion, &currency))
        .collect_view();
    let has_rows = !advice.suggestions.is_empty();
    let wants_speed = untrack(|| planner.question()).wants_speed();
    view! {
        <p>{headline(advice, wants_speed)}</p>
        {has_rows.then(|| view! {
            <div class="scroll" tabindex="0" role="region" aria-label="Samples that could be collected">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Executors × cores"</th>
                            <th scope="col" class="number">"Images"</th>
                            <th scope="col" class="number">"Takes"</th>
                            <th scope="col" class="number wide">"Costs"</th>
                            <th scope="col" class="number">"Narrows by"</th>
                            <th scope="col">"Command"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        })}
    }
}

/// The verdict and its reason, in the same words as `foreglow advise`.
fn headline(advice: &Advice, wants_speed: bool) -> String {
    let saving = advice.expected_saving.map(|share| format_percent(share * 100.0));
    let what = if wants_speed { "time" } else { "money" };
    match (&advice.verdict, saving) {
        (Verdict::First { reason }, _) => format!("Nothing can be predicted yet: {reason}. Collect these first."),
        (Verdict::Enough, Some(saving)) => {
            format!("Enough: no other configuration is expected to save more than {saving} of the {what}.")
        }
        (Verdict::GoOn, Some(saving)) => {
            format!("Go on: another configuration is still expected to save {saving} of the recommended one's {what}.")
        }
        (Verdict::GoOn, None) => "Go on: no configuration meets the limits with the required probability yet.".into(),
        _ => "Enough: no sample that could be collected narrows the decision any more.".into(),
    }
}

fn row(context: Option<&Context>, suggestion: &Suggestion, currency: &str) -> impl IntoView + use<> {
    let Suggestion { executors, cores_per_executor, sampling_rate, secs, cost, narrowing, .. } = *suggestion;
    let unknown = || "unknown".to_owned();
    let command = context.and_then(|context| command(context, suggestion));
    view! {
        <tr>
            <th scope="row">{format!("{executors} × {cores_per_executor}")}</th>
            <td class="number">{format_rate(sampling_rate)}</td>
            <td class="number">{secs.map_or_else(unknown, format_duration)}</td>
            <td class="number wide">{cost.map_or_else(unknown, |cost| format_money(cost, currency))}</td>
            <td class="number">{narrowing.map_or_else(unknown, |share| format!("{:.0} %", share * 100.0))}</td>
            <td>
                {match command {
                    Some(command) => view! {
                        <code class="command" title=command.clone()>{command.clone()}</code>
                        <CopyButton text=Signal::derive(move || command.clone()) label="Copy" testid="copy-command" />
                    }.into_any(),
                    None => view! { <span class="hush">"run it yourself and import the sample"</span> }.into_any(),
                }}
            </td>
        </tr>
    }
}

/// The `foreglow collect` command, or `None` if `foreglow collect` cannot measure this kind of job.
fn command(context: &Context, suggestion: &Suggestion) -> Option<String> {
    let configuration = Configuration {
        executors: suggestion.executors,
        cores_per_executor: suggestion.cores_per_executor,
        memory_per_executor_mib: suggestion.memory_per_executor_mib,
        partition_size: suggestion.partition_size,
        accelerator: context.accelerator.clone(),
        shares_accelerators: context.shares_accelerators,
        extra: serde_json::Map::new(),
    };
    collect_command(context, &configuration, suggestion.sampling_rate, Some(("--output", "samples.jsonl")))
}
