//! The published scenarios side by side on what was measured.

use foreglow_shared::{Context, Observation};
use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;
use crate::row::{Row, average};
use crate::trained::Trained;
use crate::{Choice, Setting, mape};

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

/// Fits every scenario on the runs that it trains on and tests it: scenario 4-2 on the runs at sampling rate 1, the
/// baseline on its own rows, each predicted by a fit that was tuned and trained without it (leave-one-out; in 64 folds
/// where there are more than 64 rows).
///
/// `clock` tells seconds since any fixed moment; it is asked before and after each scenario is tuned and trained.
/// Rows come as the paper lists them. A scenario that cannot be fitted or tested keeps its row, with the reason.
pub fn scenario_table(
    context: &Context,
    observations: &[Observation],
    clock: &mut dyn FnMut() -> f64,
) -> Vec<ScenarioRow> {
    let scenarios = [Scenario::Baseline, Scenario::FourTwo];
    let rows = match average(observations) {
        Ok(rows) => rows,
        Err(error) => return scenarios.map(|scenario| scenario.unfitted(error.to_string())).to_vec(),
    };
    let capacity = Capacity::of(context);
    let mut row = |scenario: Scenario| {
        let start = clock();
        let trained = Trained::fit(scenario, capacity, &rows);
        let t2_secs = clock() - start;
        match trained {
            Ok(trained) => scenario.test(trained, &rows, observations, t2_secs),
            Err(error) => scenario.unfitted(error.to_string()),
        }
    };
    scenarios.map(&mut row).to_vec()
}

impl Scenario {
    fn unfitted(self, reason: String) -> ScenarioRow {
        ScenarioRow {
            scenario: self,
            choices: Vec::new(),
            fitted: 0,
            tested: 0,
            accuracy_percent: None,
            mape_percent: None,
            t1_secs: 0.0,
            t2_secs: 0.0,
            total_secs: 0.0,
            reason: Some(reason),
        }
    }

    fn test(self, trained: Trained, rows: &[Row], observations: &[Observation], t2_secs: f64) -> ScenarioRow {
        let fitted = trained.rows.len();
        let t1_secs = collecting_secs(&trained.rows, observations);
        let choices = trained.choices.clone();
        let runs: Vec<(f64, Option<f64>)> = match self {
            Self::Baseline => trained.held_out(),
            Self::FourTwo => {
                let whole = rows.iter().filter(|row| row.setting.sampling_rate == 1.0);
                whole.map(|row| (row.secs, trained.secs(row.setting))).collect()
            }
        };
        let (mape_percent, reason) = match error(&runs) {
            Ok(percent) => (Some(percent), None),
            Err(reason) => (None, Some(reason)),
        };
        ScenarioRow {
            scenario: self,
            choices,
            fitted,
            tested: runs.len(),
            accuracy_percent: mape_percent.map(|percent| 100.0 - percent),
            mape_percent,
            t1_secs,
            t2_secs,
            total_secs: t1_secs + t2_secs,
            reason,
        }
    }
}

/// MAPE of measured and predicted seconds, or why there is none.
fn error(runs: &[(f64, Option<f64>)]) -> Result<f64, String> {
    if runs.is_empty() {
        return Err("no sample has sampling rate 1 to test it on; collect a configuration at sampling rate 1".into());
    }
    let known: Vec<(f64, f64)> = runs.iter().filter_map(|(t, predicted)| Some((*t, (*predicted)?))).collect();
    if known.len() < runs.len() {
        let unknown = runs.len() - known.len();
        return Err(format!(
            "the time of {unknown} of {} tested configurations is unknown; collect samples nearer to them",
            runs.len()
        ));
    }
    let (actual, predicted): (Vec<f64>, Vec<f64>) = known.into_iter().unzip();
    mape(&actual, &predicted).map_err(|error| error.to_string())
}

/// t1: start-up and completion of every run behind the rows, summed in an order of their own.
fn collecting_secs(rows: &[Row], observations: &[Observation]) -> f64 {
    let trained_on = |run: &&Observation| rows.binary_search_by(|row| row.setting.order(&Setting::of(run))).is_ok();
    let mut secs: Vec<f64> = observations
        .iter()
        .filter(trained_on)
        .map(|run| run.completion_time_secs + run.startup_secs.unwrap_or(0.0))
        .collect();
    secs.sort_by(f64::total_cmp);
    secs.iter().sum::<f64>() + 0.0
}
