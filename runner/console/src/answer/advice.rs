//! Advice on which samples to collect next, with the commands.

use std::path::Path;

use foreglow_architectures::{Architecture, Input};
use foreglow_exit::unusable;
use foreglow_model::{Advice, Suggestion, Verdict, advise};
use foreglow_shared::{
    Configuration, Context, Engine, Job, Question, WhatIf, collect_command, format_duration, format_money,
    format_percent, format_rate,
};
use serde::Serialize;

use super::{SCHEMA, cost_note, cost_unknown};
use crate::output::Format;
use crate::table::{Align, csv, number, table};

/// Limit on the suggestions in a table.
const FEW: usize = 8;

/// Samples to collect next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceAnswer {
    schema: u32,
    context: Context,
    question: Question,
    verdict: Verdict,
    /// What `plan` recommends from the samples so far.
    recommended: Option<WhatIf>,
    expected_saving: Option<f64>,
    suggestions: Vec<SuggestedSample>,
    /// Reason why the cost is unknown; `None` if the prices cover the hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_unknown: Option<String>,
}

/// A sample that could be collected.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SuggestedSample {
    #[serde(flatten)]
    suggestion: Suggestion,
    /// `None` if this version cannot collect it.
    command: Option<String>,
}

impl AdviceAnswer {
    /// Advises on a question about a job; `place` is the destination of the samples of the printed
    /// commands.
    ///
    /// # Errors
    /// The question has no answer.
    pub fn new(job: &Job, question: &Question, place: Option<(&str, &str)>) -> anyhow::Result<Self> {
        let advice = advise(job, question).map_err(|error| unusable(error.to_string()))?;
        let Advice { verdict, recommended, expected_saving, suggestions } = advice;
        let row = |suggestion| SuggestedSample { command: command(&job.context, &suggestion, place), suggestion };
        let suggestions = suggestions.into_iter().map(row).collect();
        let cost_unknown = cost_unknown(&question.prices, job.context.accelerator.as_deref());
        let (context, question) = (job.context.clone(), question.clone());
        Ok(Self { schema: SCHEMA, context, question, verdict, recommended, expected_saving, suggestions, cost_unknown })
    }

    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn table(&self) -> String {
        let mut text = format!("{}\n\n{}\n", self.context.title(), self.headline());
        let rows = self.suggestions.iter().take(FEW);
        if !self.suggestions.is_empty() {
            let columns = [
                ("executors", Align::Right),
                ("cores", Align::Right),
                ("images", Align::Right),
                ("time to collect", Align::Right),
                ("cost", Align::Right),
                ("narrows the decision by", Align::Right),
            ];
            text.push_str(&format!("\n{}", table(&columns, rows.clone().map(|row| self.cells(row)))));
        }
        let left = self.suggestions.len().saturating_sub(FEW);
        if left > 0 {
            text.push_str(&format!(
                "… and {left} more, which narrow the decision less per second (--format csv lists all)\n"
            ));
        }
        let wanted = match self.verdict {
            Verdict::First { .. } => FEW,
            Verdict::GoOn => 1,
            _ => 0,
        };
        let commands: Vec<&str> = rows.take(wanted).filter_map(|row| row.command.as_deref()).collect();
        match commands.as_slice() {
            [] if wanted > 0 && !self.suggestions.is_empty() => {
                text.push_str(
                    "\nForeglow cannot measure this job itself: run it with this configuration, and import \
                    the sample.\n",
                );
            }
            [] => {}
            [command] => text.push_str(&format!("\nCollect the first, then ask again:\n  {command}\n")),
            several => text.push_str(&format!("\nCollect these, then ask again:\n  {}\n", several.join("\n  "))),
        }
        text.push_str(&data_note(&self.context).unwrap_or_default());
        if !commands.is_empty() && self.context.engine == Engine::Spark {
            text.push_str(OWN_PROGRAM);
        }
        text + &self.cost_unknown.as_deref().map_or_else(String::new, cost_note)
    }

