//! The header of the page and the title of the job.

use foreglow_shared::Job;
use leptos::prelude::*;

use crate::data::job;
use crate::panel::data::OpenFile;
use crate::panel::keys::Keys;
use crate::panel::share::Share;
use crate::source::select_listed;
use crate::state::Planner;

/// The logo, and the actions on the whole page.
#[component]
pub fn Header() -> impl IntoView {
    let planner = expect_context::<Planner>();
    view! {
        <header class="top">
            <div class="mark">
                <svg viewBox="0 0 32 32" aria-hidden="true">
                    <path class="sun" d="M5 21a11 11 0 0 1 22 0z" />
                    <path class="rays" d="M16 4v3M5.400 8.400l2.100 2.100M26.600 8.400l-2.100 2.100" />
                    <path class="horizon" d="M3 24.500h26" />
                </svg>
                <div>
                    <p class="name">"Foreglow"</p>
                    <p class="claim">"How long a job takes and what it costs on every machine, before you run all of it."</p>
                </div>
            </div>
            <div class="actions">
                <Keys />
                <OpenFile label="Open a file" />
                <Show when=move || !planner.loading.get()>
                    <Share />
                </Show>
            </div>
        </header>
    }
}

/// The selected job, with a selector if there are several.
#[component]
pub fn JobTitle() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let job = Memo::new(move |_| planner.job());
    let text = move |part: fn(&Job) -> String| move || job.with(|job| job.as_ref().map(part));
    let titles = Memo::new(move |_| {
        let mut titles: Vec<String> = planner.jobs.with(|jobs| jobs.iter().map(|job| job.context.title()).collect());
        titles.extend(planner.others().iter().map(|other| other.context.title()));
        titles
    });
    let choose = move |event| {
        let Ok(place) = event_target_value(&event).parse::<usize>() else { return };
        let measured = planner.jobs.with_untracked(Vec::len);
        match place.checked_sub(measured) {
            Some(place) => {
                if let Some(other) = untrack(|| planner.others()).into_iter().nth(place) {
                    select_listed(planner, other);
                }
            }
            None => planner.select(place),
        }
    };
    // The note that only the newest of many equal runs are fitted.
    let newest_of = move || {
        let all = job.with(|job| job.as_ref().and_then(|job| planner.live.all_runs(&planner.measured(&job.context))));
        all.map(|all| format!(", the newest of {all} runs"))
    };
    view! {
        <section class="job" aria-label="The job">
            <h1 tabindex="-1">{text(job::name)}</h1>
            <p class="circumstances">{text(job::circumstances)}</p>
            <p class="extent">"Predicted for the whole job from " {text(job::extent)} {newest_of} "."</p>
            <Show when=move || titles.with(|titles| titles.len() > 1)>
                <label class="choose-job">
                    <span>{move || format!("Show another of the {} measured jobs", titles.with(Vec::len))}</span>
                    <select data-testid="choose-job" on:change=choose prop:value=move || planner.selected.get().to_string()>
                        {move || {
                            titles
                                .get()
                                .into_iter()
                                .enumerate()
                                .map(|(place, title)| {
                                    view! {
                                        <option value=place.to_string() selected=move || planner.selected.get() == place>
                                            {title}
                                        </option>
                                    }
                                })
                                .collect_view()
                        }}
                    </select>
                </label>
            </Show>
        </section>
    }
}
