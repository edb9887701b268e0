//! Samples to measure next, as text. A worker writes it, so that the page needs no code for it.

use foreglow_model::{Advice, Objective, Suggestion, Verdict, advise};
use foreglow_shared::{Context, CoreSplit, Estimate, Job, collect_command, format_probability, format_rate};
use serde::{Deserialize, Serialize};

use crate::data::text::capitalised;
use crate::worker::plan::{PlanQuestion, Session};

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
    /// Share of the whole job.
    pub sampling_rate: String,
    /// Time to collect it.
    pub takes: String,
    /// Cost to collect it.
    pub costs: String,
    /// What it is expected to save of the whole job, or the chance that it finds a configuration
    /// that meets the limits.
    pub saves: String,
    /// The `foreglow collect` command; `None` if `foreglow collect` cannot measure this kind of
    /// job.
    pub command: Option<String>,
}

impl AdviceText {
    /// Advises on a job for a question about it.
    ///
    /// # Errors
    /// No run completed, or the question has no configurations; one sentence.
    pub fn new(jobs: Vec<Job>, question: &PlanQuestion) -> Result<Self, String> {
        let mut session = Session::new(jobs, question.context.as_ref())?;
        let group = session.group().clone();
        let (plan, limits) = session.plan(question)?;
        let advice = advise(&group, plan, &limits, &[]).map_err(|error| error.to_string())?;
        Ok(Self::of(&advice, plan.currency()))
    }

    fn of(advice: &Advice, currency: &str) -> Self {
        let has_best = advice.best.is_some();
        let row = |suggestion| AdviceRow::of(suggestion, has_best, currency);
        Self { headline: headline(advice), rows: advice.suggestions.iter().take(FEW).map(row).collect() }
    }
}

/// The verdict and its reason, in the same words as `foreglow advise`.
fn headline(advice: &Advice) -> String {
    let saving = advice.expected_saving.map(|share| Estimate::rough(share * 100.0).percent());
    let what = match advice.saves {
        Objective::Cost => "cost",
        Objective::ExecutorHours => "executor-hours",
        Objective::Time => "time",
    };
    match (&advice.verdict, saving) {
        (Verdict::First { reason }, _) => format!("{} Collect these first.", capitalised(reason)),
        (Verdict::Enough, _) => {
            format!("Enough: no further run is expected to save 2 % of the recommended configuration's {what}.")
        }
        (Verdict::GoOn, Some(saving)) => {
            format!(
                "Go on: a further run is expected to save up to {saving} of the recommended configuration's {what}."
            )
        }
        (Verdict::GoOn, None) => "Go on: no configuration meets the limits with the required probability yet.".into(),
        _ => "Enough: nothing meets the limits, and no run that could be made is expected to change that.".into(),
    }
}

impl AdviceRow {
    fn of(suggestion: &Suggestion, has_best: bool, currency: &str) -> Self {
        let &Suggestion { executors, cores_per_executor, sampling_rate, secs, cost, expected_saving, .. } = suggestion;
        let unknown = || "unknown".to_owned();
        let saves =
            |share: f64| if has_best { Estimate::rough(share * 100.0).percent() } else { format_probability(share) };
        Self {
            configuration: format!("{executors} × {cores_per_executor}"),
            sampling_rate: format_rate(sampling_rate),
            takes: secs.map_or_else(unknown, |secs| Estimate::rough(secs).duration()),
            costs: cost.map_or_else(unknown, |cost| Estimate::rough(cost).money(currency)),
            saves: expected_saving.map_or_else(unknown, saves),
            command: suggestion.context.as_ref().and_then(|context| command(context, suggestion)),
        }
    }
}

fn command(context: &Context, suggestion: &Suggestion) -> Option<String> {
    let split = CoreSplit::even(suggestion.executors, suggestion.cores_per_executor);
    let configuration = context.configuration(split, suggestion.memory_per_executor_mib, suggestion.partition_size);
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
        // E, C, memory in MiB, P, SR, seconds, start-up seconds.
        Job::of_runs(context, serde_json::from_str("[[1,1,1024,8,0.01,2.0,null]]").unwrap())
    }

    #[test]
    fn the_first_samples_come_with_the_reason_and_a_command() {
        let question = PlanQuestion::about(&job());
        let text = AdviceText::new(vec![job()], &question).unwrap();
        assert!(text.headline.starts_with("There is one completed sample, "), "{}", text.headline);
        assert!(text.headline.ends_with("below 1. Collect these first."), "{}", text.headline);
        assert!(!text.rows.is_empty() && text.rows.len() <= FEW);
        let command = text.rows[0].command.as_ref().unwrap();
        assert!(command.starts_with("foreglow collect "), "{command}");
        assert_eq!(text.rows[0].saves, "unknown");
    }
}
