//! Advice on what to measure next, with the commands.

mod command;
mod forms;

use foreglow_model::{Advice, Interval, Limits, Objective, Placement, Plan, Suggestion, Verdict};
use foreglow_shared::{Engine, JobDefinition};
use serde::Serialize;

use self::command::{command, data_note};
use super::SCHEMA;
use super::plan::{cost_unknown, title};

/// What to measure next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceAnswer {
    schema: u32,
    job: JobDefinition,
    #[serde(skip)]
    title: String,
    currency: String,
    limits: Limits,
    verdict: Verdict,
    /// The recommended configuration from the runs so far; `None` if no configuration meets the
    /// limits.
    recommended: Option<String>,
    recommended_secs: Option<f64>,
    /// The interval of its time; `None` if too few runs tell it.
    recommended_interval: Option<Interval>,
    recommended_cost: Option<f64>,
    /// The quantity of which a run is expected to save a share.
    saves: Objective,
    expected_saving: Option<f64>,
    suggestions: Vec<ProposedRun>,
    left_out: Vec<LeftOut>,
    /// Reason why the cost is unknown; absent if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_unknown: Option<String>,
    #[serde(skip)]
    is_on_spark: bool,
    /// Whether the samples name their machine types.
    #[serde(skip)]
    is_on_named_machines: bool,
    /// Whether machine types that were never measured are considered.
    #[serde(skip)]
    asks_new_machines: bool,
    /// Note on where to run the commands; `None` if they can run anywhere.
    #[serde(skip)]
    data_note: Option<String>,
}

/// A run to make.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ProposedRun {
    #[serde(flatten)]
    run: Suggestion,
    /// `None` if this version cannot collect it.
    command: Option<String>,
}

/// A machine type that cannot be measured for the job.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct LeftOut {
    machine: String,
    reason: String,
}

impl AdviceAnswer {
    /// Describes the next runs. `place` is the destination of the samples of the printed commands;
    /// `asks_new_machines` tells whether machine types that were never measured are considered.
    pub fn new(
        plan: &Plan,
        limits: Limits,
        advice: Advice,
        place: Option<(&str, &str)>,
        asks_new_machines: bool,
    ) -> Self {
        let Advice { verdict, best, expected_saving, saves, suggestions, left_out } = advice;
        let data_note = suggestions.first().and_then(|run| data_note(run.context.as_ref()?));
        Self {
            schema: SCHEMA,
            job: plan.predictor().definition().clone(),
            title: title(plan),
            currency: plan.currency().to_owned(),
            limits,
            verdict,
            recommended: best.as_ref().map(|best| described(plan, best.placement)),
            recommended_secs: best.as_ref().map(|best| best.secs),
            recommended_interval: best.as_ref().and_then(|best| best.interval),
            recommended_cost: best.as_ref().and_then(|best| best.cost),
            saves,
            expected_saving,
            suggestions: suggestions.into_iter().map(|run| ProposedRun::of(run, place)).collect(),
            left_out: left_out.into_iter().map(|(machine, reason)| LeftOut { machine, reason }).collect(),
            cost_unknown: cost_unknown(plan),
            is_on_spark: plan.predictor().arms().iter().any(|arm| arm.engine == Engine::Spark),
            is_on_named_machines: plan.predictor().arms().iter().any(|arm| arm.is_named),
            asks_new_machines,
            data_note,
        }
    }
}

impl ProposedRun {
    fn of(run: Suggestion, place: Option<(&str, &str)>) -> Self {
        let command = run.context.as_ref().and_then(|context| command(context, &run, place));

        Self { run, command }
    }
}

/// Describes a configuration; without its machine type if all have the same.
fn described(plan: &Plan, placement: Placement) -> String {
    match plan.predictor().arms() {
        [_] if placement.machines == 0 => placement.split().to_string(),
        _ => plan.describe_with_sizes(placement),
    }
}
