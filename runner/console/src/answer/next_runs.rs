//! The next run over several machine types, with the command that measures it.

use foreglow_exit::unusable;
use foreglow_model::{Comparison, MachineLimits, NextRun, NextRuns, Saves, Suggestion, Verdict};
use foreglow_shared::{
    Engine, JobDefinition, format_duration, format_money, format_percent, format_probability, format_rate, shell_word,
};
use serde::Serialize;

use super::advice::command;
use super::{SCHEMA, json};
use crate::output::Format;
use crate::table::{Align, csv, number, table};

/// Most runs in a table.
const FEW: usize = 8;

/// Runs to make next, over several machine types.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NextRunsAnswer {
    schema: u32,
    job: JobDefinition,
    currency: String,
    limits: MachineLimits,
    verdict: Verdict,
    /// The configuration that `plan` recommends from the runs so far.
    recommended: Option<String>,
    saves: Saves,
    expected_saving: Option<f64>,
    runs: Vec<Row>,
    left_out: Vec<LeftOut>,
    #[serde(skip)]
    is_on_spark: bool,
}

/// A run to make.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    machine: String,
    is_new_machine: bool,
    executors: u32,
    cores_per_executor: u32,
    memory_per_executor_mib: u32,
    batch_size: u32,
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
    /// Describes the next runs; `place` is where the printed commands save their samples.
    ///
    /// # Errors
    /// A limit is out of range.
    pub fn new(
        comparison: &Comparison,
        limits: MachineLimits,
        next: NextRuns,
        place: Option<(&str, &str)>,
    ) -> anyhow::Result<Self> {
        let decision = comparison.decide(&limits).map_err(|error| unusable(error.to_string()))?;
        let recommended = decision.recommended.map(|place| comparison.describe(decision.candidates[place].placement));
        let arms = comparison.predictor().arms();
        Ok(Self {
            schema: SCHEMA,
            job: comparison.predictor().definition().clone(),
            currency: comparison.currency().to_owned(),
            limits,
            verdict: next.verdict,
            recommended,
            saves: next.saves,
            expected_saving: next.expected_saving,
            runs: next.runs.into_iter().map(|run| Row::of(run, place)).collect(),
            left_out: next.left_out.into_iter().map(|(machine, reason)| LeftOut { machine, reason }).collect(),
            is_on_spark: arms.iter().any(|arm| arm.engine == Engine::Spark),
        })
    }

    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Table => self.table(),
            Format::Json => json(self),
            Format::Csv => self.csv(),
        }
    }

    fn table(&self) -> String {
        let mut text = format!("{}\n\n{}\n", self.job.title(), self.headline());
        if !self.runs.is_empty() {
            let saving = if self.recommended.is_none() && self.expected_saving.is_none() {
                "finds one with"
            } else {
                "expected saving"
            };
            let columns = [
                ("machine type", Align::Left),
                ("executors", Align::Right),
                ("cores", Align::Right),
                ("batch", Align::Right),
                ("images", Align::Right),
                ("time to collect", Align::Right),
                ("cost", Align::Right),
                (saving, Align::Right),
            ];
            let rows = self.runs.iter().take(FEW).map(|row| row.cells(&self.currency));
            text.push_str(&format!("\n{}", table(&columns, rows)));
        }
        let left = self.runs.len().saturating_sub(FEW);
        if left > 0 {
            text.push_str(&format!("… and {left} more, which save less for what they cost (--format csv lists all)\n"));
        }
        text.push_str(&self.commands());
        for LeftOut { machine, reason } in &self.left_out {
            text.push_str(&format!("\nNot proposed: {machine}: {reason}.\n"));
        }
        text
    }

    /// Returns whether to stop or go on, and why.
    fn headline(&self) -> String {
        let what = match self.saves {
            Saves::Money => "money",
            Saves::Time => "time",
        };
        let saving = self.expected_saving.map(|share| format_percent(share * 100.0));
        let best = self.recommended.as_deref().unwrap_or("the fastest configuration");
        match (&self.verdict, saving) {
            (Verdict::First { reason }, _) => format!("FIRST SAMPLES: nothing can be predicted yet: {reason}."),
            (Verdict::Enough, Some(saving)) => format!(
                "STOP: no other run is expected to save more than {saving} of the {what}, so use {best} (`foreglow plan`)."
            ),
            (Verdict::GoOn, Some(saving)) => {
                format!("CONTINUE: a run is expected to save up to {saving} of the {what} of {best}.")
            }
            (Verdict::GoOn, None) => {
                "CONTINUE: no measured configuration meets the limits with the required probability yet.".into()
            }
            _ => "STOP: no run that could be made is expected to find a configuration that meets the limits.".into(),
        }
    }

    /// Returns the commands to run next, each with the machine type to run it on.
    fn commands(&self) -> String {
        let wanted = match self.verdict {
            Verdict::First { .. } => FEW,
            Verdict::GoOn => 1,
            _ => 0,
        };
        let mut text = String::new();
        let mut machine = None;
        for row in self.runs.iter().take(wanted) {
            if machine != Some(&row.machine) {
                text.push_str(&format!("\nRun on a {} machine, then ask again:\n", row.machine));
                machine = Some(&row.machine);
            }
            match &row.command {
                Some(command) => text.push_str(&format!("  {command}\n")),
                None => text.push_str("  Foreglow cannot measure this job itself: run it so, and import the sample.\n"),
            }
        }
        if !text.is_empty() && self.is_on_spark {
            text.push_str(
                "\nIf the samples are from your own program, run it with this configuration instead, and import its \
                event log.\n",
            );
        }
        text
    }

    fn csv(&self) -> String {
        let columns = [
            "machine",
            "is_new_machine",
            "executors",
            "cores_per_executor",
            "memory_per_executor_mib",
            "batch_size",
            "partition_size",
            "sampling_rate",
            "secs",
            "cost",
            "currency",
            "expected_saving",
            "command",
        ];
        let cells = |row: &Row| {
            vec![
                row.machine.clone(),
                row.is_new_machine.to_string(),
                row.executors.to_string(),
                row.cores_per_executor.to_string(),
                row.memory_per_executor_mib.to_string(),
                row.batch_size.to_string(),
                row.partition_size.to_string(),
                row.sampling_rate.to_string(),
                number(row.secs),
                number(row.cost),
                self.currency.clone(),
                number(row.expected_saving),
                row.command.clone().unwrap_or_default(),
            ]
        };
        csv(&columns, self.runs.iter().map(cells))
    }
}

