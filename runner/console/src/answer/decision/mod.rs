//! The decision: the cheapest configuration that meets the deadline, or the fastest within the
//! budget.

mod forms;
mod inversion;
mod startup;

use foreglow_exit::unusable;
use foreglow_model::{
    Accuracy, AccuracyUnknown, Candidate, Decision, Exclusion, Interval, Neighbours, Predictor, Spread, Warning,
    decide, decide_among,
};
use foreglow_shared::{
    Context, CoreSplit, Engine, Job, Question, Resources, WhatIf, format_duration, format_money, format_probability,
    spark_submit_arguments,
};
use serde::Serialize;

use self::inversion::Inversion;
pub use self::startup::Startup;
use super::accuracy::{Inaccuracy, accuracy_unknown};
use super::{SCHEMA, cost_unknown};
use crate::answer::Basis;

/// Answer to a question about a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionAnswer {
    schema: u32,
    context: Context,
    predictor: &'static str,
    /// Present if the CNN was never run.
    #[serde(skip_serializing_if = "Option::is_none")]
    never_run: Option<Basis>,
    question: Question,
    /// Total numbers of cores that were divided among the executors; absent for equal executors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    total_cores: Vec<u32>,
    pub(super) recommended: Option<PredictedCandidate>,
    /// `spark-submit` arguments of the recommended configuration, for jobs run by Spark.
    #[serde(skip_serializing_if = "Option::is_none")]
    spark_submit: Option<String>,
    fastest: Option<PredictedCandidate>,
    cheapest: Option<PredictedCandidate>,
    likeliest: Option<PredictedCandidate>,
    next_faster: Option<PredictedCandidate>,
    next_cheaper: Option<PredictedCandidate>,
    /// Reason why the cost is unknown; `None` if the prices cover the hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_unknown: Option<String>,
    /// Number of configurations considered; if there are very many, `candidates` has only the
    /// notable ones.
    weighed: usize,
    candidates: Vec<PredictedCandidate>,
    /// Start-up times of the samples, which the completion time does not include.
    #[serde(skip_serializing_if = "Option::is_none")]
    startup: Option<Startup>,
    /// A smaller configuration that is predicted to be faster than a larger one, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    larger_is_slower: Option<Inversion>,
    /// Warnings about the samples; warnings about a configuration are in its row.
    warnings: Vec<Warning>,
    /// Why the accuracy is unknown; `None` if it is known.
    #[serde(skip)]
    accuracy_unknown: Option<AccuracyUnknown>,
}

/// A configuration with its prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct PredictedCandidate {
    executors: u32,
    cores_per_executor: u32,
    /// Absent if all executors have the same number.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_cores: Option<u32>,
    memory_per_executor_mib: u32,
    /// Images per task of the predictions; absent without runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_size: Option<u32>,
    completion_time_secs: Option<f64>,
    interval: Option<Interval>,
    cost: Option<f64>,
    /// Money, or executor-hours if the cost is unknown.
    #[serde(skip)]
    burden: Option<f64>,
    /// Probability of meeting both the deadline and the budget.
    success_probability: Option<f64>,
    /// Largest probability that the samples can support for any time.
    #[serde(skip)]
    most_probability: Option<f64>,
    meets_deadline: bool,
    within_budget: bool,
    exclusion: Option<Exclusion>,
    /// The measured accuracy of the trained CNN; `None` if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<Accuracy>,
    /// Whether the accuracy is known to be at least the minimum.
    #[serde(skip)]
    keeps_accuracy: bool,
    /// Whether the configuration is on the Pareto front of time and cost.
    on_pareto_front: bool,
    warnings: Vec<Warning>,
}

impl DecisionAnswer {
    /// Decides the question.
    ///
    /// # Errors
    /// The question has no answer: no candidate configuration, or too many.
    pub fn new(job: &Job, predictor: &Predictor, question: &Question) -> anyhow::Result<Self> {
        let decision = decide(predictor, job, question).map_err(|error| unusable(error.to_string()))?;
        Ok(Self::of(job, predictor, question, decision))
    }

    /// Decides the question among these splits of total numbers of cores.
    ///
    /// # Errors
    /// There is no split, or there are too many.
    pub fn among(
        job: &Job,
        predictor: &Predictor,
        question: &Question,
        (splits, total_cores): (&[CoreSplit], Vec<u32>),
    ) -> anyhow::Result<Self> {
        let decision = decide_among(predictor, job, question, splits).map_err(|error| unusable(error.to_string()))?;
        Ok(Self { total_cores, ..Self::of(job, predictor, question, decision) })
    }

