//! Resource use of the runs in a file of `--monitor`.

use foreglow_shared::{MonitoredRun, format_duration, format_rate};
use leptos::prelude::*;

use crate::data::text::counted;
use crate::plot::resource_use::{picture, quantities};
use crate::state::Planner;

/// The charts of one run, with a selection of the run if the file has several.
#[component]
pub fn MonitorPanel() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let selected = RwSignal::new(0_usize);
    // A new file starts with its last run, which is the latest.
    Effect::new(move |_| selected.set(planner.monitored.with(Vec::len).saturating_sub(1)));
    let choose = move |event| {
        if let Ok(place) = event_target_value(&event).parse() {
            selected.set(place);
        }
    };
    let options = move || {
        planner.monitored.with(|runs| {
            let option = |(place, run): (usize, &MonitoredRun)| {
                let is_chosen = move || selected.get() == place;
                view! { <option value=place.to_string() selected=is_chosen>{name(run)}</option> }
            };
            runs.iter().enumerate().map(option).collect_view()
        })
    };
    let charts = move || {
        planner.monitored.with(|runs| {
            let run = runs.get(selected.get().min(runs.len().saturating_sub(1)))?;
            let chart = |quantity| {
                let text = picture(&quantity).into_text();
                view! { <figure><figcaption>{quantity.title}</figcaption><div inner_html=text></div></figure> }
            };
            Some(quantities(run).into_iter().map(chart).collect_view())
        })
    };
    view! {
        <Show when=move || !planner.monitored.with(Vec::is_empty)>
            <section class="card monitor" aria-labelledby="monitor-title" data-testid="monitor">
                <div class="samples-head">
                    <h2 id="monitor-title">"Resource use"</h2>
                    <label>
                        <span class="hush">"Run "</span>
                        <select data-testid="monitor-run" on:change=choose>{options}</select>
                    </label>
                    <button type="button" class="quiet" on:click=move |_| planner.monitored.set(Vec::new())>"Close"</button>
                </div>
                <p class="hush">"Sampled once a second while the run was timed. With several GPUs each has a line."</p>
                <div class="monitor-charts">{charts}</div>
            </section>
        </Show>
    }
}

/// `2 executors × 4 cores, 10 % of the images, 12 s`.
fn name(run: &MonitoredRun) -> String {
    let secs = run.moments.last().map_or(0.0, |moment| moment.secs);
    format!(
        "{} × {}, {} of the images, {}",
        counted(run.executors, "executor"),
        counted(run.cores_per_executor, "core"),
        format_rate(run.sampling_rate),
        format_duration(secs)
    )
}
