//! The accuracy of the page's predictor and of every published scenario on the job's runs.

use foreglow_shared::{format_duration, format_percent};
use leptos::prelude::*;

use crate::data::text::capitalised;
use crate::state::{Compared, Evaluated, Planner};
use crate::worker::messages::{OwnAccuracy, Scenario};

/// The table of scenarios.
#[component]
pub fn Scenarios() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let rows = move || {
        let published = planner.published()?;
        Some(match planner.compared.get() {
            Compared::Ready(rows) => rows.iter().map(row).collect_view(),
            _ => published.scenarios.iter().map(row).collect_view(),
        })
    };
    let is_untested = Memo::new(move |_| {
        let published = planner.published();
        published.is_some_and(|published| published.scenarios.iter().all(|row| row.accuracy_percent.is_none()))
    });
    view! {
        <section class="card scenarios" aria-labelledby="scenarios-title">
            <h2 id="scenarios-title">"How accurate is it?"</h2>
            <p data-testid="own-accuracy">
                {move || planner.held_out.get().map_or_else(|| "Measuring the error of this page's predictor…".to_owned(), of_own)}
            </p>
            {move || {
                let sentences = planner.whole_jobs.get();
                let lines = sentences.iter().map(|sentence| view! { <li>{sentence.clone()}</li> }).collect_view();
                (!sentences.is_empty()).then(|| {
                    view! {
                        <h3>"Whole jobs beside what was predicted"</h3>
                        <ul data-testid="whole-jobs">{lines}</ul>
                    }
                })
            }}
            <h3>"The published scenarios on the same runs"</h3>
            <p class="hush">
                "The error is the MAPE on test runs. t1: collecting its runs; t2: training; T: both."
            </p>
            <p hidden=move || !is_untested.get() data-testid="untested">
                "No scenario can be tested on these runs: it needs small samples, and runs on all images."
            </p>
            <div class="scroll" tabindex="0" role="region" aria-labelledby="scenarios-title">
                <table data-testid="scenario-table">
                    <thead>
                        <tr>
                            <th scope="col">"Scenario"</th>
                            <th scope="col" class="number">"Error (MAPE)"</th>
                            <th scope="col" class="number wide">"t1"</th>
                            <th scope="col" class="number wide">"t2"</th>
                            <th scope="col" class="number">"T"</th>
                        </tr>
                    </thead>
                    {rows}
                </table>
            </div>
            {move || match planner.evaluated.get() {
                Evaluated::Ready(_) => comparison(planner).into_any(),
                Evaluated::Failed(reason) => view! { <p class="reason" role="alert">{capitalised(&reason)}</p> }.into_any(),
                Evaluated::None | Evaluated::Running => {
                    view! { <p class="hush" role="status">"Evaluating the published scenarios…"</p> }.into_any()
                }
            }}
        </section>
    }
}

/// The accuracy of the page's predictor, in words.
fn of_own(own: OwnAccuracy) -> String {
    let OwnAccuracy { settings, median_error_percent, intervals, held } = own;
    let Some(error) = median_error_percent else {
        return "No measured setting can be predicted without its own runs: collect more.".into();
    };
    let coverage = match intervals {
        0 => String::new(),
        _ => format!("; {held} of {intervals} measured times are within the 90 % interval"),
    };
    format!(
        "The predictor of this page errs by {} in the median on {settings} held-out settings{coverage}. Each was predicted by \
         a fit without its runs.",
        format_percent(error)
    )
}

fn row(scenario: &Scenario) -> impl IntoView + use<> {
    let label = scenario.label.clone();
    let (explained, which) = (explanation(&label), label.clone());
    let seconds = |secs: f64, class: &'static str| {
        view! { <td class=class data-secs=secs.to_string()>{format_duration(secs)}</td> }
    };
    // ViewSettings instead of the columns on a narrow screen.
    let parts = format!("t1 {}, t2 {}", format_duration(scenario.t1_secs), format_duration(scenario.t2_secs));
    let error_percent = scenario.accuracy_percent.map(|percent| 100.0 - percent);
    let error = error_percent.map_or_else(|| "unknown".into(), format_percent);
    let tested = match scenario.tested {
        0 => format!("fitted on {}", scenario.fitted),
        tested => format!("fitted on {}, tested on {tested}", scenario.fitted),
    };
    let techniques = scenario.techniques.clone();
    let reason = scenario.reason.as_deref().map(capitalised);
    view! {
        <tbody data-scenario=which>
            <tr>
                <th scope="row">
                    {label}
                </th>
                <td class="number accuracy" data-percent=scenario.accuracy_percent.map(|percent| percent.to_string())>
                    {error}
                </td>
                {seconds(scenario.t1_secs, "number wide")}
                {seconds(scenario.t2_secs, "number wide")}
                {seconds(scenario.total_secs, "number")}
            </tr>
            <tr class="detail">
                <td colspan="5">
                    <p>{explained} {tested} "."</p>
                    <p class="narrow">{parts}</p>
                    <p class="techniques">{techniques}</p>
                    {reason.map(|reason| view! { <p class="reason">{reason}</p> })}
                </td>
            </tr>
        </tbody>
    }
}

/// The button that compares all learners, its progress and its result.
fn comparison(planner: Planner) -> impl IntoView {
    move || {
        match planner.compared.get() {
        Compared::None => view! {
            <p class="compare">
                <button data-testid="compare" on:click=move |_| planner.compare()>"Compare all learners"</button>
                " Lasso, Ridge, random forests and perceptrons at every place, as published; takes some minutes in the background."
            </p>
        }
        .into_any(),
        Compared::Running(done, total) => view! {
            <p class="compare" role="status">
                <progress data-testid="compare-progress" max=total.to_string() value=done.to_string() aria-label="Comparing"></progress>
                <button data-testid="compare-cancel" on:click=move |_| planner.cancel_comparison()>"Cancel"</button>
            </p>
        }
        .into_any(),
        Compared::Ready(_) => view! { <p class="hush" data-testid="compared">"With all learners of the published grid."</p> }.into_any(),
        Compared::Failed(reason) => view! { <p class="reason" role="alert">{capitalised(&reason)}</p> }.into_any(),
    }
    }
}

/// A description of a scenario for readers who do not know the paper.
fn explanation(label: &str) -> &'static str {
    match label {
        "baseline" => "One learner on runs over all images: ",
        "1" => "One learner of all features on runs over small shares of the images: ",
        "2" => "One learner without memory and partitions on runs over small shares of the images: ",
        "3-1" => "Two levels of learners on runs over all images: ",
        "3-2" => "Two levels of learners, the second on a product, on runs over all images: ",
        "4-1" => "Two levels of learners on runs over small shares of the images: ",
        "4-2" => "Two levels of learners, the second on a product, on runs over small shares of the images: ",
        _ => "",
    }
}
