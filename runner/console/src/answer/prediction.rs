//! Predicted completion time of one configuration.

use foreglow_model::{Exclusion, Interval, Prediction, Predictor, Setting, Warning, format_time};
use foreglow_shared::{
    Context, CoreSplit, CostUnit, Job, JobDefinition, PriceSheet, Question, Rate, Resources, format_rate,
};
use serde::Serialize;

use super::{SCHEMA, cost_note, cost_unknown, notes, probability, range, told_cost};
use crate::answer::Basis;
use crate::output::Format;
use crate::split::with_total;
use crate::table::csv_of;

/// Prediction for a job on one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictionAnswer {
    schema: u32,
    context: Context,
    predictor: &'static str,
    /// Present if the CNN was never run.
    #[serde(skip_serializing_if = "Option::is_none")]
    never_run: Option<Basis>,
    /// Executors and cores; the total is absent if all executors have the same number.
    #[serde(flatten)]
    split: CoreSplit,
    memory_per_executor_mib: u32,
    sampling_rate: f64,
    /// Present if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_size: Option<u32>,
    completion_time_secs: Option<f64>,
    interval: Option<Interval>,
    cost: Option<f64>,
    /// Reason why the cost is unknown; `None` if the prices cover the hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_unknown: Option<String>,
    prices: PriceSheet,
    #[serde(skip)]
    cost_unit: Option<CostUnit>,
    exclusion: Option<Exclusion>,
    warnings: Vec<Warning>,
}

/// Whether a warning says why no time is known. The others are about times that are known.
fn is_why_unknown(warning: &Warning) -> bool {
    matches!(
        warning,
        Warning::UnseenCategory { .. }
            | Warning::EffectUnknown { .. }
            | Warning::VaryTogether { .. }
            | Warning::NotAboveZero { .. }
            | Warning::Oversubscribed { .. }
            | Warning::TooFewAccelerators { .. }
            | Warning::TimeDoesNotGrow { .. }
            | Warning::NotPositive
            | Warning::Impossible
    )
}

impl PredictionAnswer {
    /// Predicts a job at `setting`, with the memory and the prices of a question, and the partition
    /// size that the predictor assumes, if one was requested.
    pub fn new(
        job: &Job,
        predictor: &Predictor,
        setting: Setting,
        question: &Question,
        partition_size: Option<u32>,
    ) -> Self {
        let memory_per_executor_mib = question.memory_per_executor_mib;
        let accelerator = job.context.accelerator.as_deref();
        let prices = &question.prices.clone().for_cores_of(job.context.host.core_share);
        let (split, sampling_rate) = (setting.split(), setting.sampling_rate);
        let Prediction { completion_time_secs, interval, mut warnings, .. } = predictor.predict(setting);
        warnings.extend(predictor.warnings());
        let resources = Resources {
            split,
            memory_per_executor_mib,
            accelerated: accelerator.is_some(),
            shared_accelerators: job.context.shared_accelerators(),
        };
        let predicted_size = predictor.partition_size(job).unwrap_or(1);
        let cost_unknown = cost_unknown(&question.prices, accelerator);
        let cost =
            completion_time_secs.filter(|_| cost_unknown.is_none()).and_then(|secs| prices.cost(resources, secs));
        let rate = prices.rate(resources).zip(completion_time_secs.zip(cost)).filter(|_| sampling_rate == 1.0);
        let unit =
            |(rate, (secs, cost)): (Rate, _)| CostUnit::of(&JobDefinition::of(&job.context), secs, cost, rate.hourly());
        Self {
            schema: SCHEMA,
            context: job.context.clone(),
            predictor: Predictor::NAME,
            cost_unit: rate.and_then(unit),
            never_run: None,
            split,
            memory_per_executor_mib,
            sampling_rate,
            partition_size,
            completion_time_secs,
            interval,
            cost,
            cost_unknown,
            prices: question.prices.clone(),
            exclusion: Exclusion::of(job, setting, memory_per_executor_mib, predicted_size),
            warnings,
        }
    }

    /// Adds the note that the CNN was never run, with the basis of the prediction.
    pub fn based_on(self, never_run: Option<Basis>) -> Self {
        Self { never_run, ..self }
    }

    /// Fails with the reason if no time is known.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.completion_time_secs.is_some() {
            return Ok(());
        }
        let reasons: Vec<String> =
            self.warnings.iter().filter(|warning| is_why_unknown(warning)).map(ToString::to_string).collect();
        anyhow::bail!("the samples are not enough to predict this time: {}", reasons.join("; "))
    }

    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn table(&self) -> String {
        let mut text = format!("{}\n\n", self.context.title());
        let mut line = |name: &str, value: String| text.push_str(&format!("{name:<17} {value}\n"));
        line("completion time", format_time(self.completion_time_secs, self.interval.as_ref()));
        if let Some(interval) = &self.interval {
            line("interval", format!("{} ({} of jobs)", range(interval), probability(interval)));
        }
        if self.cost.is_some() {
            let prices = &self.prices;
            let (secs, interval) = (self.completion_time_secs, self.interval.as_ref());
            let cost = told_cost(self.cost, secs, interval, &prices.currency, self.cost_unit.as_ref());
            line("cost", format!("{cost} ({}, {})", prices.name, prices.date));
        } else if self.cost_unknown.is_some() {
            line("cost", "unknown".into());
        }
        let memory = self.memory_per_executor_mib;
        line("configuration", format!("{}, {memory} MiB per executor", self.split));
        line("sampling rate", format_rate(self.sampling_rate));
        if let Some(size) = self.partition_size {
            line("partition size", size.to_string());
        }
        line("predicted by", "Foreglow's own predictor".to_owned());
        if let Some(basis) = &self.never_run {
            text.push_str(&format!("\n{}\n", basis.describe()));
        }
        if let Some(exclusion) = &self.exclusion {
            text.push_str(&format!("\nOut of memory: {exclusion}.\n"));
        }
        text + &self.cost_unknown.as_deref().map_or_else(String::new, cost_note) + &notes(&self.warnings)
    }

    fn csv(&self) -> String {
        let columns = "executors,cores_per_executor,memory_per_executor_mib,sampling_rate,completion_time_secs,\
            lower_secs=interval.lower_secs,upper_secs=interval.upper_secs,probability=interval.probability,cost,\
            currency=prices.currency,predictor";
        csv_of(&with_total(columns, [self.split]), [self])
    }
}