    fn of(job: &Job, predictor: &Predictor, question: &Question, decision: Decision) -> Self {
        let neighbours = Neighbours::of(&decision);
        let Decision { candidates, recommended, fastest, cheapest, likeliest, pareto, weighed } = decision;
        let mut on_front = vec![false; candidates.len()];
        pareto.iter().for_each(|index| on_front[*index] = true);
        let partition_size = predictor.partition_size(job);
        let workload = &job.context.workload;
        let known = Accuracy::by_executors(&job.accuracies, workload.images, workload.epochs);
        let accuracy = |executors: u32| known.iter().find(|(measured, _)| *measured == executors);
        let row = |(candidate, front): (Candidate, bool)| PredictedCandidate {
            accuracy: accuracy(candidate.executors).map(|(_, accuracy)| accuracy.clone()),
            ..row(candidate, partition_size, front)
        };
        let rows: Vec<PredictedCandidate> = candidates.into_iter().zip(on_front).map(row).collect();
        let at = |index: Option<usize>| index.map(|index| rows[index].clone());
        let recommended = at(recommended);
        let spark_submit = recommended
            .as_ref()
            .filter(|_| job.context.engine == Engine::Spark)
            .filter(|row| row.total_cores.is_none());
        let spark_submit = spark_submit.map(|row| {
            spark_submit_arguments(Resources {
                executors: row.executors,
                cores_per_executor: row.cores_per_executor,
                total_cores: None,
                memory_per_executor_mib: row.memory_per_executor_mib,
                accelerated: job.context.accelerator.is_some(),
                shared_accelerators: None,
            })
        });
        Self {
            schema: SCHEMA,
            context: job.context.clone(),
            spark_submit,
            predictor: Predictor::NAME,
            never_run: None,
            warnings: predictor.warnings(),
            cost_unknown: cost_unknown(&question.prices, job.context.accelerator.as_deref()),
            question: question.clone(),
            total_cores: Vec::new(),
            startup: Startup::of(&job.observations),
            accuracy_unknown: accuracy_unknown(job),
            larger_is_slower: Inversion::among(&rows),
            next_faster: at(neighbours.faster),
            next_cheaper: at(neighbours.cheaper),
            fastest: at(fastest),
            cheapest: at(cheapest),
            likeliest: at(likeliest),
            recommended,
            weighed,
            candidates: rows,
        }
    }

    /// Adds the note that the CNN was never run, with the basis of the predictions.
    pub fn based_on(self, basis: Basis) -> Self {
        Self { never_run: Some(basis), ..self }
    }

    /// Returns the configuration to look at first: the recommended one, or else the fastest.
    pub fn what_if(&self) -> Option<WhatIf> {
        let PredictedCandidate { executors, cores_per_executor, .. } =
            *self.recommended.as_ref().or(self.fastest.as_ref())?;
        Some(WhatIf { executors, cores_per_executor })
    }

    /// Fails with the reason if nothing is recommended.
    ///
    /// # Errors
    /// No configuration meets the deadline and the budget, none fits into its memory, or no time is
    /// known.
    pub fn check(&self) -> anyhow::Result<()> {
        match (&self.recommended, &self.fastest, &self.cheapest) {
            (Some(_), ..) => Ok(()),
            (None, Some(fastest), Some(cheapest)) => anyhow::bail!("{}", self.shortfall(fastest, cheapest)),
            _ => match self.candidates.iter().find_map(|row| row.exclusion) {
                Some(exclusion) => anyhow::bail!("no configuration is known to fit into its memory: {exclusion}"),
                None => {
                    anyhow::bail!("the samples are not enough to predict the time of any configuration; collect more")
                }
            },
        }
    }

