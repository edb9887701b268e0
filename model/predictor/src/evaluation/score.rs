//! Summary statistics of prediction errors.

use serde::Serialize;

use foreglow_numeric::median;

use crate::Prediction;

/// A prediction for one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answer {
    /// Predicted time, seconds; `None` if unknown.
    pub secs: Option<f64>,
    /// Lower and upper end of the interval, seconds.
    pub interval: Option<(f64, f64)>,
    /// Ratios of the true to the predicted time that are not exceeded with the probabilities 0.6,
    /// 0.7, 0.8 and 0.9; those of smaller ones are their inverses. `None` without a distribution.
    pub tenths: Option<[f64; 4]>,
    /// Whether a numeric feature is outside the range of the training runs (extrapolation).
    pub is_beyond: bool,
}

impl Answer {
    /// Returns the answer of a prediction.
    pub fn of(prediction: &Prediction, is_beyond: bool) -> Self {
        Self {
            secs: prediction.completion_time_secs,
            interval: prediction.interval.map(|interval| (interval.lower_secs, interval.upper_secs)),
            tenths: prediction.spread.as_ref().map(|spread| [0.6, 0.7, 0.8, 0.9].map(|share| spread.quantile(share))),
            is_beyond,
        }
    }
}

/// A prediction with the measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Measured time, seconds, above 0.
    pub measured_secs: f64,
    /// Prediction made without this run.
    pub answer: Answer,
}

/// Accuracy of a predictor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// Mean of |t − t̂|/t over the predicted runs, percent; `None` if their sum exceeds the largest
    /// number.
    pub mape_percent: Option<f64>,
    /// Median of |t − t̂|/t, percent.
    pub median_ape_percent: Option<f64>,
    /// Share of the measured times inside their interval, percent; `None` without intervals.
    pub coverage_percent: Option<f64>,
    /// Coverage as counts, separately for extrapolations; `None` without intervals.
    pub coverage: Option<Coverage>,
    /// Number of predicted runs.
    pub tested: usize,
    /// Number of runs without a prediction, which no other figure includes.
    pub unknown: usize,
}

/// Counts of intervals that contain the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Runs within the ranges of the training runs.
    pub within: Held,
    /// Extrapolated runs.
    pub beyond: Held,
}

/// A number of intervals, and how many of them contain the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Held {
    /// Intervals that contain the measured time.
    pub held: usize,
    /// All intervals.
    pub tested: usize,
}

/// Computes the score; the order of the outcomes does not change a digit.
pub fn score(outcomes: &[Outcome]) -> Score {
    let error = |outcome: &Outcome| {
        let secs = outcome.answer.secs.filter(|secs| secs.is_finite())?;
        Some(100.0 * (outcome.measured_secs - secs).abs() / outcome.measured_secs)
    };
    let mut errors: Vec<f64> = outcomes.iter().filter_map(error).collect();
    errors.sort_unstable_by(f64::total_cmp);
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
        mape_percent: Some(errors.iter().sum::<f64>() / tested as f64).filter(|mean| mean.is_finite()),
        median_ape_percent: (tested > 0).then(|| median(&errors)),
        coverage_percent: coverage.all().percent(),
        coverage: has_intervals.then_some(coverage),
        tested,
        unknown: outcomes.len() - tested,
    }
}

impl Coverage {
    /// Returns the sum of both counts.
    pub fn all(&self) -> Held {
        Held { held: self.within.held + self.beyond.held, tested: self.within.tested + self.beyond.tested }
    }
}

impl Held {
    /// Returns the share of intervals that contain the measured time, percent; `None` if there are
    /// no intervals.
    pub fn percent(&self) -> Option<f64> {
        (self.tested > 0).then(|| 100.0 * self.held as f64 / self.tested as f64)
    }
}
