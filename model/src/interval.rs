//! Prediction intervals by the jackknife+.
//!
//! Source: Barber, Candès, Ramdas and Tibshirani, "Predictive inference with the jackknife+", Annals of Statistics
//! 49(1), 2021: §1.2 (jackknife+) and §1.3 (CV+, where rows are held out by folds).

use serde::{Deserialize, Serialize};

use crate::curve::Curve;
use crate::row::Row;
use crate::{Interval, Scenario, Setting, Spread};

/// Folds at most: up to so many rows each is held out alone (jackknife+), beyond that in folds (CV+).
const MAX_FOLDS: usize = 64;
/// Nominal probability, in tenths.
const TENTHS: usize = 9;
/// Rows at least: with fewer, a refit without one has nothing to learn from.
const MIN_ROWS: usize = 3;

/// A refit without some rows, and how it predicts them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeldOut {
    /// `None` where the other rows cannot be fitted.
    curve: Option<Curve>,
    /// The rows that were held out.
    pub(crate) runs: Vec<HeldOutRun>,
}

/// A row that was predicted without it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeldOutRun {
    pub(crate) measured_secs: f64,
    /// `None` where the refit cannot say.
    pub(crate) predicted_secs: Option<f64>,
}

/// Refits the scenario, hyper-parameters and all, without each row (or fold of rows) in turn.
pub(crate) fn hold_out(scenario: Scenario, rows: &[Row]) -> Vec<HeldOut> {
    let folds = rows.len().min(MAX_FOLDS);
    let refit = |fold: usize| {
        let (out, kept): (Vec<_>, Vec<_>) = rows.iter().enumerate().partition(|(index, _)| index % folds == fold);
        let kept: Vec<Row> = kept.into_iter().map(|(_, row)| *row).collect();
        let curve = Curve::refit(scenario, &kept).ok().map(|(curve, _)| curve);
        let predict = |row: &Row| HeldOutRun {
            measured_secs: row.secs,
            predicted_secs: curve.as_ref().and_then(|curve| curve.secs(row.setting)),
        };
        let runs = out.into_iter().map(|(_, row)| predict(row)).collect();
        HeldOut { curve, runs }
    };
    (0..folds).map(refit).collect()
}

/// The interval at a setting whose time is predicted as `secs`.
///
/// The score of a row is its relative error |t − t̂|/t̂, since errors grow with times, which span orders of magnitude;
/// each held-out row i then votes for t̂₋ᵢ·(1 − rᵢ) and t̂₋ᵢ·(1 + rᵢ). Of n votes the upper end is the ⌈p(n + 1)⌉-th
/// smallest and the lower end the ⌊(1 − p)(n + 1)⌋-th, so that n rows support a probability p of at most n/(n + 1).
/// `None` where rows are fewer than three or the upper end is unbounded. The guarantee presumes rows exchangeable with
/// the asked setting; the coverage where they are not, as when the sampling rate is larger, has not been measured yet.
pub(crate) fn interval(held_out: &[HeldOut], setting: Setting, secs: f64) -> Option<Interval> {
    let rows: usize = held_out.iter().map(|fold| fold.runs.len()).sum();
    if rows < MIN_ROWS {
        return None;
    }
    let rank = (TENTHS * (rows + 1)).div_ceil(10).min(rows);
    let probability = (TENTHS as f64 / 10.0).min(rows as f64 / (rows as f64 + 1.0));
    let mut lower = Vec::with_capacity(rows);
    let mut upper = Vec::with_capacity(rows);
    for fold in held_out {
        let centre = fold.curve.as_ref().and_then(|curve| curve.secs(setting));
        for run in &fold.runs {
            let (low, high) = vote(centre, *run).unwrap_or((0.0, f64::INFINITY));
            lower.push(low);
            upper.push(high);
        }
    }
    lower.sort_by(f64::total_cmp);
    upper.sort_by(f64::total_cmp);
    // The ends of the jackknife+ need not enclose the prediction itself; a wider interval covers no less.
    let lower_secs = lower[rows - rank].min(secs);
    let upper_secs = upper[rank - 1].max(secs);
    upper_secs.is_finite().then_some(Interval { lower_secs, upper_secs, probability })
}

/// How held-out times are distributed about their predictions; `None` where rows are fewer than three.
pub(crate) fn spread(held_out: &[HeldOut]) -> Option<Spread> {
    let runs = || held_out.iter().flat_map(|fold| &fold.runs);
    let error = |run: &HeldOutRun| {
        run.predicted_secs.map_or(f64::INFINITY, |predicted| libm::log(run.measured_secs / predicted).abs())
    };
    (runs().count() >= MIN_ROWS).then(|| Spread::conformal(runs().map(error)).ok())?
}

fn vote(centre: Option<f64>, run: HeldOutRun) -> Option<(f64, f64)> {
    let centre = centre?;
    let predicted = run.predicted_secs?;
    let score = (run.measured_secs - predicted).abs() / predicted;
    Some(((centre * (1.0 - score)).max(0.0), centre * (1.0 + score)))
}
