//! The figures of a predictor over the parts of a protocol.

use foreglow_model::{Outcome, median, score};
use serde_json::{Value, json};

use crate::calibration::Calibration;
use crate::covered::Covered;
use crate::slowed::Slowed;

/// 1 − the nominal probability of the intervals.
const ALPHA: f64 = 0.1;

/// The outcomes of one predictor on one part.
pub struct PartOutcomes {
    /// Every tested run, with or without an answer, over all trials.
    pub outcomes: Vec<Outcome>,
    /// Tested runs of the trials on which the predictor could not be fitted.
    pub failed: usize,
    /// Deadlines that were met, over all trials.
    pub calibration: Calibration,
    /// The outcomes on the same trials without slow runs; empty without slow runs.
    pub clean: Vec<Outcome>,
    /// Seconds of each fit with its predictions.
    pub secs: Vec<f64>,
    /// Reason for a trial without an answer.
    pub reason: Option<String>,
}

/// Figures of a predictor in a protocol: a line of `target/accuracy.json`.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The data set.
    pub set: &'static str,
    /// Whether the predictor was developed on this data.
    pub is_development: bool,
    /// The protocol.
    pub protocol: String,
    /// The fitted runs that are slowed.
    pub slowed: Slowed,
    /// The predictor.
    pub predictor: &'static str,
    /// Mean over the parts of the mean absolute percentage error; `None` if a part has none.
    pub mape_percent: Option<f64>,
    /// The same on the same trials without slow runs; `None` for a protocol without slow runs.
    pub clean_mape_percent: Option<f64>,
    /// Mean absolute percentage error with constants that were chosen without this data set.
    pub left_out_mape_percent: Option<f64>,
    /// Tested runs within the fitted ranges, and those of them inside their interval.
    pub within: Covered,
    /// The same beyond the fitted ranges.
    pub beyond: Covered,
    /// How often deadlines were met.
    pub calibration: Calibration,
    /// Mean width of the intervals, percent of the measured time.
    pub width_percent: Option<f64>,
    /// Median width of the intervals, percent of the measured time.
    pub median_width_percent: Option<f64>,
    /// Mean interval score, percent of the measured time: the width, plus 2/α times the distance of
    /// a time outside (Gneiting and Raftery, JASA 102(477), 2007).
    pub interval_score_percent: Option<f64>,
    /// Tested runs with a prediction.
    pub tested: usize,
    /// Runs without a prediction, which no figure includes.
    pub unknown: usize,
    /// Mean seconds of a fit with its predictions.
    pub fit_secs: Option<f64>,
    /// Reason for missing figures.
    pub reason: Option<String>,
}

impl Figures {
    /// Summarises the parts of a protocol.
    pub fn new(
        set: &'static str,
        protocol: String,
        slowed: Slowed,
        predictor: &'static str,
        parts: &[PartOutcomes],
    ) -> Self {
        let scores: Vec<_> = parts.iter().map(|part| score(&part.outcomes)).collect();
        let covered = |side: fn(&foreglow_model::Coverage) -> foreglow_model::Held| -> Covered {
            let of = |coverage: &foreglow_model::Coverage| Covered {
                held: side(coverage).held,
                tested: side(coverage).tested,
            };
            scores.iter().filter_map(|score| score.coverage.as_ref()).map(of).sum()
        };
        let tested: usize = scores.iter().map(|score| score.tested).sum();
        let asked: usize = parts.iter().map(|part| part.outcomes.len() + part.failed).sum();
        let secs: Vec<f64> = parts.iter().flat_map(|part| part.secs.iter().copied()).collect();
        let clean = || parts.iter().map(|part| score(&part.clean).mape_percent);
        Self {
            set,
            is_development: true,
            protocol,
            slowed,
            predictor,
            mape_percent: mean_of_all(scores.iter().map(|score| score.mape_percent)),
            clean_mape_percent: if slowed == Slowed::None { None } else { mean_of_all(clean()) },
            left_out_mape_percent: None,
            within: covered(|coverage| coverage.within),
            beyond: covered(|coverage| coverage.beyond),
            calibration: parts.iter().map(|part| part.calibration).sum(),
            width_percent: mean_of_all(parts.iter().map(|part| mean(part.outcomes.iter().filter_map(width)))),
            median_width_percent: median_of_any(
                &parts.iter().flat_map(|part| part.outcomes.iter().filter_map(width)).collect::<Vec<f64>>(),
            ),
            interval_score_percent: mean_of_all(
                parts.iter().map(|part| mean(part.outcomes.iter().filter_map(interval_score))),
            ),
            tested,
            unknown: asked - tested,
            fit_secs: mean(secs.into_iter()),
            reason: parts.iter().find_map(|part| part.reason.clone()),
        }
    }

