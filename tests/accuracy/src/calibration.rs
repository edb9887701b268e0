//! Whether a deadline is met as often as the predictor says.
//!
//! The tested runs of a trial are configurations to choose from. Each is asked for the probability
//! of several deadlines, which depend only on the predicted times of all of them.

use std::iter::Sum;
use std::ops::Add;

use foreglow_model::{Outcome, median};
use serde_json::{Value, json};

use crate::covered::Covered;

/// Deadlines, in units of the median of the predicted times of a trial.
const DEADLINES: [f64; 7] = [0.4, 0.6, 0.8, 1.0, 1.25, 1.7, 2.5];
/// Tenth of the probability from which on a configuration is recommended: 90 %.
const LIKELY: usize = 9;

/// How often deadlines were met.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Deadlines met, and all, by the tenth of the stated probability.
    pub tenths: [Covered; 10],
    /// The same for the slowest configuration that meets a deadline with 90 % or more, which is
    /// usually the cheapest.
    pub chosen: Covered,
}

impl Calibration {
    /// Counts the deadlines of one trial.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let known = |outcome: &Outcome| Some((outcome.answer.secs?, outcome.answer.tenths?, outcome.measured_secs));
        let known: Vec<(f64, [f64; 4], f64)> = outcomes.iter().filter_map(known).collect();
        let mut calibration = Self::default();
        if known.is_empty() {
            return calibration;
        }
        let usual = median(known.iter().map(|(secs, ..)| *secs).collect::<Vec<f64>>());
        for deadline in DEADLINES.map(|share| share * usual) {
            let mut chosen: Option<(f64, bool)> = None;
            for (secs, tenths, measured) in &known {
                let (tenth, is_met) = (tenth(tenths, deadline / secs), *measured <= deadline);
                calibration.tenths[tenth].count(is_met);
                if tenth >= LIKELY && chosen.is_none_or(|(slowest, _)| *secs > slowest) {
                    chosen = Some((*secs, is_met));
                }
            }
            if let Some((_, is_met)) = chosen {
                calibration.chosen.count(is_met);
            }
        }
        calibration
    }

    /// Returns the counts as in `target/accuracy.json`.
    pub fn json(self) -> Value {
        let counts = |of: &Covered| json!([of.held, of.tested]);
        json!({ "tenths": self.tenths.iter().map(counts).collect::<Vec<_>>(), "chosen": counts(&self.chosen) })
    }

    /// Parses what [`Calibration::json`] returned; nothing is counted if it is missing.
    pub fn read(value: &Value) -> Self {
        let count = |value: &Value| value.as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
        let counts = |of: &Value| Covered { held: count(&of[0]), tested: count(&of[1]) };
        Self { tenths: std::array::from_fn(|tenth| counts(&value["tenths"][tenth])), chosen: counts(&value["chosen"]) }
    }
}

impl Sum for Calibration {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            tenths: std::array::from_fn(|tenth| sum.tenths[tenth].add(part.tenths[tenth])),
            chosen: sum.chosen.add(part.chosen),
        })
    }
}

/// Returns the tenth of the probability that the true time is at most `ratio` times the predicted
/// one; `tenths` has the ratios of the probabilities 0.6 to 0.9.
fn tenth(tenths: &[f64; 4], ratio: f64) -> usize {
    let above = |ratio: f64| tenths.iter().filter(|of| **of <= ratio).count();
    if ratio >= 1.0 { 5 + above(ratio) } else { 4 - above(1.0 / ratio) }
}

#[cfg(test)]
mod tests {
    use foreglow_model::Answer;

    use super::*;

    #[test]
    fn deadlines_are_counted_by_their_probability_and_the_slowest_likely_configuration_is_chosen() {
        let outcome = |secs: f64, measured_secs: f64| Outcome {
            measured_secs,
            answer: Answer { secs: Some(secs), tenths: Some([1.05, 1.1, 1.2, 1.3]), ..Answer::default() },
        };
        let of = Calibration::of(&[
            outcome(10.0, 9.0),
            outcome(10.0, 20.0),
            Outcome { measured_secs: 1.0, ..outcome(0.0, 0.0) },
        ]);
        assert_eq!(of.tenths.iter().map(|of| of.tested).sum::<usize>(), 3 * DEADLINES.len());
        let [first, second] = [outcome(10.0, 9.0), outcome(20.0, 40.0)].map(|outcome| Calibration::of(&[outcome]));
        let counts = |of: &Calibration| of.tenths.map(|of| (of.held, of.tested));
        // Deadlines of 4 and 6 s; 8; 10; 12.5; 17 and 25.
        assert_eq!(counts(&first)[..2], [(0, 2), (0, 1)]);
        assert_eq!((counts(&first)[5], counts(&first)[8], counts(&first)[9]), ((1, 1), (1, 1), (2, 2)));
        assert_eq!((second.chosen.held, second.chosen.tested), (1, 2));
        assert_eq!(Calibration::read(&first.json()), first);
    }

    #[test]
    fn probabilities_below_one_half_mirror_those_above() {
        let tenths = [1.05, 1.1, 1.2, 1.3];
        assert_eq!([0.5, 0.8, 0.97, 1.0, 1.07, 1.25, 2.0].map(|ratio| tenth(&tenths, ratio)), [0, 1, 4, 5, 6, 8, 9]);
    }
}
