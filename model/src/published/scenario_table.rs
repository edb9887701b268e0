//! Accuracy of the published scenarios on measured runs.

use std::ops::ControlFlow;

use foreglow_learner::{Cancelled, Fold, Grid, Work};
use foreglow_shared::{Context, Observation};
use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;
use crate::published::row::{AveragedRun, average, average_apart};
use crate::published::{Choice, Curve, Halt, Scenario};
use crate::{FitError, Setting, mape};

/// Accuracy and cost of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioRow {
    /// The scenario.
    pub scenario: Scenario,
    /// The technique chosen for each place; empty if the scenario could not be fitted.
    pub choices: Vec<Choice>,
    /// Number of training rows, with repeats averaged.
    pub fitted: usize,
    /// Number of test rows whose time the scenario predicts, with repeats averaged.
    pub tested: usize,
    /// 100 − MAPE, percent.
    pub accuracy_percent: Option<f64>,
    /// Mean absolute percentage error over those rows, percent.
    pub mape_percent: Option<f64>,
    /// t1: time to collect the training samples, start-up included, seconds.
    pub t1_secs: f64,
    /// t2: time to tune and train, seconds.
    pub t2_secs: f64,
    /// T = t1 + t2, seconds.
    pub total_secs: f64,
    /// Why there is no accuracy, or which test rows it lacks, and what to collect; `None` if it has
    /// all.
    pub reason: Option<String>,
}

/// Measured and, if known, predicted times, seconds.
type Tested = Vec<(f64, Option<f64>)>;

/// Fits and tests every scenario, with the techniques of `grid` at each place; rows are in the
/// order of the paper.
///
/// Scenarios that train on samples (1, 2, 4-1, 4-2) are tested on whole jobs. The others (baseline,
/// 3-1, 3-2) are tested by cross-validation with tuning inside: leave-one-out, or 64 folds above 64
/// rows. A scenario that cannot be fitted or tested keeps its row with the reason.
///
/// `clock` returns seconds since any fixed moment; it is read before and after each scenario is
/// tuned and trained. `watch` receives the number of completed steps and of all steps, and cancels
/// the work by returning `Break`.
///
/// On one machine, oversubscribed runs are left out of the training data if the others suffice, and
/// oversubscribed configurations are predicted as the fastest fitted one within the limit.
///
/// # Errors
/// [`Cancelled`]: `watch` cancelled the work.
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

/// Returns one row of [`scenario_table`].
///
/// # Errors
/// [`Cancelled`]: `watch` cancelled the work.
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

/// Input common to all scenarios.
struct Bench<'a> {
    capacity: Option<Capacity>,
    observations: &'a [Observation],
    grid: Grid,
}

impl Bench<'_> {
    /// Returns the training rows of a scenario and the whole jobs.
    fn rows(&self, scenario: Scenario) -> Result<(Vec<AveragedRun>, Vec<AveragedRun>), FitError> {
        let rows = if scenario.keeps_resources() { average_apart } else { average }(self.observations)?;
        let whole: Vec<AveragedRun> = rows.iter().filter(|row| row.setting.sampling_rate == 1.0).copied().collect();
        let seen = rows.into_iter().filter(|row| scenario.trains_at(row.setting.sampling_rate)).collect();
        Ok((seen, whole))
    }

    /// Returns the number of steps of work, at most.
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
        let known: Vec<(f64, f64)> = tested.iter().filter_map(|(t, predicted)| Some((*t, (*predicted)?))).collect();
        let (mape_percent, reason) = error(&known, tested.len());
        let t1_secs = collecting_secs(&fitted, self.observations);
        Ok(ScenarioRow {
            scenario,
            choices,
            fitted: fitted.len(),
            tested: known.len(),
            accuracy_percent: mape_percent.map(|percent| 100.0 - percent),
            mape_percent,
            t1_secs,
            t2_secs,
            total_secs: t1_secs + t2_secs,
            reason,
        })
    }

    /// Tunes and trains without oversubscribed rows, or with them if the others do not suffice.
    fn train(
        &self,
        scenario: Scenario,
        seen: Vec<AveragedRun>,
        work: &mut Work<'_>,
    ) -> Result<(Curve, Vec<Choice>, Vec<AveragedRun>), Halt> {
        if let Some(capacity) = self.capacity {
            let held: Vec<AveragedRun> =
                seen.iter().filter(|row| !capacity.is_exceeded_by(row.setting)).copied().collect();
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

    /// Predicts each row by cross-validation.
    fn leave_out(&self, scenario: Scenario, rows: &[AveragedRun], work: &mut Work<'_>) -> Result<Tested, Cancelled> {
        let mut tested = vec![(0.0, None); rows.len()];
        for fold in Fold::all(rows.len()) {
            let kept: Vec<AveragedRun> =
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

    fn predict(&self, curve: &Curve, fitted: &[AveragedRun], row: &AveragedRun) -> Option<f64> {
        match self.capacity {
            Some(capacity) => curve.at_within(capacity, fitted, row),
            None => curve.at(row),
        }
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

/// Returns the MAPE of the `known` ones of `asked` predictions, percent, and why it is undefined or
/// which predictions it lacks.
fn error(known: &[(f64, f64)], asked: usize) -> (Option<f64>, Option<String>) {
    if asked == 0 {
        let reason = "there is no sample at sampling rate 1 to test it on; collect a configuration at sampling rate 1";
        return (None, Some(reason.into()));
    }
    let unknown = (known.len() < asked).then(|| {
        let count = asked - known.len();
        format!("the time of {count} of {asked} tested configurations is unknown; collect samples nearer to them")
    });
    if known.is_empty() {
        return (None, unknown);
    }
    let (actual, predicted): (Vec<f64>, Vec<f64>) = known.iter().copied().unzip();
    match mape(&actual, &predicted) {
        Ok(percent) => (Some(percent), unknown),
        Err(error) => (None, Some(error.to_string())),
    }
}

/// Returns t1, seconds: the start-up and completion times of all runs behind the rows, summed in an
/// order that does not depend on the order of the runs.
fn collecting_secs(rows: &[AveragedRun], observations: &[Observation]) -> f64 {
    // The rows are sorted by E, C and SR.
    let trained_on = |run: &&Observation| rows.binary_search_by(|row| row.setting.order(&Setting::of(run))).is_ok();
    let mut secs: Vec<f64> = observations
        .iter()
        .filter(trained_on)
        .map(|run| run.completion_time_secs + run.startup_secs.unwrap_or(0.0))
        .collect();
    secs.sort_unstable_by(f64::total_cmp);
    secs.iter().sum::<f64>() + 0.0
}
