//! The question: the size of the job, the budget, the probability, the memory and the prices.

use foreglow_shared::{
    ACCURACIES, MONEY, MOST_MEMORY_MIB, Mode, PROBABILITIES, compact_duration, number, parse_duration, share_of_percent,
};
use leptos::prelude::*;

use crate::data::job::work_title;
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
            <MinAccuracy />
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

/// The deadline.
#[component]
pub(super) fn Deadline() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let mistake = RwSignal::new(None::<String>);
    // Another job has its own deadline.
    Effect::new(move |_| {
        planner.selected.track();
        planner.jobs.track();
        mistake.set(None);
    });
    let written = move || planner.deadline_secs.get().map(compact_duration).unwrap_or_default();
    let set = move |event| {
        let text = event_target_value(&event);
        if text.trim().is_empty() {
            mistake.set(None);
            planner.deadline_secs.set(None);
            return;
        }
        match parse_duration(&text) {
            Some(secs) => {
                mistake.set(None);
                planner.deadline_secs.set(Some(secs));
            }
            None => {
                mistake.set(Some(format!("{:?} is not a duration above zero; write 90, 90s, 5m or 1h30m", text.trim())))
            }
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
    let noun = Memo::new(move |_| {
        let selected = planner.selected.get();
        planner.jobs.with(|jobs| {
            jobs.get(selected).map_or_else(|| "Images".to_owned(), |job| work_title(&job.context.workload))
        })
    });
    let ask = move |images: u64, epochs: u32| mistake.set(planner.ask_about(images, epochs).err());
    let set_images = move |event| ask(event_target_value(&event).trim().parse().unwrap_or(0), work.get_untracked().1);
    let set_epochs = move |event| ask(work.get_untracked().0, event_target_value(&event).trim().parse().unwrap_or(0));
    view! {
        <div class="field work">
            <label for="images">{noun}</label>
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

/// A field for a number.
#[component]
fn NumberField(
    /// Name in tests and style sheets.
    name: &'static str,
    /// Label.
    label: &'static str,
    /// The note, and its text for an invalid number.
    notes: [&'static str; 2],
    /// Unit of the number.
    #[prop(into)]
    unit: Signal<String>,
    /// The number as text.
    #[prop(into)]
    written: Signal<String>,
    /// Sets a number, or `None` for an empty field. Returns whether it is valid.
    set: fn(Planner, Option<f64>) -> bool,
) -> impl IntoView {
    let planner = expect_context::<Planner>();
    let mistake = RwSignal::new(false);
    let set = move |event| {
        let text = event_target_value(&event);
        let text = text.trim().trim_end_matches('%').trim();
        let value = number(text);
        mistake.set((value.is_none() && !text.is_empty()) || !set(planner, value));
    };
    view! {
        <div class=format!("field {name}")>
            <label for=name>{label}</label>
            <div class="with-unit">
                <input
                    id=name
                    type="text"
                    inputmode="decimal"
                    autocomplete="off"
                    placeholder="none"
                    data-testid=name
                    aria-describedby=format!("{name}-note")
                    aria-invalid=move || mistake.get().to_string()
                    prop:value=written
                    on:change=set
                />
                <span>{unit}</span>
            </div>
            <p id=format!("{name}-note") class="note" class:wrong=move || mistake.get() role="status">
                {move || notes[usize::from(mistake.get())]}
            </p>
        </div>
    }
}

/// The budget.
#[component]
pub(super) fn Budget() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let set = |planner: Planner, money: Option<f64>| {
        let is_valid = money.is_none_or(|money| MONEY.contains(&money));
        if is_valid {
            planner.budget.set(money);
        }
        is_valid
    };
    view! {
        <NumberField
            name="budget"
            label="Budget"
            notes=["for the whole job", "Write an amount of money above 0, such as 5."]
            unit=Signal::derive(move || planner.prices.with(|prices| prices.currency.clone()))
            written=Signal::derive(move || planner.budget.get().map(|money| money.to_string()).unwrap_or_default())
            set
        />
    }
}

/// The probability of meeting each limit.
#[component]
pub(super) fn Probability() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let set = |planner: Planner, percent: Option<f64>| {
        let probability = percent.map(share_of_percent).filter(|share| PROBABILITIES.contains(share));
        if let Some(probability) = probability {
            planner.probability.set(probability);
        }
        probability.is_some()
    };
    view! {
        <NumberField
            name="probability"
            label="Probability"
            notes=["of meeting each limit", "Write a percentage above 0 and below 100, such as 90."]
            unit="%"
            written=Signal::derive(move || percent(planner.probability.get()))
            set
        />
    }
}

/// The minimum accuracy, if runs of the job measured the accuracy.
#[component]
fn MinAccuracy() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let set = |planner: Planner, percent: Option<f64>| {
        let least = percent.map(share_of_percent);
        let is_valid = least.is_none_or(|least| ACCURACIES.contains(&least));
        if is_valid {
            planner.min_accuracy.set(least);
        }
        is_valid
    };
    let is_measured = Memo::new(move |_| planner.job().is_some_and(|job| !job.accuracies.is_empty()));
    view! {
        {move || is_measured.get().then(|| view! {
            <NumberField
                name="min-accuracy"
                label="Minimum accuracy"
                notes=["of the trained CNN", "Write a percentage above 0, at most 100, such as 97."]
                unit="%"
                written=Signal::derive(move || planner.min_accuracy.get().map(percent).unwrap_or_default())
                set
            />
        })}
    }
}

/// Formats a share as percent, without its sign.
fn percent(share: f64) -> String {
    ((share * 1e6).round() / 1e4).to_string()
}

#[component]
fn Memory() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let set = |planner: Planner, mib: Option<f64>| {
        let mib = mib.filter(|mib| *mib >= 1.0 && *mib <= f64::from(MOST_MEMORY_MIB) && mib.fract() == 0.0);
        if let Some(mib) = mib {
            planner.space.update(|space| space.memory_per_executor_mib = mib as u32);
        }
        mib.is_some()
    };
    view! {
        <NumberField
            name="memory"
            label="Memory of an executor"
            notes=["affects the cost, not the time", "Write a whole number of MiB, such as 2048."]
            unit="MiB"
            written=Signal::derive(move || planner.space.with(|space| space.memory_per_executor_mib.to_string()))
            set
        />
    }
}
