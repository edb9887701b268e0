//! Strong and weak scaling: time, speed-up, efficiency and cost of each configuration.

use std::sync::Arc;

use foreglow_exit::unusable;
use foreglow_model::{
    Exclusion, Gain, Interval, Measured, Predictor, Scaling, ScalingRow, Warning, WeakScaling, format_time,
};
use foreglow_shared::{
    Context, CoreSplit, CostUnit, Job, JobDefinition, PriceSheet, Question, WhatIf, format_count, format_integer,
};
use serde::Serialize;
use serde_json::json;

use super::{SCHEMA, cost_note, cost_unknown, notes, probability, range, told_cost};
use crate::output::Format;
use crate::table::{aligned, csv_of, titled_table};

/// Scaling of a job on one machine type.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScalingAnswer {
    schema: u32,
    context: Context,
    predictor: &'static str,
    /// The reference configuration.
    smallest: WhatIf,
    /// Images of a slot in weak scaling.
    images_per_slot: f64,
    prices: PriceSheet,
    #[serde(skip)]
    cost_unit: Option<CostUnit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_unknown: Option<String>,
    configurations: Vec<ScaledConfiguration>,
    /// Warnings about the samples; warnings about a configuration are in its row.
    warnings: Vec<Warning>,
}

/// A configuration in strong and in weak scaling.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ScaledConfiguration {
    executors: u32,
    cores_per_executor: u32,
    memory_per_executor_mib: u32,
    cost: Option<f64>,
    cost_factor: Option<f64>,
    strong: Scaled,
    weak: Scaled,
    exclusion: Option<Exclusion>,
    warnings: Vec<Warning>,
}

/// Time and gain of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Scaled {
    sampling_rate: f64,
    completion_time_secs: Option<f64>,
    interval: Option<Interval>,
    speed_up: Option<f64>,
    speed_up_interval: Option<Bounds>,
    efficiency: Option<f64>,
    /// Measured values of the configuration; `None` if all values are predicted.
    measured: Option<Measured>,
}

/// Interval of a number without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Bounds {
    lower: f64,
    upper: f64,
}

impl ScalingAnswer {
    /// Compares the configurations of a question.
    ///
    /// # Errors
    /// There is no candidate configuration, or no time is known.
    pub fn new(job: &Job, predictor: &Arc<Predictor>, question: &Question) -> anyhow::Result<Self> {
        // A clone would not share its fits with the warnings below.
        let scaling = Scaling::of(predictor, job, question).map_err(|error| unusable(error.to_string()))?;
        let Some(Scaling { smallest: (executors, cores_per_executor), images_per_slot, rows }) = scaling else {
            anyhow::bail!(
                "no configuration is known to have a time and to fit into its memory; `foreglow plan` says why"
            )
        };
        let is_smallest = |row: &&ScalingRow| {
            let placement = row.candidate.placement;
            (placement.executors, placement.cores_per_executor) == (executors, cores_per_executor)
        };
        let definition = JobDefinition::of(&job.context);
        Ok(Self {
            schema: SCHEMA,
            context: job.context.clone(),
            predictor: Predictor::NAME,
            cost_unit: rows.iter().find(is_smallest).and_then(|row| row.candidate.cost_unit(&definition)),
            smallest: WhatIf { executors, cores_per_executor },
            images_per_slot,
            prices: question.prices.clone(),
            cost_unknown: cost_unknown(&question.prices, job.context.accelerator.as_deref()),
            configurations: rows.into_iter().map(ScaledConfiguration::of).collect(),
            warnings: predictor.warnings(),
        })
    }

    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn table(&self) -> String {
        let WhatIf { executors, cores_per_executor } = self.smallest;
        let smallest = CoreSplit::even(executors, cores_per_executor);
        let (images, noun) = (self.context.workload.images, self.context.workload.noun());
        let interval = self.configurations.iter().find_map(|row| row.strong.interval.as_ref());
        let interval =
            interval.map_or_else(|| "<interval".into(), |interval| format!("<{} interval", probability(interval)));
        let is_excluded = |row: &ScaledConfiguration| row.exclusion.is_some();
        let memory = if self.configurations.iter().any(is_excluded) { "<memory" } else { "" };
        let columns = |last| {
            aligned([
                "executors",
                "cores",
                "time",
                &interval,
                "<measured",
                "speed-up",
                "<interval",
                "efficiency",
                last,
                memory,
            ])
        };
        let cells = |row: &ScaledConfiguration, scaled: &Scaled, last: String| {
            let counts = [row.executors, row.cores_per_executor].map(|count| count.to_string());
            let memory = if is_excluded(row) { "out of memory" } else { "" };
            counts.into_iter().chain(scaled.cells()).chain([last, memory.to_owned()]).collect()
        };
        let strong = |row: &ScaledConfiguration| cells(row, &row.strong, row.cost_factor.map_or_else(unknown, times));
        let weak = |row: &ScaledConfiguration| {
            cells(row, &row.weak, format_integer((images as f64 * row.weak.sampling_rate) as u64))
        };
        let mut text = format!(
            "{}\n\nStrong scaling: the same {noun} on each configuration. Speed-up and cost relative to {smallest}.\n\n{}",
            self.context.title(),
            titled_table(&columns("cost"), self.configurations.iter().map(strong)),
        );
        text.push_str(&format!(
            "\nWeak scaling: {} {noun} for each slot (executors × cores). Speed-up in {noun} per second.\n\n{}",
            format_integer(self.images_per_slot.round() as u64),
            titled_table(&columns(noun), self.configurations.iter().map(weak)),
        ));
        text.push_str("\nTimes are predicted; the median of the runs is beside them where the same was measured.\n");
        let prices = &self.prices;
        let smallest = self.configurations.iter().find(|row| row.is(self.smallest) && row.cost.is_some());
        let cost = smallest.map(|row| row.told_cost(&prices.currency, self.cost_unit.as_ref()));
        if let Some(cost) = cost {
            text.push_str(&format!("Cost of 1.00×: {cost} ({}, {}).\n", prices.name, prices.date));
        }
        text.push_str(&self.cost_unknown.as_deref().map_or_else(String::new, cost_note));
        text + &notes(&[self.common_warnings(), self.warnings.clone()].concat())
    }

