//! Samples to measure next, with their commands.

use std::time::Duration;

use leptos::prelude::*;

use crate::client::{READER, RunningRequest};
use crate::control::CopyButton;
use crate::data::text::capitalised;
use crate::state::Planner;
use crate::worker::advice::{AdviceRow, AdviceText};
use crate::worker::messages::{Request, Response};

/// Delay after the last change of the question, because the advice is expensive to compute.
const PAUSE: Duration = Duration::from_millis(400);

/// The runs that are expected to save most for their cost.
#[component]
pub fn NextSamples() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let open = RwSignal::new(false);
    let advice = RwSignal::new(None::<Result<AdviceText, String>>);
    let running = StoredValue::new_local(None::<RunningRequest>);
    let asked = Memo::new(move |_| open.get().then(|| planner.advice_question()).flatten());
    Effect::new(move |earlier: Option<Option<TimeoutHandle>>| {
        if let Some(handle) = earlier.flatten() {
            handle.clear();
        }
        let (jobs, question) = asked.get()?;
        let ask = move || {
            advice.set(None);
            let on_response = move |response: Result<Response, String>| match response {
                Ok(Response::Advised(advised)) => advice.set(Some(advised)),
                Ok(_) => {}
                Err(reason) => advice.set(Some(Err(reason))),
            };
            match RunningRequest::start(READER, &Request::Advise(jobs, Box::new(question)), None, on_response) {
                Ok(started) => running.set_value(Some(started)),
                Err(reason) => advice.set(Some(Err(reason))),
            }
        };
        set_timeout_with_handle(ask, PAUSE).ok()
    });
    let body = move || match advice.get() {
        None => view! { <p class="hush" role="status">"Comparing the samples that could be collected…"</p> }.into_any(),
        Some(Err(reason)) => view! { <p class="reason" role="alert">{capitalised(&reason)}</p> }.into_any(),
        Some(Ok(advice)) => advised(&advice).into_any(),
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

fn advised(advice: &AdviceText) -> impl IntoView + use<> {
    let rows = advice.rows.iter().map(row).collect_view();
    let has_rows = !advice.rows.is_empty();
    view! {
        <p>{advice.headline.clone()}</p>
        {has_rows.then(|| view! {
            <div class="scroll" tabindex="0" role="region" aria-label="Samples that could be collected">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Executors × cores"</th>
                            <th scope="col" class="number">"Sampling rate"</th>
                            <th scope="col" class="number">"Takes"</th>
                            <th scope="col" class="number wide">"Costs"</th>
                            <th scope="col" class="number">"Saves"</th>
                            <th scope="col">"Command"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        })}
    }
}

fn row(advice: &AdviceRow) -> impl IntoView + use<> {
    let AdviceRow { configuration, sampling_rate, takes, costs, saves, command } = advice.clone();
    view! {
        <tr>
            <th scope="row">{configuration}</th>
            <td class="number">{sampling_rate}</td>
            <td class="number">{takes}</td>
            <td class="number wide">{costs}</td>
            <td class="number">{saves}</td>
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
