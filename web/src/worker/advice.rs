//! Samples to measure next, as text. A worker writes it, so that the page needs no code for it.

use foreglow_model::{Advice, Suggestion, Verdict};
use foreglow_shared::{
    Configuration, Context, Job, Question, collect_command, format_duration, format_money, format_percent, format_rate,
};
use serde::{Deserialize, Serialize};

/// Number of suggestions shown.
const FEW: usize = 5;

/// The advice on the next samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdviceText {
    /// Whether to continue, and why.
    pub headline: String,
    /// The samples to collect, the best first.
    pub rows: Vec<AdviceRow>,
}

/// A sample to collect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdviceRow {
    /// Executors × cores.
    pub configuration: String,
    /// Share of the images.
    pub images: String,
    /// Time to collect it.
    pub takes: String,
    /// Cost to collect it.
    pub costs: String,
    /// Share by which it narrows the decision.
    pub narrows: String,
    /// The `foreglow collect` command; `None` if `foreglow collect` cannot measure this kind of
    /// job.
    pub command: Option<String>,
}

impl AdviceText {
    /// Describes the advice on a job for a question about it.
    pub fn of(advice: &Advice, job: &Job, question: &Question) -> Self {
        let row = |suggestion| AdviceRow::of(suggestion, &job.context, &question.prices.currency);
        Self {
            headline: headline(advice, question.wants_speed()),
            rows: advice.suggestions.iter().take(FEW).map(row).collect(),
        }
    }
}

/// The verdict and its reason, in the same words as `foreglow advise`.
fn headline(advice: &Advice, wants_speed: bool) -> String {
    let saving = advice.expected_saving.map(|share| format_percent(share * 100.0));
    let what = if wants_speed { "time" } else { "money" };
    match (&advice.verdict, saving) {
        (Verdict::First { reason }, _) => format!("Nothing can be predicted yet: {reason}. Collect these first."),
        (Verdict::Enough, Some(saving)) => {
            format!("Enough: no other configuration is expected to save more than {saving} of the {what}.")
        }
        (Verdict::GoOn, Some(saving)) => {
            format!("Go on: another configuration is still expected to save {saving} of the recommended one's {what}.")
        }
        (Verdict::GoOn, None) if advice.recommended.is_some() => {
            "Go on: the time of another configuration is not known yet.".into()
        }
        (Verdict::GoOn, None) => "Go on: no configuration meets the limits with the required probability yet.".into(),
        _ => "Enough: no sample that could be collected narrows the decision any more.".into(),
    }
}

impl AdviceRow {
    fn of(suggestion: &Suggestion, context: &Context, currency: &str) -> Self {
        let Suggestion { executors, cores_per_executor, sampling_rate, secs, cost, narrowing, .. } = *suggestion;
        let unknown = || "unknown".to_owned();
        Self {
            configuration: format!("{executors} × {cores_per_executor}"),
            images: format_rate(sampling_rate),
            takes: secs.map_or_else(unknown, format_duration),
            costs: cost.map_or_else(unknown, |cost| format_money(cost, currency)),
            narrows: narrowing.map_or_else(unknown, |share| format!("{:.0} %", share * 100.0)),
            command: command(context, suggestion),
        }
    }
}

fn command(context: &Context, suggestion: &Suggestion) -> Option<String> {
    let configuration = Configuration {
        executors: suggestion.executors,
        cores_per_executor: suggestion.cores_per_executor,
        total_cores: None,
        memory_per_executor_mib: suggestion.memory_per_executor_mib,
        partition_size: suggestion.partition_size,
        accelerator: context.accelerator.clone(),
        shares_accelerators: context.shares_accelerators,
        accelerators_per_executor: context.accelerators_per_executor,
        machines: context.machines,
        extra: serde_json::Map::new(),
    };
    collect_command(context, &configuration, suggestion.sampling_rate, Some(("--output", "samples.jsonl")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        let context = serde_json::from_str(
            r#"{"workload":{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8},
                "engine":"local","host":{"cpu":"Some CPU"}}"#,
        )
        .unwrap();
        Job::of_runs(context, Vec::new())
    }

    #[test]
    fn the_first_samples_come_with_the_reason_and_a_command() {
        let job = job();
        let advice = foreglow_model::advise(&job, &Question::about(&[])).unwrap();
        let text = AdviceText::of(&advice, &job, &Question::about(&[]));
        assert!(text.headline.starts_with("Nothing can be predicted yet: "), "{}", text.headline);
        assert!(!text.rows.is_empty() && text.rows.len() <= FEW);
        let command = text.rows[0].command.as_ref().unwrap();
        assert!(command.starts_with("foreglow collect "), "{command}");
        assert_eq!(text.rows[0].narrows, "unknown");
    }
}