    /// Explains why no configuration is recommended.
    fn shortfall(&self, fastest: &PredictedCandidate, cheapest: &PredictedCandidate) -> String {
        let Question { deadline_secs, budget, probability, .. } = self.question;
        if let Some(reason) = self.inaccuracy() {
            return reason;
        }
        if let (Some(budget), Some(reason)) = (budget, &self.cost_unknown) {
            let budget = self.amount(budget);
            return format!("no configuration is known to cost at most {budget}: {reason}");
        }
        if let Some(deadline) = deadline_secs.filter(|deadline| !fastest.takes_at_most(*deadline)) {
            return format!(
                "no configuration is predicted to meet the deadline of {}: the fastest, {}, takes {}; allow more time, or \
                 offer larger configurations with --executors and --cores",
                format_duration(deadline),
                fastest.configuration(),
                fastest.time()
            );
        }
        if let Some(budget) = budget.filter(|budget| !cheapest.costs_at_most(*budget)) {
            return format!(
                "no configuration is predicted to cost at most {}: the cheapest, {}, costs {}; allow more money, or offer \
                 smaller configurations with --executors and --cores",
                self.amount(budget),
                cheapest.configuration(),
                self.money(cheapest)
            );
        }
        let wish = self.wish().unwrap_or_default();
        if !self.candidates.iter().any(|row| row.is_predicted_to_keep(&self.question)) {
            return format!(
                "no configuration is predicted to be {wish}: the fastest, {}, takes {} and costs {}, the cheapest, {}, takes \
                 {} and costs {}; allow more time or more money",
                fastest.configuration(),
                fastest.time(),
                self.money(fastest),
                cheapest.configuration(),
                cheapest.time(),
                self.money(cheapest)
            );
        }
        match self.likeliest.as_ref().and_then(|row| Some((row, row.success_probability?))) {
            Some((row, most)) => {
                let (asked, most) = told_apart(probability, most);
                format!(
                    "no configuration is {wish} with a probability of {asked}: the samples support at most {most}, for {}; \
                     lower --probability, relax the limits, or collect more samples (`foreglow advise` says which)",
                    row.configuration()
                )
            }
            None => format!(
                "there are too few samples for the probability that a configuration is {wish}; collect more (`foreglow \
                advise` says which), or decide by the predicted time with --probability 0.5"
            ),
        }
    }

    /// Returns why no configuration is accurate enough, or meets the other limits as well; `None`
    /// without a minimum accuracy.
    fn inaccuracy(&self) -> Option<String> {
        let possible = || self.candidates.iter().filter(|row| row.burden.is_some() && row.exclusion.is_none());
        let measured = |row: &PredictedCandidate| Some((row.configuration(), row.accuracy.clone()?));
        let accurate = possible().filter(|row| row.keeps_accuracy);
        let secs = |row: &&PredictedCandidate| row.completion_time_secs.unwrap_or(f64::INFINITY);
        let fastest = accurate.min_by(|a, b| secs(a).total_cmp(&secs(b)));
        let inaccuracy = Inaccuracy {
            least: self.question.min_accuracy?,
            wish: self.wish(),
            fastest: fastest.map(|row| (row.configuration(), row.time())),
            measured: possible().filter_map(measured).collect(),
            unknown: self.accuracy_unknown,
        };
        Some(inaccuracy.describe())
    }

    /// Returns the limits in the question, such as `done within 15.00 s for at most USD 5.00`;
    /// `None` without any.
    fn wish(&self) -> Option<String> {
        let deadline = self.question.deadline_secs.map(|secs| format!("done within {}", format_duration(secs)));
        let budget = self.question.budget.map(|money| format!("at most {}", self.amount(money)));
        match (deadline, budget) {
            (Some(deadline), Some(budget)) => Some(format!("{deadline} for {budget}")),
            (Some(deadline), None) => Some(deadline),
            (None, Some(budget)) => Some(format!("done for {budget}")),
            (None, None) => None,
        }
    }

    fn money(&self, row: &PredictedCandidate) -> String {
        row.cost.map_or_else(|| "unknown".into(), |cost| self.amount(cost))
    }

    fn amount(&self, money: f64) -> String {
        format_money(money, &self.question.prices.currency)
    }
}

/// Formats two probabilities with enough digits to distinguish them.
fn told_apart(one: f64, other: f64) -> (String, String) {
    let texts = (format_probability(one), format_probability(other));
    if texts.0 != texts.1 {
        return texts;
    }
    // Truncates instead of rounding: a probability is never rounded up.
    let cut = |probability: f64, decimals: usize| {
        let unit = (0..decimals).fold(1.0, |unit: f64, _| unit * 10.0);
        (probability * 100.0 * unit + 1e-6).floor() / unit
    };
    let percent = |probability: f64, decimals: usize| format!("{:.decimals$} %", cut(probability, decimals));
    let both = |decimals| (percent(one, decimals), percent(other, decimals));
    (1..9).map(both).find(|(one, other)| one != other).unwrap_or_else(|| both(9))
}

