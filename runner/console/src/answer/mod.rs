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
use foreglow_model::{FitError, Interval, Predictor, Warning};
use foreglow_shared::{Job, PriceSheet};

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

/// Returns an empty line and one line per warning, or nothing without warnings.
fn notes(warnings: &[Warning]) -> String {
    let lines: String = Warning::sentences(warnings).iter().map(|sentence| format!("Note: {sentence}.\n")).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}
