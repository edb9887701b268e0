//! The published scenarios side by side on what was measured.

use std::ops::ControlFlow;

use foreglow_shared::{Context, Observation};
use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;
use crate::learner::{Cancelled, Fold, Grid, Work};
use crate::published::fitting::{self, held_by};
use crate::published::row::{Row, average, average_apart};
use crate::published::{Choice, Curve, Halt, Scenario};
use crate::{FitError, Setting, mape};

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

/// Measured seconds, and predicted ones where there are any.
type Tested = Vec<(f64, Option<f64>)>;

/// Fits every scenario on the runs that it trains on, with the techniques of `grid` at each place, and tests it: those
/// that learn from samples of the images (1, 2, 4-1, 4-2) on the runs over all images, the others (baseline, 3-1, 3-2) on
/// their own rows, each predicted by a fit that was tuned and trained without it (leave-one-out; in 64 folds where there
/// are more than 64 rows).
///
/// `clock` tells seconds since any fixed moment; it is asked before and after each scenario is tuned and trained. `watch`
/// is told after each step of the work how many steps are done and how many there are; it ends the work by breaking.
/// Rows come as the paper lists them. A scenario that cannot be fitted or tested keeps its row, with the reason.
///
/// On one machine, runs with more task threads than processors, or executors than accelerators, are left out where the others suffice, and such
/// configurations are predicted as the fastest of the fitted ones within them.
///
/// # Errors
/// `watch` broke off.
pub fn scenario_table(
    context: &Context,
    observations: &[Observation],
    grid: Grid,
    clock: &mut dyn FnMut() -> f64,
    watch: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Vec<ScenarioRow>, Cancelled> {
    let bench = Bench { capacity: Capacity::of(context), observations, grid };
    let total = Scenario::ALL.iter().map(|scenario| bench.steps(*scenario)).sum();
    let mut work = Work::new(total, watch);
    Scenario::ALL.iter().map(|scenario| bench.row(*scenario, clock, &mut work)).collect()
}

/// One row of [`scenario_table`].
///
/// # Errors
/// `watch` broke off.
pub fn scenario_row(
    scenario: Scenario,
    context: &Context,
    observations: &[Observation],
    grid: Grid,
    clock: &mut dyn FnMut() -> f64,
    watch: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<ScenarioRow, Cancelled> {
    let bench = Bench { capacity: Capacity::of(context), observations, grid };
    let mut work = Work::new(bench.steps(scenario), watch);
    bench.row(scenario, clock, &mut work)
}

/// What all scenarios are tried on.
struct Bench<'a> {
    capacity: Option<Capacity>,
    observations: &'a [Observation],
    grid: Grid,
}

impl Bench<'_> {
    /// The rows of a scenario: those that it trains on, and the whole jobs.
    fn rows(&self, scenario: Scenario) -> Result<(Vec<Row>, Vec<Row>), FitError> {
        let rows = if scenario.keeps_resources() { average_apart } else { average }(self.observations)?;
        let whole: Vec<Row> = rows.iter().filter(|row| row.setting.sampling_rate == 1.0).copied().collect();
        let seen = rows.into_iter().filter(|row| scenario.trains_at(row.setting.sampling_rate)).collect();
        Ok((seen, whole))
    }

    /// Steps of work at most.
    fn steps(&self, scenario: Scenario) -> u64 {
        let Ok((seen, _)) = self.rows(scenario) else { return 0 };
        let folds = if scenario.learns_whole_jobs() { Fold::all(seen.len()).count() as u64 } else { 0 };
        (1 + folds) * scenario.places() * self.grid.steps()
    }

    fn row(
        &self,
        scenario: Scenario,
        clock: &mut dyn FnMut() -> f64,
        work: &mut Work<'_>,
    ) -> Result<ScenarioRow, Cancelled> {
        let end = work.done() + self.steps(scenario);
        let row = match self.tested(scenario, clock, work) {
            Ok(row) => row,
            Err(Halt::Fit(error)) => unfitted(scenario, error.to_string()),
            Err(Halt::Cancelled) => return Err(Cancelled),
        };
        work.move_to(end)?;
        Ok(row)
    }

    /// Fits and tests a scenario.
    fn tested(
        &self,
        scenario: Scenario,
        clock: &mut dyn FnMut() -> f64,
        work: &mut Work<'_>,
    ) -> Result<ScenarioRow, Halt> {
        let (seen, whole) = self.rows(scenario)?;
        let start = clock();
        let (curve, choices, fitted) = self.train(scenario, seen, work)?;
        let t2_secs = clock() - start;
        let tested = if scenario.learns_whole_jobs() {
            self.leave_out(scenario, &fitted, work)?
        } else {
            whole.iter().map(|row| (row.secs, self.predict(&curve, &fitted, row))).collect()
        };
        let (mape_percent, reason) = match error(&tested) {
            Ok(percent) => (Some(percent), None),
            Err(reason) => (None, Some(reason)),
        };
        let t1_secs = collecting_secs(&fitted, self.observations);
        Ok(ScenarioRow {
            scenario,
            choices,
            fitted: fitted.len(),
            tested: tested.len(),
            accuracy_percent: mape_percent.map(|percent| 100.0 - percent),
            mape_percent,
            t1_secs,
            t2_secs,
            total_secs: t1_secs + t2_secs,
            reason,
        })
    }

    /// Tunes and trains on the rows that the machine holds, or on all where those do not suffice.
    fn train(
        &self,
        scenario: Scenario,
        seen: Vec<Row>,
        work: &mut Work<'_>,
    ) -> Result<(Curve, Vec<Choice>, Vec<Row>), Halt> {
        if let Some(capacity) = self.capacity {
            let held = held_by(capacity, &seen);
            if held.len() < seen.len() {
                match Curve::fit(scenario, &held, self.grid, work) {
                    Ok((curve, choices)) => return Ok((curve, choices, held)),
                    Err(Halt::Cancelled) => return Err(Halt::Cancelled),
                    Err(Halt::Fit(_)) => {}
                }
            }
        }
        let (curve, choices) = Curve::fit(scenario, &seen, self.grid, work)?;
        Ok((curve, choices, seen))
    }

    /// Each row, predicted by a fit without its fold.
    fn leave_out(&self, scenario: Scenario, rows: &[Row], work: &mut Work<'_>) -> Result<Tested, Cancelled> {
        let mut tested = vec![(0.0, None); rows.len()];
        for fold in Fold::all(rows.len()) {
            let kept: Vec<Row> =
                rows.iter().enumerate().filter(|(index, _)| !fold.has(*index)).map(|(_, row)| *row).collect();
            let curve = match Curve::refit(scenario, &kept, self.grid, work) {
                Ok((curve, _)) => Some(curve),
                Err(Halt::Fit(_)) => None,
                Err(Halt::Cancelled) => return Err(Cancelled),
            };
            for (index, row) in rows.iter().enumerate().filter(|(index, _)| fold.has(*index)) {
                tested[index] = (row.secs, curve.as_ref().and_then(|curve| self.predict(curve, &kept, row)));
            }
        }
        Ok(tested)
    }

    fn predict(&self, curve: &Curve, fitted: &[Row], row: &Row) -> Option<f64> {
        fitting::secs(self.capacity, curve, fitted, row)
    }
}

fn unfitted(scenario: Scenario, reason: String) -> ScenarioRow {
    ScenarioRow {
        scenario,
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
    // By E, C and SR, as the rows come.
    let trained_on = |run: &&Observation| rows.binary_search_by(|row| row.setting.order(&Setting::of(run))).is_ok();
    let mut secs: Vec<f64> = observations
        .iter()
        .filter(trained_on)
        .map(|run| run.completion_time_secs + run.startup_secs.unwrap_or(0.0))
        .collect();
    secs.sort_by(f64::total_cmp);
    secs.iter().sum::<f64>() + 0.0
}
