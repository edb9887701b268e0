//! The what-if: a configuration that the user selects, with its prediction.

use foreglow_model::{Prediction, at_least_secs, chance};
use foreglow_shared::{WhatIf, format_duration, format_money, format_probability};
use leptos::prelude::*;

use crate::control::WhyButton;
use crate::data::job::{Space, counts_up_to, highest, measured_up_to, most_counts};
use crate::data::text::change;
use crate::panel::prediction::{PENDING, interval_text, time_of, warnings};
use crate::state::Planner;

/// The sliders and the prediction that follows them.
#[component]
pub fn WhatIfPanel() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let prediction = planner.prediction;
    let secs = Memo::new(move |_| prediction.with(|p| p.as_ref().and_then(|p| p.completion_time_secs)));
    let money = move || {
        let cost = secs.get().and_then(|secs| planner.cost(planner.what_if.get(), secs));
        let nothing = if prediction.with(Option::is_some) { "unknown" } else { PENDING };
        cost.map_or_else(|| nothing.into(), |cost| planner.prices.with(|prices| format_money(cost, &prices.currency)))
    };
    let measured = Memo::new(move |_| planner.job().map_or((1, 1), |job| measured_up_to(&job)));
    view! {
        <section class="card what-if" aria-labelledby="what-if-title">
            <h2 id="what-if-title">"What if"</h2>
            <div class="sliders">
                <Slider
                    label="Executors"
                    testid="what-if-executors"
                    counts=|space| &mut space.executors
                    looked_at=|what_if| &mut what_if.executors
                    measured=Signal::derive(move || measured.get().0)
                />
                <Slider
                    label="Cores per executor"
                    testid="what-if-cores"
                    counts=|space| &mut space.cores_per_executor
                    looked_at=|what_if| &mut what_if.cores_per_executor
                    measured=Signal::derive(move || measured.get().1)
                />
            </div>
            <dl class="figures">
                <div>
                    <dt>"Completion time"</dt>
                    <dd
                        class="figure"
                        data-testid="what-if-time"
                        data-secs=move || prediction.with(|p| time_of(p.as_ref()).1)
                    >
                        {move || prediction.with(|p| time_of(p.as_ref()).0)}
                    </dd>
                    <dd class="beside">{move || prediction.with(|p| interval_of(p.as_ref()))}</dd>
                </div>
                <div>
                    <dt>"Cost"</dt>
                    <dd class="figure" data-testid="what-if-cost">{money}</dd>
                    <dd class="beside">{move || compared(planner, secs.get())}</dd>
                </div>
            </dl>
            <p class="verdict">{move || prediction.with(|p| verdict(planner, p.as_ref()))}</p>
            {move || prediction.with(|p| warnings(p.as_ref()))}
            <p class="acts">
                <WhyButton configuration=planner.what_if />
            </p>
        </section>
    }
}

fn interval_of(prediction: Option<&Prediction>) -> String {
    match prediction {
        Some(prediction) => interval_text(prediction.interval.as_ref()),
        None => String::new(),
    }
}

/// Whether the chosen configuration meets the deadline; nothing about the recommended one, whose
/// verdict is above the what-if.
fn verdict(planner: Planner, prediction: Option<&Prediction>) -> Option<AnyView> {
    planner.chosen.get()?;
    let (deadline, prediction) = planner.deadline_secs.get().zip(prediction)?;
    let (job, split) = (planner.job()?, planner.what_if.get().split());
    // A run that was stopped took longer than the prediction may say.
    let at_least_secs = at_least_secs(&job, split);
    let secs = prediction.completion_time_secs?.max(at_least_secs);
    let sure = chance(&job, split, prediction, deadline).map(format_probability);
    let sure = sure.map(|sure| format!(", in time with a probability of {sure}")).unwrap_or_default();
    let gap = format_duration((deadline - secs).abs());
    Some(if secs <= deadline && at_least_secs < deadline {
        view! { <span class="meets">{format!("Meets the deadline with {gap} to spare{sure}")}</span> }.into_any()
    } else {
        view! { <span class="misses">{format!("Misses the deadline by {gap}{sure}")}</span> }.into_any()
    })
}

/// The difference to the recommended configuration, in percent.
fn compared(planner: Planner, secs: Option<f64>) -> Option<String> {
    let decision = planner.decision.get()?.ok()?;
    let recommended = decision.candidates.get(decision.recommended?)?;
    let WhatIf { executors, cores_per_executor } = planner.what_if.get();
    if (executors, cores_per_executor) == (recommended.placement.executors, recommended.placement.cores_per_executor) {
        return Some("the recommended configuration".into());
    }
    let secs = secs?;
    let time = change(secs / recommended.prediction.completion_time_secs?, "time");
    let Some((cost, least)) = planner.cost(planner.what_if.get(), secs).zip(recommended.cost) else {
        return Some(format!("{time} vs. the recommended one"));
    };
    let money = change(cost / least, "money");
    Some(format!("{time} and {money} vs. the recommended one"))
}

/// A slider for one count, with an input for the end of its range, which may exceed the measured
/// range.
#[component]
fn Slider(
    label: &'static str,
    testid: &'static str,
    counts: fn(&mut Space) -> &mut Vec<u32>,
    looked_at: fn(&mut WhatIf) -> &mut u32,
    #[prop(into)] measured: Signal<u32>,
) -> impl IntoView {
    let planner = expect_context::<Planner>();
    let value = Memo::new(move |_| *looked_at(&mut planner.what_if.get()));
    let end = Memo::new(move |_| highest(counts(&mut planner.space.get())).max(value.get()));
    let most = Memo::new(move |_| {
        let selected = planner.selected.get();
        planner.jobs.with(|jobs| jobs.get(selected).map_or(1, most_counts))
    });
    let beyond = move || value.get() > measured.get();
    let moved = move |event| {
        if let Ok(count) = event_target_value(&event).parse::<u32>() {
            let mut configuration = planner.what_if.get_untracked();
            *looked_at(&mut configuration) = count.max(1);
            planner.look_at(configuration);
        }
    };
    let extended = move |event| {
        if let Ok(upper) = event_target_value(&event).parse::<u32>() {
            let range = counts_up_to(upper, most.get_untracked());
            let last = highest(&range);
            planner.space.update(|space| *counts(space) = range);
            let mut configuration = planner.what_if.get_untracked();
            if *looked_at(&mut configuration) > last {
                *looked_at(&mut configuration) = last;
                planner.look_at(configuration);
            }
        }
    };
    view! {
        <div class="slider">
            <label for=testid>{label}</label>
            <output for=testid>{value}</output>
            <input
                id=testid
                type="range"
                min="1"
                step="1"
                max=move || end.get().to_string()
                data-testid=testid
                // Tracks the end too: if it changes later, the browser clamps the value to the old
                // end.
                prop:value=move || {
                    end.track();
                    value.get().to_string()
                }
                on:input=moved
            />
            <span class="range" class:beyond=beyond>
                {move || {
                    let measured = measured.get();
                    if beyond() { format!("beyond the {measured} measured") } else { format!("measured up to {measured}") }
                }}
            </span>
            <label class="up-to">
                "choose up to "
                <input
                    type="number"
                    min="1"
                    max=move || most.get().to_string()
                    data-testid=format!("{testid}-up-to")
                    aria-label=format!("{label}: choose up to")
                    prop:value=move || end.get().to_string()
                    on:change=extended
                />
            </label>
        </div>
    }
}
