//! Answers in all output formats. `docs/answers.md` specifies the JSON.

mod accuracy;
mod advice;
mod basis;
mod demo;
mod evaluation;
mod hindsight;
mod log_comparison;
mod logs;
mod plan;
mod prediction;
mod public;
mod restart;
mod scaling;
mod scenario_table;
mod search;
mod simulation;
mod watch;

use foreglow_exit::unusable;
use foreglow_model::{FitError, Interval, Predictor, Warning, format_cost};
use foreglow_shared::{CostUnit, Job, PriceSheet};

pub use self::advice::AdviceAnswer;
pub use self::basis::Basis;
pub use self::demo::{Check, DemoAnswer};
pub use self::evaluation::EvaluationAnswer;
pub use self::hindsight::{HindsightAnswer, predicted_before};
pub use self::log_comparison::{ComparedRun, LogComparison};
pub use self::logs::{LogBasis, LoggedUse};
pub use self::plan::{PlanAnswer, Startup};
pub use self::prediction::PredictionAnswer;
pub use self::restart::RestartPlan;
pub use self::scaling::ScalingAnswer;
pub use self::scenario_table::ScenarioTableAnswer;
pub use self::search::{Properties, SearchAnswer};
pub use self::simulation::{Asked, SimulationAnswer};
pub use self::watch::{JobEnd, JobState, WatchAnswer, WatchQuestion};
pub use crate::output::SCHEMA;

/// Fits the predictor to a job's runs.
///
/// # Errors
/// The runs are too few or too similar; the message says what to collect.
pub fn fit(job: &Job) -> anyhow::Result<Predictor> {
    Predictor::fit_job(job).map_err(|error: FitError| unusable(error.to_string()))
}

/// Formats an interval, such as `11.20 s to 13.50 s`.
fn range(interval: &Interval) -> String {
    interval.ends().join(" to ")
}

/// Formats the probability of an interval, such as `90 %`.
fn probability(interval: &Interval) -> String {
    format!("{:.0} %", interval.probability * 100.0)
}

/// Returns why the cost is unknown and how to give a price; `None` if the prices cover the
/// hardware.
fn cost_unknown(prices: &PriceSheet, accelerator: Option<&str>) -> Option<String> {
    prices.check_for(accelerator).err().map(|error| format!("{error}, in the price sheet of --prices"))
}

/// Returns the note about unknown costs, after an empty line.
fn cost_note(reason: &str) -> String {
    format!("\nCost unknown: {reason}.\n")
}

/// Formats the cost of a time in seconds, with that of many inputs: `< USD 0.01, USD 0.0141 per
/// million images`.
fn told_cost(
    cost: Option<f64>,
    secs: Option<f64>,
    interval: Option<&Interval>,
    currency: &str,
    unit: Option<&CostUnit>,
) -> String {
    let money = |cost: Option<f64>| format_cost(cost, secs, interval, currency);
    let of_unit = unit
        .filter(|unit| !unit.is_job())
        .zip(cost)
        .map(|(unit, cost)| format!(", {} {}", money(Some(unit.cost(cost))), unit.title()));
    money(cost) + &of_unit.unwrap_or_default()
}

/// Returns an empty line and one line per warning, or nothing without warnings.
fn notes(warnings: &[Warning]) -> String {
    let lines: String = Warning::sentences(warnings).iter().map(|sentence| format!("Note: {sentence}.\n")).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}
