//! The next run over several machine types, with its command.

mod forms;

use foreglow_model::{Comparison, MachineLimits, NextRun, NextRuns, Saves, Verdict};
use foreglow_shared::{Engine, JobDefinition};
use serde::Serialize;

use super::SCHEMA;
use super::advice::{command, data_note};

/// Runs to make next, over several machine types.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NextRunsAnswer {
    schema: u32,
    job: JobDefinition,
    currency: String,
    limits: MachineLimits,
    verdict: Verdict,
    /// The recommended configuration from the runs so far; `None` if no configuration meets the
    /// limits.
    recommended: Option<String>,
    recommended_secs: Option<f64>,
    recommended_cost: Option<f64>,
    saves: Saves,
    expected_saving: Option<f64>,
    runs: Vec<ProposedRun>,
    left_out: Vec<LeftOut>,
    #[serde(skip)]
    is_on_spark: bool,
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
    machine: String,
    is_new_machine: bool,
    executors: u32,
    cores_per_executor: u32,
    memory_per_executor_mib: u32,
    batch_size: u32,
    /// `None` unless the job trains.
    #[serde(skip_serializing_if = "Option::is_none")]
    average_every: Option<u32>,
    partition_size: u32,
    sampling_rate: f64,
    secs: Option<f64>,
    cost: Option<f64>,
    expected_saving: Option<f64>,
    /// `None` if this version cannot collect it.
    command: Option<String>,
}

/// A machine type that cannot be measured for the job.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct LeftOut {
    machine: String,
    reason: String,
}

impl NextRunsAnswer {
    /// Describes the next runs. `place` is the destination of the samples of the printed commands;
    /// `asks_new_machines` tells whether machine types that were never measured are considered.
    pub fn new(
        comparison: &Comparison,
        limits: MachineLimits,
        next: NextRuns,
        place: Option<(&str, &str)>,
        asks_new_machines: bool,
    ) -> Self {
        let NextRuns { verdict, best, expected_saving, saves, runs, left_out } = next;
        let data_note = runs.first().and_then(|run| data_note(run.context.as_ref()?));
        Self {
            schema: SCHEMA,
            job: comparison.predictor().definition().clone(),
            currency: comparison.currency().to_owned(),
            limits,
            verdict,
            recommended: best.map(|best| comparison.describe_with_sizes(best.placement)),
            recommended_secs: best.map(|best| best.secs),
            recommended_cost: best.and_then(|best| best.cost),
            saves,
            expected_saving,
            runs: runs.into_iter().map(|run| ProposedRun::of(run, place)).collect(),
            left_out: left_out.into_iter().map(|(machine, reason)| LeftOut { machine, reason }).collect(),
            is_on_spark: comparison.predictor().arms().iter().any(|arm| arm.engine == Engine::Spark),
            asks_new_machines,
            data_note,
        }
    }
}

impl ProposedRun {
    fn of(run: NextRun, place: Option<(&str, &str)>) -> Self {
        let command = run.context.as_ref().and_then(|context| command(context, &run.suggestion, place));
        let NextRun { machine, is_new_machine, batch_size, average_every, suggestion, expected_saving, .. } = run;
        Self {
            machine,
            is_new_machine,
            executors: suggestion.executors,
            cores_per_executor: suggestion.cores_per_executor,
            memory_per_executor_mib: suggestion.memory_per_executor_mib,
            batch_size,
            average_every,
            partition_size: suggestion.partition_size,
            sampling_rate: suggestion.sampling_rate,
            secs: suggestion.secs,
            cost: suggestion.cost,
            expected_saving,
            command,
        }
    }
}