fn row(candidate: Candidate, partition_size: Option<u32>, on_pareto_front: bool) -> PredictedCandidate {
    PredictedCandidate {
        executors: candidate.executors,
        cores_per_executor: candidate.cores_per_executor,
        total_cores: candidate.total_cores,
        memory_per_executor_mib: candidate.memory_per_executor_mib,
        partition_size,
        completion_time_secs: candidate.prediction.completion_time_secs,
        interval: candidate.prediction.interval,
        cost: candidate.cost,
        burden: candidate.burden,
        success_probability: candidate.success_probability,
        most_probability: candidate.prediction.spread.as_ref().map(Spread::most_probability),
        meets_deadline: candidate.meets_deadline,
        within_budget: candidate.within_budget,
        exclusion: candidate.exclusion,
        accuracy: None,
        keeps_accuracy: candidate.keeps_accuracy,
        on_pareto_front,
        warnings: candidate.prediction.warnings,
    }
}

impl PredictedCandidate {
    fn time(&self) -> String {
        self.completion_time_secs.map_or_else(|| "unknown".into(), format_duration)
    }

    fn split(&self) -> CoreSplit {
        CoreSplit {
            executors: self.executors,
            cores_per_executor: self.cores_per_executor,
            total_cores: self.total_cores,
        }
    }

    fn configuration(&self) -> String {
        self.split().to_string()
    }

    fn takes_at_most(&self, secs: f64) -> bool {
        self.completion_time_secs.is_some_and(|own| own <= secs)
    }

    fn costs_at_most(&self, money: f64) -> bool {
        self.cost.is_some_and(|own| own <= money)
    }

    /// Returns whether the predicted time meets the deadline and the budget, regardless of its
    /// probability.
    fn is_predicted_to_keep(&self, question: &Question) -> bool {
        self.exclusion.is_none()
            && question.deadline_secs.is_none_or(|deadline| self.takes_at_most(deadline))
            && question.budget.is_none_or(|budget| self.costs_at_most(budget))
    }
}

#[cfg(test)]
mod tests {
    use foreglow_shared::PriceSheet;

    use super::*;
    use crate::output::Format;

    #[test]
    fn probabilities_that_print_alike_get_the_digits_that_tell_them_apart() {
        assert_eq!(told_apart(0.99, 0.9), ("99 %".into(), "90 %".into()));
        assert_eq!(told_apart(0.999, 0.9952), ("99.9 %".into(), "99.5 %".into()));
        assert_eq!(told_apart(0.99999, 0.99995), ("99.999 %".into(), "99.995 %".into()));
    }

    #[test]
    fn a_run_that_was_stopped_later_than_predicted_is_noted_once_whichever_configuration_is_recommended() {
        let context = r#"{"workload":{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,
            "batch_size":8},"engine":"spark","host":{}}"#;
        // E, C, memory in MiB, P, SR, seconds, start-up seconds.
        let runs = "[[1,1,1024,8,0.01,2.0,null],[1,1,1024,8,0.1,11.0,null],[1,1,1024,8,1,101.0,null],
            [2,1,1024,8,0.01,1.2,null],[2,1,1024,8,0.1,6.6,null],[2,1,1024,8,1,60.6,null]]";
        let job = Job {
            incomplete: serde_json::from_str(r#"[[1,1,1024,8,1,"timed_out",400]]"#).unwrap(),
            ..Job::of_runs(serde_json::from_str(context).unwrap(), serde_json::from_str(runs).unwrap())
        };
        let predictor = Predictor::fit_job(&job).unwrap();
        for (deadline_secs, executors) in [(None, 1), (Some(80.0), 2)] {
            let prices = PriceSheet { executor_hour: 0.1, core_hour: 0.0, ..PriceSheet::example() };
            let question = Question { deadline_secs, prices, probability: 0.5, ..Question::about_job(&job) };
            let answer = DecisionAnswer::new(&job, &predictor, &question).unwrap();
            let table = answer.render(Format::Table);
            assert_eq!(answer.recommended.map(|row| row.executors), Some(executors), "{table}");
            let note = "sampling rate 100 % took 6 min 40.0 s, and the other samples predict ";
            assert_eq!(table.matches(note).count(), 1, "{table}");
        }
    }
}
