//! Accuracy of each scenario on the samples, with collecting and training times.

use std::ops::ControlFlow;

use foreglow_model::{Grid, Scenario, ScenarioRow, Warning, scenario_row};
use foreglow_shared::{Context, Job, format_duration, format_percent};
use serde::Serialize;

use super::evaluation::results;
use super::{SCHEMA, notes};
use crate::evaluation::MethodResult;
use crate::output::Format;
use crate::table::{aligned, csv_of, table};

/// Comparison of the scenarios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioTableAnswer {
    schema: u32,
    context: Context,
    pub(super) scenarios: Vec<ScenarioRow>,
    /// The default predictor and its rivals, if requested and a whole job was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    predictors: Vec<MethodResult>,
    /// Samples that contradict each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

impl ScenarioTableAnswer {
    /// Fits and tests scenarios on a job's runs with the learners of a grid. `show` is called with
    /// the scenario, its finished steps and their total.
    ///
    /// # Errors
    /// The computation was cancelled, which does not happen here.
    pub fn new(
        job: &Job,
        scenarios: &[Scenario],
        grid: Grid,
        show: &dyn Fn(Scenario, u64, u64),
    ) -> anyhow::Result<Self> {
        let started = std::time::Instant::now();
        let mut clock = || started.elapsed().as_secs_f64();
        let row = |scenario: &Scenario| {
            let mut watch = |done, total| {
                show(*scenario, done, total);
                ControlFlow::Continue(())
            };
            scenario_row(*scenario, &job.context, &job.observations, grid, &mut clock, &mut watch)
        };
        Ok(Self {
            schema: SCHEMA,
            context: job.context.clone(),
            scenarios: scenarios.iter().map(row).collect::<Result<_, _>>()?,
            predictors: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// Adds the default predictor and its rivals.
    pub fn with_predictors(self, predictors: Vec<MethodResult>) -> Self {
        Self { predictors, ..self }
    }

    /// Adds warnings about the samples.
    pub fn warned(self, warnings: Vec<Warning>) -> Self {
        Self { warnings, ..self }
    }

    /// Fails with the reason if no scenario has an accuracy.
    ///
    /// # Errors
    /// The samples are too few for every scenario.
    pub fn check(&self) -> anyhow::Result<()> {
        // The table of the predictors is a complete answer on its own.
        if self.scenarios.iter().any(|row| row.accuracy_percent.is_some()) || !self.predictors.is_empty() {
            return Ok(());
        }
        let reason = self.scenarios.iter().find_map(|row| row.reason.as_deref());
        let reason = reason.unwrap_or("collect more samples");
        Err(foreglow_exit::unusable(format!("the samples are too few to test any scenario: {reason}")))
    }

    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn table(&self) -> String {
        let mut text = format!("{}\n\n{}", self.context.title(), self.body());
        if !self.predictors.is_empty() {
            text.push_str("\nFitted on samples of the images, tested on whole jobs:\n\n");
            text.push_str(&results(&self.predictors));
        }
        text + &notes(&self.warnings)
    }

    /// Renders the table without the job's title.
    pub(super) fn body(&self) -> String {
        let columns =
            aligned(["<scenario", "error (MAPE)", "fitted on", "tested on", "t1 collecting", "t2 training", "T"]);
        let cells = |row: &ScenarioRow| {
            vec![
                row.scenario.label().to_owned(),
                row.mape_percent.map_or_else(|| "unknown".into(), format_percent),
                row.fitted.to_string(),
                row.tested.to_string(),
                format_duration(row.t1_secs),
                format_duration(row.t2_secs),
                format_duration(row.total_secs),
            ]
        };
        let mut text = table(&columns, self.scenarios.iter().map(cells));
        let reasons = self.scenarios.iter().filter_map(|row| row.reason.as_ref().map(|reason| (row.scenario, reason)));
        for (scenario, reason) in reasons {
            text.push_str(&format!("\nScenario {}: {reason}.\n", scenario.label()));
        }
        let choices = self.choices();
        if !choices.is_empty() {
            let columns = aligned(["<scenario", "<place", "<technique", "leave-one-out error"]);
            text.push_str(&format!("\n{}", table(&columns, choices)));
        }
        text
    }

    fn choices(&self) -> Vec<Vec<String>> {
        let choices =
            self.scenarios.iter().flat_map(|row| row.choices.iter().map(move |choice| (row.scenario, choice)));
        let cells = |(scenario, choice): (Scenario, &foreglow_model::Choice)| {
            vec![
                scenario.label().to_owned(),
                choice.place.to_string(),
                choice.technique.to_string(),
                // The error is relative to the longest time, so its root is a share.
                format_percent(choice.loo_mse.sqrt() * 100.0),
            ]
        };
        choices.map(cells).collect()
    }

    fn csv(&self) -> String {
        let columns = "scenario,accuracy_percent,mape_percent,fitted,tested,t1_secs,t2_secs,total_secs,reason";
        csv_of(columns, &self.scenarios)
    }
}