    /// Returns the warnings of the configurations without duplicates.
    fn common_warnings(&self) -> Vec<Warning> {
        let mut distinct: Vec<Warning> = Vec::new();
        for warning in self.configurations.iter().flat_map(|row| &row.warnings) {
            if !distinct.contains(warning) {
                distinct.push(warning.clone());
            }
        }
        distinct
    }

    fn csv(&self) -> String {
        let columns = "scaling,executors=row.executors,cores_per_executor=row.cores_per_executor,\
            memory_per_executor_mib=row.memory_per_executor_mib,sampling_rate=of.sampling_rate,\
            completion_time_secs=of.completion_time_secs,lower_secs=of.interval.lower_secs,\
            upper_secs=of.interval.upper_secs,speed_up=of.speed_up,speed_up_lower=of.speed_up_interval.lower,\
            speed_up_upper=of.speed_up_interval.upper,efficiency=of.efficiency,measured_runs=of.measured.runs,\
            measured_secs=of.measured.completion_time_secs,measured_speed_up=of.measured.speed_up,cost,cost_factor,\
            currency,out_of_memory";
        let row = |scaling: &str, row: &ScaledConfiguration, of: &Scaled, costs: [Option<f64>; 2]| {
            json!({
                "scaling": scaling, "row": row, "of": of, "cost": costs[0], "cost_factor": costs[1],
                "currency": self.prices.currency, "out_of_memory": row.exclusion.is_some(),
            })
        };
        let strong = self.configurations.iter().map(|it| row("strong", it, &it.strong, [it.cost, it.cost_factor]));
        let weak = self.configurations.iter().map(|it| row("weak", it, &it.weak, [None; 2]));
        csv_of(columns, strong.chain(weak))
    }
}

impl ScaledConfiguration {
    fn of(row: ScalingRow) -> Self {
        let ScalingRow { candidate, strong, cost_factor, weak: WeakScaling { sampling_rate, prediction, gain } } = row;
        let (secs, interval) = (candidate.prediction.completion_time_secs, candidate.prediction.interval);
        Self {
            executors: candidate.placement.executors,
            cores_per_executor: candidate.placement.cores_per_executor,
            memory_per_executor_mib: candidate.placement.memory_per_executor_mib,
            cost: candidate.cost,
            cost_factor,
            strong: Scaled::of(1.0, secs, interval, strong),
            weak: Scaled::of(sampling_rate, prediction.completion_time_secs, prediction.interval, gain),
            exclusion: candidate.exclusion,
            warnings: candidate.prediction.warnings,
        }
    }

    fn told_cost(&self, currency: &str, unit: Option<&CostUnit>) -> String {
        let Scaled { completion_time_secs: secs, interval, .. } = &self.strong;
        told_cost(self.cost, *secs, interval.as_ref(), currency, unit)
    }

    fn is(&self, configuration: WhatIf) -> bool {
        (self.executors, self.cores_per_executor) == (configuration.executors, configuration.cores_per_executor)
    }
}

impl Scaled {
    fn of(sampling_rate: f64, secs: Option<f64>, interval: Option<Interval>, gain: Gain) -> Self {
        let Gain { speed_up, interval: bounds, efficiency, measured } = gain;
        Self {
            sampling_rate,
            completion_time_secs: secs,
            interval,
            speed_up,
            speed_up_interval: bounds.map(|(lower, upper)| Bounds { lower, upper }),
            efficiency,
            measured,
        }
    }

    /// Returns the cells from the time to the efficiency.
    fn cells(&self) -> [String; 6] {
        let measured = self.measured.map(|Measured { runs, completion_time_secs, .. }| {
            // With the digits of the prediction beside it.
            format!(
                "{} ({})",
                format_time(Some(completion_time_secs), self.interval.as_ref()),
                format_count(runs, "run")
            )
        });
        let bounds = self.speed_up_interval.map(|Bounds { lower, upper }| format!("{lower:.2} to {upper:.2}"));
        [
            format_time(self.completion_time_secs, self.interval.as_ref()),
            self.interval.as_ref().map_or_else(unknown, range),
            measured.unwrap_or_default(),
            self.speed_up.map_or_else(unknown, times),
            bounds.unwrap_or_default(),
            self.efficiency.map_or_else(unknown, |share| format!("{:.0} %", share * 100.0)),
        ]
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// Formats a factor: `1.85×`.
fn times(factor: f64) -> String {
    format!("{factor:.2}×")
}
