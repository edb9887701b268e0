//! Answer of the demo: samples, scenarios, the decision, and a prediction with its measurement.

use foreglow_model::{Interval, Prediction, ScenarioRow, format_time};
use foreglow_shared::{CoreSplit, Sample, format_percent};
use serde::Serialize;

use super::plan::Row;
use super::{PlanAnswer, SCHEMA, ScenarioTableAnswer};
use crate::output::Format;

/// Answer of the demo.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DemoAnswer {
    schema: u32,
    samples: Vec<Sample>,
    /// Absent without `--scenarios`.
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario_table: Option<Vec<ScenarioRow>>,
    recommendation: Option<Row>,
    check: Check,
    link: String,
    decision: PlanAnswer,
    #[serde(skip)]
    scenarios: Option<ScenarioTableAnswer>,
}

/// A configuration left out of the fit, predicted and then measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    executors: u32,
    cores_per_executor: u32,
    sampling_rate: f64,
    predicted_secs: Option<f64>,
    interval: Option<Interval>,
    measured_secs: Option<f64>,
    /// Prediction of the table, which was fitted with this run as well.
    predicted_with_it_secs: Option<f64>,
    #[serde(skip)]
    interval_with_it: Option<Interval>,
    /// |measured − predicted| ÷ measured.
    error_percent: Option<f64>,
}

impl Check {
    /// Compares a prediction with the run that it was made for. `with_it` is the prediction from
    /// all samples, that run included.
    pub fn new(prediction: &Prediction, sample: &Sample, with_it: &Prediction) -> Self {
        let (predicted_secs, measured_secs) = (prediction.completion_time_secs, sample.completed_secs());
        Self {
            executors: sample.configuration.executors,
            cores_per_executor: sample.configuration.cores_per_executor,
            sampling_rate: sample.sampling_rate,
            predicted_secs,
            interval: prediction.interval,
            measured_secs,
            predicted_with_it_secs: with_it.completion_time_secs,
            interval_with_it: with_it.interval,
            error_percent: predicted_secs
                .zip(measured_secs)
                .map(|(predicted, measured)| (measured - predicted).abs() / measured * 100.0),
        }
    }

    fn table(&self) -> String {
        format!(
            "CHECK: the whole job on {}, predicted without any run on it\n  \
             predicted {}, measured {}: {} off\n  \
             The table above says {}, because it was fitted with that run as well.\n",
            CoreSplit::even(self.executors, self.cores_per_executor),
            format_time(self.predicted_secs, self.interval.as_ref()),
            format_time(self.measured_secs, None),
            self.error_percent.map_or_else(|| "unknown".into(), format_percent),
            format_time(self.predicted_with_it_secs, self.interval_with_it.as_ref())
        )
    }
}

impl DemoAnswer {
    /// Assembles the answer.
    pub fn new(
        samples: Vec<Sample>,
        scenarios: Option<ScenarioTableAnswer>,
        decision: PlanAnswer,
        check: Check,
        link: String,
    ) -> Self {
        Self {
            schema: SCHEMA,
            samples,
            scenario_table: scenarios.as_ref().map(|table| table.scenarios.clone()),
            recommendation: decision.recommended.clone(),
            check,
            link,
            decision,
            scenarios,
        }
    }

    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, |answer| answer.decision.render(Format::Csv))
    }

    fn table(&self) -> String {
        let (decision, check) = (self.decision.table(), self.check.table());
        let scenarios = self.scenarios.as_ref().map_or_else(String::new, |table| format!("{}\n", table.body()));
        format!("{decision}\n{check}\n{scenarios}The answer as a link, for a colleague:\n{}\n", self.link)
    }
}
