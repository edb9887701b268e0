//! The question: the size of the job, the budget, the probability, the memory and the prices.

use foreglow_shared::{Mode, number};
use leptos::prelude::*;

use crate::data::duration::{compact_duration, parse_duration};
use crate::data::text::capitalised;
use crate::panel::prices::Prices;
use crate::state::Planner;

/// The panel with the inputs of the question.
#[component]
pub fn QuestionPanel() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let prices = move || {
        let memory = planner.space.with(|space| space.memory_per_executor_mib);
        planner.prices.with(|sheet| format!("{}, {memory} MiB each", sheet.name))
    };
    view! {
        <section class="card question" aria-labelledby="question-title">
            <h2 id="question-title">"The question"</h2>
            <Deadline />
            <Budget />
            <Work />
            <Probability />
            <details class="more">
                <summary data-testid="more-question">
                    <span class="edit">"Prices and memory"</span>
                    <span class="hush">{prices}</span>
                </summary>
                <Memory />
                <Prices />
            </details>
        </section>
    }
}

#[component]
fn Deadline() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let mistake = RwSignal::new(None::<String>);
    let written = move || planner.deadline_secs.get().map(compact_duration).unwrap_or_default();
    let set = move |event| {
        let text = event_target_value(&event);
        if text.trim().is_empty() {
            mistake.set(None);
            planner.deadline_secs.set(None);
            return;
        }
        match parse_duration(&text) {
            Ok(secs) => {
                mistake.set(None);
                planner.deadline_secs.set(Some(secs));
            }
            Err(error) => mistake.set(Some(error.to_string())),
        }
    };
    view! {
        <div class="field deadline">
            <label for="deadline">"Deadline"</label>
            <input
                id="deadline"
                type="text"
                inputmode="text"
                autocomplete="off"
                spellcheck="false"
                placeholder="none"
                data-testid="deadline"
                aria-describedby="deadline-note"
                aria-invalid=move || mistake.with(Option::is_some).to_string()
                prop:value=written
                on:change=set
            />
            <p id="deadline-note" class="note" class:wrong=move || mistake.with(Option::is_some) role="status">
                {move || match mistake.get() {
                    Some(mistake) => capitalised(&mistake),
                    None => "90s, 5m or 1h30m".into(),
                }}
            </p>
        </div>
    }
}

/// The size of the job: its images, and its epochs if it trains.
#[component]
fn Work() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let mistake = RwSignal::new(None::<String>);
    let work = Memo::new(move |_| {
        let selected = planner.selected.get();
        planner.jobs.with(|jobs| {
            jobs.get(selected).map_or((1, 1, false), |job| {
                let workload = &job.context.workload;
                (workload.images, workload.epochs, workload.mode == Mode::Training)
            })
        })
    });
    let ask = move |images: u64, epochs: u32| mistake.set(planner.ask_about(images, epochs).err());
    let set_images = move |event| ask(event_target_value(&event).trim().parse().unwrap_or(0), work.get_untracked().1);
    let set_epochs = move |event| ask(work.get_untracked().0, event_target_value(&event).trim().parse().unwrap_or(0));
    view! {
        <div class="field work">
            <label for="images">"Images"</label>
            <div class="with-unit">
                <input
                    id="images"
                    type="number"
                    min="1"
                    data-testid="images"
                    aria-describedby="images-note"
                    aria-invalid=move || mistake.with(Option::is_some).to_string()
                    prop:value=move || work.get().0.to_string()
                    on:change=set_images
                />
                <Show when=move || work.get().2>
                    <input
                        type="number"
                        min="1"
                        aria-label="Epochs"
                        data-testid="epochs"
                        prop:value=move || work.get().1.to_string()
                        on:change=set_epochs
                    />
                    <span>"epochs"</span>
                </Show>
            </div>
            <p id="images-note" class="note" class:wrong=move || mistake.with(Option::is_some) role="status">
                {move || match mistake.get() {
                    Some(mistake) => capitalised(&mistake),
                    None => "in the whole job".into(),
                }}
            </p>
        </div>
    }
}

#[component]
fn Budget() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let mistake = RwSignal::new(false);
    let set = move |event| {
        let text = event_target_value(&event);
        let money = number(text.trim()).filter(|money| *money > 0.0);
        mistake.set(money.is_none() && !text.trim().is_empty());
        if !mistake.get_untracked() {
            planner.budget.set(money);
        }
    };
    view! {
        <div class="field budget">
            <label for="budget">"Budget"</label>
            <div class="with-unit">
                <input
                    id="budget"
                    type="text"
                    inputmode="decimal"
                    autocomplete="off"
                    placeholder="none"
                    data-testid="budget"
                    aria-describedby="budget-note"
                    aria-invalid=move || mistake.get().to_string()
                    prop:value=move || planner.budget.get().map(|money| money.to_string()).unwrap_or_default()
                    on:change=set
                />
                <span>{move || planner.prices.with(|prices| prices.currency.clone())}</span>
            </div>
            <p id="budget-note" class="note" class:wrong=move || mistake.get() role="status">
                {move || if mistake.get() { "Write an amount of money above 0, such as 5." } else { "for the whole job" }}
            </p>
        </div>
    }
}

#[component]
fn Probability() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let mistake = RwSignal::new(false);
    let set = move |event| {
        let percent = number(event_target_value(&event).trim().trim_end_matches('%').trim());
        let probability = percent.map(|percent| percent / 100.0).filter(|share| *share > 0.0 && *share < 1.0);
        mistake.set(probability.is_none());
        if let Some(probability) = probability {
            planner.probability.set(probability);
        }
    };
    let written = move || ((planner.probability.get() * 1e6).round() / 1e4).to_string();
    view! {
        <div class="field probability">
            <label for="probability">"Probability"</label>
            <div class="with-unit">
                <input
                    id="probability"
                    type="text"
                    inputmode="decimal"
                    autocomplete="off"
                    data-testid="probability"
                    aria-describedby="probability-note"
                    aria-invalid=move || mistake.get().to_string()
                    prop:value=written
                    on:change=set
                />
                <span>"%"</span>
            </div>
            <p id="probability-note" class="note" class:wrong=move || mistake.get() role="status">
                {move || if mistake.get() { "Write a percentage above 0 and below 100, such as 90." } else { "of meeting each limit" }}
            </p>
        </div>
    }
}

#[component]
fn Memory() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let set = move |event| {
        if let Some(mib) = event_target_value(&event).parse::<u32>().ok().filter(|mib| *mib > 0) {
            planner.space.update(|space| space.memory_per_executor_mib = mib);
        }
    };
    view! {
        <div class="field memory">
            <label for="memory">"Memory of an executor"</label>
            <div class="with-unit">
                <input
                    id="memory"
                    type="number"
                    min="1"
                    prop:value=move || planner.space.with(|space| space.memory_per_executor_mib).to_string()
                    on:change=set
                />
                <span>"MiB"</span>
            </div>
            <p class="note">"affects the cost, not the time"</p>
        </div>
    }
}
