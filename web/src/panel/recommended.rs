//! The answer: the recommended configuration.

use std::sync::Arc;

use foreglow_shared::{format_duration, format_probability};
use leptos::either::EitherOf4;
use leptos::prelude::*;

use crate::control::{Command, WhyButton};
use crate::data::text::{capitalised, counted};
use crate::panel::prediction::{all_digits, interval_text, money_of, time_of, unit_money, warnings};
use crate::state::{Fit, Planner};
use crate::worker::plan::view::{PlanView, Row};

/// The panel with the recommended configuration.
#[component]
pub fn Recommended() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let body = move || match (planner.fit.get(), planner.answer.plan.get()) {
        (Fit::Failed(reason), _) => EitherOf4::A(no_answer("No prediction yet", &reason)),
        (_, Some(Err(reason))) => EitherOf4::A(no_answer("No recommendation", &reason)),
        (_, Some(Ok(plan))) => match plan.row(plan.recommended) {
            Some(row) => EitherOf4::B(answer(planner, &plan, row)),
            None => EitherOf4::C(none_meets(planner, &plan)),
        },
        (_, None) => EitherOf4::D(view! {
            <p class="hush" role="status">
                {if planner.is_unmeasured() { "Loading the public measurements… " } else { "Fitting the predictor to the runs… " }}
                <span class="slow">"It takes longer than 20 seconds: wait, or reload the page."</span>
            </p>
        }),
    };
    view! {
        <section class="card recommended" aria-labelledby="recommended-title">
            <h2 id="recommended-title">"Recommended"</h2>
            {body}
        </section>
    }
}

/// The answer in one line. It stays visible while the page scrolls if there is one column.
#[component]
pub fn InShort() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let words = move || {
        let plan = planner.answer.planned()?;
        let limit = planner.deadline_secs.get().map(|secs| format!(" · deadline {}", format_duration(secs)));
        let limit = limit.unwrap_or_default();
        Some(match plan.row(plan.recommended) {
            Some(row) => {
                let money = row.cost.map_or_else(|| "cost unknown".into(), |_| money_of(row, &plan.currency));
                format!("Recommended: {} · {} · {money}{limit}", name(&plan, row), time_of(row))
            }
            None => format!("No configuration is recommended{limit}"),
        })
    };
    view! { <p class="in-short"><span>{words}</span></p> }
}

/// `3 executors × 2 cores`, or the machines if there are several types.
fn name(plan: &PlanView, row: &Row) -> String {
    if plan.compares() {
        return row.name.clone();
    }
    let (executors, cores) = (row.counts.executors, row.counts.cores_per_executor);
    format!("{} × {}", counted(executors, "executor"), counted(cores, "core"))
}

fn answer(planner: Planner, plan: &Arc<PlanView>, row: &Row) -> impl IntoView + use<> {
    let selection = plan.selection(row);
    let sure = row.success_probability.map(format_probability);
    let kept = match (planner.deadline_secs.get(), planner.budget.get()) {
        (Some(_), Some(_)) => "in time and in budget",
        (None, Some(_)) => "within the budget",
        _ => "done in time",
    };
    let has_chance = sure.is_some();
    let accuracy = row.accuracy.as_ref().map(|accuracy| {
        view! { <p class="beside" data-testid="recommended-accuracy">{format!("Accuracy: {accuracy}")}</p> }
    });
    let basis = plan.arms.get(row.arm).and_then(|arm| arm.borrowed_from.clone());
    let looked = selection.clone();
    let hardware = plan.arms.get(row.arm).and_then(|arm| arm.hardware.clone());
    let interval = interval_text(row.interval.as_ref());
    let gpus = hardware.as_ref().map(|hardware| format!("{}, {}", hardware.gpus, hardware.place));
    view! {
        <p class="reason" data-testid="recommended-reason">{plan.verdict.clone()}</p>
        <Configuration row=row.clone() machines=(plan.compares() || row.name.contains(',')).then(|| row.name.clone()) />
        {gpus.map(|gpus| view! { <p class="beside">{gpus}</p> })}
        <dl class="figures" class:three=has_chance>
            <div>
                <dt>"Time"</dt>
                <dd class="figure" data-testid="recommended-time" data-secs=all_digits(row.secs)>
                    {time_of(row)}
                </dd>
            </div>
            <div>
                <dt>"Cost"</dt>
                <dd class="figure" data-testid="recommended-cost" data-cost=all_digits(row.cost)>
                    {money_of(row, &plan.currency)}
                </dd>
                {unit_money(plan, row).map(|money| view! { <dd class="beside">{money}</dd> })}
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
        <p class="beside">{interval}</p>
        {accuracy}
        {basis.map(|basis| view! { <p class="beside">{format!("Predicted from {basis}.")}</p> })}
        <p class="beside" data-testid="recommended-prices">{plan.prices.clone()}</p>
        {warnings(&plan.warnings)}
        {plan.spark_submit.clone().map(|arguments| view! {
            <p class="beside">"For spark-submit: " <code data-testid="spark-submit">{arguments}</code></p>
        })}
        <p class="acts">
            {hardware.is_none().then(|| view! {
                <button type="button" class="quiet" on:click=move |_| planner.look_at(looked.clone())>
                    "Show it in the what-if"
                </button>
            })}
            <WhyButton configuration=Signal::stored(selection) />
        </p>
        {hardware.map(|hardware| view! {
            <p class="beside">"Next step, with your own program after the two dashes:"</p>
            <Command command=hardware.command />
        })}
    }
}

/// `3 executors × 2 cores`, in large figures, or the machines.
#[component]
fn Configuration(
    /// The configuration.
    row: Row,
    /// Its machines, if they are part of the choice.
    machines: Option<String>,
) -> impl IntoView {
    let (executors, cores) = (row.counts.executors, row.counts.cores_per_executor);
    let word = |count: u32, one: &str| counted(count, one).split_once(' ').map(|(_, word)| word.to_owned());
    let name = match machines {
        Some(machines) => view! { <strong class="rented">{machines}</strong> }.into_any(),
        None => view! {
            <span class="count">{executors}</span>
            " "
            <span class="word">{word(executors, "executor")}</span>
            " "
            <span class="times">"×"</span>
            " "
            <span class="count">{cores}</span>
            " "
            <span class="word">{word(cores, "core")}</span>
        }
        .into_any(),
    };
    view! {
        <p
            class="configuration"
            data-testid="recommended-configuration"
            data-executors=executors.to_string()
            data-cores=cores.to_string()
        >
            {name}
        </p>
    }
}

fn none_meets(planner: Planner, plan: &PlanView) -> impl IntoView + use<> {
    let fastest = plan.row(plan.fastest).map(|row| plan.selection(row));
    view! {
        <div class="none" data-testid="no-recommendation">
            <p class="configuration">"None"</p>
            <p role="status">{plan.verdict.clone()}</p>
            {fastest.map(|fastest| {
                view! {
                    <button type="button" class="quiet" on:click=move |_| planner.look_at(fastest.clone())>
                        "Show the fastest"
                    </button>
                }
            })}
        </div>
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