    /// Returns the share of the tested runs inside their interval.
    pub fn coverage_percent(&self) -> Option<f64> {
        [self.within, self.beyond].into_iter().sum::<Covered>().percent()
    }

    /// Returns the error with slow runs relative to the error without.
    pub fn ratio_to_clean(&self) -> Option<f64> {
        Some(self.mape_percent? / self.clean_mape_percent?)
    }

    /// Returns the row as in `target/accuracy.json`.
    pub fn json(&self) -> Value {
        json!({
            "set": self.set,
            "protocol": format!("{}{}", self.protocol, self.slowed.suffix()),
            "predictor": self.predictor,
            "mape_percent": self.mape_percent,
            "coverage_percent": self.coverage_percent(),
            "data": if self.is_development { "development" } else { "untouched" },
            "clean_mape_percent": self.clean_mape_percent,
            "ratio_to_clean": self.ratio_to_clean(),
            "left_out_mape_percent": self.left_out_mape_percent,
            "width_percent": self.width_percent,
            "median_width_percent": self.median_width_percent,
            "interval_score_percent": self.interval_score_percent,
            "within": { "held": self.within.held, "tested": self.within.tested },
            "beyond": { "held": self.beyond.held, "tested": self.beyond.tested },
            "calibration": self.calibration.json(),
            "tested": self.tested,
            "unknown": self.unknown,
            "fit_secs": self.fit_secs,
            "reason": self.reason,
        })
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Returns the median; `None` without values.
fn median_of_any(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| median(values))
}

/// Returns the mean; `None` if a value is missing.
fn mean_of_all(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    mean(values.collect::<Option<Vec<f64>>>()?.into_iter())
}

fn width(outcome: &Outcome) -> Option<f64> {
    let (lower, upper) = outcome.answer.interval?;
    Some(100.0 * (upper - lower) / outcome.measured_secs)
}

fn interval_score(outcome: &Outcome) -> Option<f64> {
    let (lower, upper) = outcome.answer.interval?;
    let secs = outcome.measured_secs;
    let outside = (lower - secs).max(secs - upper).max(0.0);
    Some(100.0 * (upper - lower + 2.0 / ALPHA * outside) / secs)
}

#[cfg(test)]
mod tests {
    use foreglow_model::Answer;

    use super::*;

    fn outcome(measured_secs: f64, secs: f64, interval: (f64, f64)) -> Outcome {
        Outcome { measured_secs, answer: Answer { secs: Some(secs), interval: Some(interval), ..Answer::default() } }
    }

    #[test]
    fn an_interval_that_misses_scores_twenty_times_its_distance_more_than_its_width() {
        assert_eq!(interval_score(&outcome(10.0, 9.0, (8.0, 12.0))), Some(40.0));
        assert_eq!(interval_score(&outcome(10.0, 7.0, (5.0, 9.0))), Some(40.0 + 200.0));
        assert_eq!(width(&outcome(10.0, 7.0, (5.0, 9.0))), Some(40.0));
    }

    #[test]
    fn a_row_is_the_mean_of_its_parts_and_lacks_a_figure_where_one_part_does() {
        let part = |outcomes: Vec<Outcome>, failed| PartOutcomes {
            outcomes,
            failed,
            calibration: Calibration::default(),
            clean: vec![],
            secs: vec![],
            reason: None,
        };
        let known = || part(vec![outcome(10.0, 9.0, (8.0, 12.0)), outcome(10.0, 7.0, (5.0, 9.0))], 0);
        let other = part(vec![outcome(10.0, 14.0, (8.0, 12.0))], 0);
        let row = Figures::new("set", "protocol".into(), Slowed::None, "foreglow", &[known(), other]);
        assert!((row.mape_percent.unwrap() - 30.0).abs() < 1e-12);
        assert!((row.coverage_percent().unwrap() - 200.0 / 3.0).abs() < 1e-9, "coverage is over all tested runs");
        let row = Figures::new("set", "protocol".into(), Slowed::None, "foreglow", &[known(), part(vec![], 3)]);
        assert_eq!((row.mape_percent, row.tested, row.unknown), (None, 2, 3));
    }
}
