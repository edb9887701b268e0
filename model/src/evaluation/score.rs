//! Errors of predictions, summed up.

use serde::Serialize;

/// What a predictor says about one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answer {
    /// Seconds; `None` where it cannot say.
    pub secs: Option<f64>,
    /// Lower and upper end of its interval, seconds.
    pub interval: Option<(f64, f64)>,
    /// Whether a number of the question lies beyond the range of the fitted runs.
    pub is_beyond: bool,
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
    /// The same as counts, by how the tested run lies to the fitted ones; `None` without intervals.
    pub coverage: Option<Coverage>,
    /// Runs with a prediction.
    pub tested: usize,
    /// Runs that the predictor could not say anything about, which are in none of the figures.
    pub unknown: usize,
}

/// How often an interval held what was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Of runs within the ranges that were fitted.
    pub within: Held,
    /// Of runs beyond one of them.
    pub beyond: Held,
}

/// Tested runs with an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Held {
    /// Those that lie inside it.
    pub held: usize,
    /// All.
    pub tested: usize,
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
    let mut coverage = Coverage::default();
    for Outcome { measured_secs, answer } in outcomes {
        let Some((lower, upper)) = answer.interval else { continue };
        let part = if answer.is_beyond { &mut coverage.beyond } else { &mut coverage.within };
        part.tested += 1;
        part.held += usize::from((lower..=upper).contains(measured_secs));
    }
    let has_intervals = coverage.all().tested > 0;
    Score {
        mape_percent: (tested > 0).then(|| errors.iter().sum::<f64>() / tested as f64),
        median_ape_percent: (tested > 0).then(|| errors[(tested - 1) / 2] / 2.0 + errors[tested / 2] / 2.0),
        coverage_percent: coverage.all().percent(),
        coverage: has_intervals.then_some(coverage),
        tested,
        unknown: outcomes.len() - tested,
    }
}

impl Coverage {
    /// Within and beyond.
    pub fn all(&self) -> Held {
        Held { held: self.within.held + self.beyond.held, tested: self.within.tested + self.beyond.tested }
    }
}

impl Held {
    /// Share of the tested runs, percent; `None` of none.
    pub fn percent(&self) -> Option<f64> {
        (self.tested > 0).then(|| 100.0 * self.held as f64 / self.tested as f64)
    }
}