    /// Returns whether to stop or go on, and why.
    fn headline(&self) -> String {
        let saving = self.expected_saving.map(|share| format_percent(share * 100.0));
        let what = match (self.question.wants_speed(), &self.cost_unknown) {
            (true, _) => "time",
            (false, None) => "money",
            (false, Some(_)) => "executor-hours",
        };
        match (&self.verdict, saving) {
            (Verdict::First { reason }, _) => format!("FIRST SAMPLES: nothing can be predicted yet: {reason}."),
            (Verdict::Enough, Some(saving)) => format!(
                "STOP: no other configuration is expected to save more than {saving} of the {what}, so use the \
                 answer of `foreglow plan`."
            ),
            (Verdict::GoOn, Some(saving)) => {
                format!(
                    "CONTINUE: another configuration is expected to save {saving} of the {what} of the recommended one."
                )
            }
            (Verdict::GoOn, None) if self.recommended.is_some() => {
                "CONTINUE: the time of another configuration is not known yet.".into()
            }
            (Verdict::GoOn, None) => {
                "CONTINUE: no configuration meets the limits with the required probability yet.".into()
            }
            _ => "STOP: no sample that could be collected narrows the decision any more.".into(),
        }
    }

    fn cells(&self, row: &SuggestedSample) -> Vec<String> {
        let Suggestion { executors, cores_per_executor, sampling_rate, secs, cost, narrowing, .. } = row.suggestion;
        let unknown = || "unknown".to_owned();
        vec![
            executors.to_string(),
            cores_per_executor.to_string(),
            format_rate(sampling_rate),
            secs.map_or_else(unknown, format_duration),
            cost.map_or_else(unknown, |cost| format_money(cost, &self.question.prices.currency)),
            narrowing.map_or_else(unknown, |share| format!("{:.0} %", share * 100.0)),
        ]
    }

    fn csv(&self) -> String {
        let columns = [
            "executors",
            "cores_per_executor",
            "memory_per_executor_mib",
            "partition_size",
            "sampling_rate",
            "secs",
            "cost",
            "currency",
            "narrowing",
            "command",
        ];
        let cells = |row: &SuggestedSample| {
            let suggestion = &row.suggestion;
            vec![
                suggestion.executors.to_string(),
                suggestion.cores_per_executor.to_string(),
                suggestion.memory_per_executor_mib.to_string(),
                suggestion.partition_size.to_string(),
                suggestion.sampling_rate.to_string(),
                number(suggestion.secs),
                number(suggestion.cost),
                self.question.prices.currency.clone(),
                number(suggestion.narrowing),
                row.command.clone().unwrap_or_default(),
            ]
        };
        csv(&columns, self.suggestions.iter().map(cells))
    }
}

/// Advice for jobs of the user's own Spark program, for which the command does not apply.
pub(super) const OWN_PROGRAM: &str = "\nIf the samples are from your own program, run it with this configuration \
                                      instead, and import its event log.\n";

/// Returns a note on where to run the command of a context whose data set has no path; `None` if it
/// can run anywhere.
pub(super) fn data_note(context: &Context) -> Option<String> {
    let folder = context.workload.data_path().filter(|path| !Path::new(path).is_absolute())?;
    Some(format!(
        "\nThe samples have no path for the data set {folder}: run the command in its parent folder, or give the path \
         with --data.\n"
    ))
}

/// Returns the command that collects a sample; `None` if `foreglow collect` cannot measure the job.
pub(super) fn command(context: &Context, suggestion: &Suggestion, place: Option<(&str, &str)>) -> Option<String> {
    let workload = &context.workload;
    let is_taken = match (Architecture::named(&workload.model).map(|it| &it.input), &workload.text) {
        (Some(Input::Images { px, .. }), None) => px.contains(&workload.image_px),
        (Some(Input::Texts { words, .. }), Some(text)) => words.contains(&text.words),
        (None, None) => workload.network.is_some(),
        _ => false,
    };
    if !is_taken {
        return None;
    }
    let Suggestion { executors, cores_per_executor, memory_per_executor_mib, partition_size, .. } = *suggestion;
    let configuration = Configuration {
        executors,
        cores_per_executor,
        total_cores: None,
        memory_per_executor_mib,
        partition_size,
        accelerator: context.accelerator.clone(),
        shares_accelerators: context.shares_accelerators,
        accelerators_per_executor: context.accelerators_per_executor,
        machines: context.machines,
        extra: serde_json::Map::new(),
    };
    collect_command(context, &configuration, suggestion.sampling_rate, place)
}