impl Row {
    fn of(run: NextRun, place: Option<(&str, &str)>) -> Self {
        let Suggestion { executors, cores_per_executor, memory_per_executor_mib, partition_size, .. } = run.suggestion;
        let command = run.context.as_ref().and_then(|context| {
            let command = command(context, &run.suggestion, place)?;
            Some(match &context.host.machine {
                Some(machine) => format!("{command} --machine {}", shell_word(machine)),
                None => command,
            })
        });
        Self {
            machine: run.machine,
            is_new_machine: run.is_new_machine,
            executors,
            cores_per_executor,
            memory_per_executor_mib,
            batch_size: run.batch_size,
            partition_size,
            sampling_rate: run.suggestion.sampling_rate,
            secs: run.suggestion.secs,
            cost: run.suggestion.cost,
            expected_saving: run.expected_saving,
            command,
        }
    }

    fn cells(&self, currency: &str) -> Vec<String> {
        let unknown = || "unknown".to_owned();
        let machine = if self.is_new_machine { format!("{} (new)", self.machine) } else { self.machine.clone() };
        vec![
            machine,
            self.executors.to_string(),
            self.cores_per_executor.to_string(),
            self.batch_size.to_string(),
            format_rate(self.sampling_rate),
            self.secs.map_or_else(unknown, format_duration),
            self.cost.map_or_else(unknown, |cost| format_money(cost, currency)),
            self.expected_saving.map_or_else(unknown, format_probability),
        ]
    }
}
