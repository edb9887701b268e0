//! The answer: the recommended configuration.

use foreglow_model::{Candidate, Decision};
use foreglow_shared::{WhatIf, format_duration, format_money, format_probability};
use leptos::either::EitherOf4;
use leptos::prelude::*;

use crate::control::WhyButton;
use crate::data::text::{capitalised, counted};
use crate::panel::machines::RecommendedMachines;
use crate::panel::neighbours::NextOnFront;
use crate::panel::prediction::{interval_text, time_of, warnings};
use crate::state::{Fit, Planner};

/// The panel with the recommended configuration.
#[component]
pub fn Recommended() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let body = move || match (planner.fit.get(), planner.decision.get()) {
        (Fit::Failed(reason), _) => EitherOf4::A(no_answer("No prediction yet", &reason)),
        (_, Some(Err(reason))) => EitherOf4::A(no_answer("No recommendation", &reason)),
        (_, Some(Ok(decision))) => match decision.recommended.and_then(|place| decision.candidates.get(place)) {
            Some(candidate) => EitherOf4::B(answer(planner, candidate)),
            None => EitherOf4::C(none_meets(planner, &decision)),
        },
        (_, None) => EitherOf4::D(view! { <p class="hush" role="status">"Fitting the predictor to the runs…"</p> }),
    };
    view! {
        <section class="card recommended" aria-labelledby="recommended-title">
            <h2 id="recommended-title">"Recommended"</h2>
            <RecommendedMachines />
            {body}
            <NextOnFront />
        </section>
    }
}

fn answer(planner: Planner, candidate: &Candidate) -> impl IntoView + use<> {
    let configuration = WhatIf { executors: candidate.executors, cores_per_executor: candidate.cores_per_executor };
    let (time, secs) = time_of(Some(&candidate.prediction));
    let prices = planner.prices.get();
    let money = candidate.cost.map_or_else(|| "unknown".into(), |cost| format_money(cost, &prices.currency));
    let interval = candidate.prediction.interval;
    let unpriced = planner.unpriced();
    let best = if unpriced.is_some() { "one of the fewest executor-hours" } else { "cheapest" };
    let whose = match unpriced {
        Some(ref reason) => capitalised(reason),
        None => format!("{}, {}", prices.name, prices.date),
    };
    let reason = match planner.deadline_secs.get() {
        Some(deadline) => format!("The {best} that meets {}", format_duration(deadline)),
        None if planner.budget.get().is_some() => "The fastest within the budget".into(),
        None if unpriced.is_some() => "The fewest executor-hours at any speed".into(),
        None => "The cheapest at any speed; set a deadline to see the cost of speed".into(),
    };
    let sure = candidate.success_probability.map(format_probability);
    let kept = match (planner.deadline_secs.get(), planner.budget.get()) {
        (Some(_), Some(_)) => "in time and in budget",
        (None, Some(_)) => "within the budget",
        _ => "done in time",
    };
    let has_chance = sure.is_some();
    view! {
        <p class="reason">{reason}</p>
        <Configuration configuration />
        <dl class="figures" class:three=has_chance>
            <div>
                <dt>"Time"</dt>
                <dd class="figure" data-testid="recommended-time" data-secs=secs>
                    {time}
                </dd>
            </div>
            <div>
                <dt>"Cost"</dt>
                <dd class="figure" data-testid="recommended-cost">{money}</dd>
            </div>
            {sure.map(|sure| {
                view! {
                    <div>
                        <dt>"Probability"</dt>
                        <dd class="figure" data-testid="recommended-probability">{sure}</dd>
                        <dd class="beside">{kept}</dd>
                    </div>
                }
            })}
        </dl>
        <p class="beside">{interval_text(interval.as_ref())}</p>
        <p class="beside" data-testid="recommended-prices">{whose}</p>
        {warnings(Some(&candidate.prediction))}
        {planner.spark_submit(configuration).map(|arguments| view! {
            <p class="beside">"For spark-submit: " <code data-testid="spark-submit">{arguments}</code></p>
        })}
        <p class="acts">
            <button type="button" class="quiet" on:click=move |_| planner.what_if.set(configuration)>
                "Show it in the what-if"
            </button>
            <WhyButton configuration=Signal::stored(configuration) />
        </p>
    }
}

