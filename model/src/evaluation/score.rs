//! Errors of predictions, summed up.

use serde::Serialize;

/// What a predictor says about one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answer {
    /// Seconds; `None` where it cannot say.
    pub secs: Option<f64>,
    /// Lower and upper end of its interval, seconds.
    pub interval: Option<(f64, f64)>,
}

/// An answer beside what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Seconds, above 0.
    pub measured_secs: f64,
    /// What the predictor said without having seen it.
    pub answer: Answer,
}

/// How well a predictor did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// Mean of |t − t̂|/t over the tested runs, percent.
    pub mape_percent: Option<f64>,
    /// Median of |t − t̂|/t, percent.
    pub median_ape_percent: Option<f64>,
    /// Share of the tested runs with an interval that lie inside it, percent; `None` without intervals.
    pub coverage_percent: Option<f64>,
    /// Runs with a prediction.
    pub tested: usize,
    /// Runs that the predictor could not say anything about, which are in none of the figures.
    pub unknown: usize,
}

/// Sums up outcomes; their order changes no digit.
pub fn score(outcomes: &[Outcome]) -> Score {
    let error = |outcome: &Outcome| {
        let secs = outcome.answer.secs.filter(|secs| secs.is_finite())?;
        Some(100.0 * (outcome.measured_secs - secs).abs() / outcome.measured_secs)
    };
    let mut errors: Vec<f64> = outcomes.iter().filter_map(error).collect();
    errors.sort_by(f64::total_cmp);
    let tested = errors.len();
    let inside = |outcome: &Outcome| {
        let (lower, upper) = outcome.answer.interval?;
        Some((lower..=upper).contains(&outcome.measured_secs))
    };
    let inside: Vec<bool> = outcomes.iter().filter_map(inside).collect();
    let share = |of: usize, all: usize| (all > 0).then(|| 100.0 * of as f64 / all as f64);
    Score {
        mape_percent: (tested > 0).then(|| errors.iter().sum::<f64>() / tested as f64),
        median_ape_percent: (tested > 0).then(|| errors[(tested - 1) / 2] / 2.0 + errors[tested / 2] / 2.0),
        coverage_percent: share(inside.iter().filter(|inside| **inside).count(), inside.len()),
        tested,
        unknown: outcomes.len() - tested,
    }
}