/// `3 executors × 2 cores`, in large figures.
#[component]
fn Configuration(
    /// The configuration.
    configuration: WhatIf,
) -> impl IntoView {
    let WhatIf { executors, cores_per_executor } = configuration;
    let word = |count: u32, one: &str| counted(count, one).split_once(' ').map(|(_, word)| word.to_owned());
    view! {
        <p
            class="configuration"
            data-testid="recommended-configuration"
            data-executors=executors.to_string()
            data-cores=cores_per_executor.to_string()
        >
            <span class="count">{executors}</span>
            " "
            <span class="word">{word(executors, "executor")}</span>
            " "
            <span class="times">"×"</span>
            " "
            <span class="count">{cores_per_executor}</span>
            " "
            <span class="word">{word(cores_per_executor, "core")}</span>
        </p>
    }
}

fn none_meets(planner: Planner, decision: &Decision) -> impl IntoView + use<> {
    let at = |place: Option<usize>| place.and_then(|place| decision.candidates.get(place));
    let sentence =
        match (at(decision.fastest), decision.candidates.iter().find_map(|candidate| candidate.exclusion.as_ref())) {
            (Some(fastest), _) => shortfall(planner, fastest, at(decision.cheapest), at(decision.likeliest)),
            (None, Some(exclusion)) => format!("No configuration is known to fit into its memory: {exclusion}."),
            (None, None) => "All times are unknown; the warnings of the what-if say what to collect.".into(),
        };
    let configuration = at(decision.fastest)
        .map(|fastest| WhatIf { executors: fastest.executors, cores_per_executor: fastest.cores_per_executor });
    view! {
        <div class="none" data-testid="no-recommendation">
            <p class="configuration">"None"</p>
            <p role="status">{sentence}</p>
            {configuration.map(|configuration| {
                view! {
                    <button type="button" class="quiet" on:click=move |_| planner.what_if.set(configuration)>
                        "Show the fastest"
                    </button>
                }
            })}
        </div>
    }
}

/// Explains why no configuration is recommended.
fn shortfall(
    planner: Planner,
    fastest: &Candidate,
    cheapest: Option<&Candidate>,
    likeliest: Option<&Candidate>,
) -> String {
    let named = |candidate: &Candidate| {
        let cores = counted(candidate.cores_per_executor, "core");
        format!("{} × {cores}", counted(candidate.executors, "executor"))
    };
    let deadline = planner.deadline_secs.get();
    if planner.min_accuracy.get().is_some() {
        return "No configuration of these runs is known to have this accuracy within the other limits.".into();
    }
    if let Some(reason) = planner.unpriced().filter(|_| planner.budget.get().is_some()) {
        return format!("No configuration is known to keep the budget: {reason}.");
    }
    if let Some(deadline) = deadline.filter(|deadline| fastest.prediction.completion_time_secs > Some(*deadline)) {
        return format!(
            "No configuration meets {}. The fastest, {}, takes {}. Extend the deadline, or allow more executors and \
             cores.",
            format_duration(deadline),
            named(fastest),
            time_of(Some(&fastest.prediction)).0,
        );
    }
    let cheapest = cheapest.and_then(|candidate| Some((candidate, candidate.cost?)));
    let budget = planner.budget.get();
    if let Some((cheapest, cost)) = cheapest.filter(|(_, cost)| budget.is_some_and(|budget| *cost > budget)) {
        let currency = planner.prices.with(|prices| prices.currency.clone());
        return format!(
            "No configuration keeps the budget. The cheapest, {}, costs {}. Raise the budget.",
            named(cheapest),
            format_money(cost, &currency)
        );
    }
    let asked = format_probability(planner.probability.get());
    match likeliest.and_then(|candidate| Some((candidate, candidate.success_probability?))) {
        Some((candidate, most)) => format!(
            "No configuration meets the limits with a probability of {asked}. The likeliest, {}, does with {}. Relax the \
             limits, or collect more samples.",
            named(candidate),
            format_probability(most),
        ),
        None => {
            "There are too few samples to estimate the probability of meeting the limits. Collect more, or set the \
                 probability to 50 %, for which the predicted time decides."
                .into()
        }
    }
}

fn no_answer(title: &str, reason: &str) -> impl IntoView + use<> {
    view! {
        <div class="none" data-testid="no-recommendation">
            <p class="configuration">{title.to_owned()}</p>
            <p role="status">{capitalised(reason)}</p>
        </div>
    }
}
