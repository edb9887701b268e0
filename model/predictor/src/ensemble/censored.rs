//! Lower bounds: runs that were stopped before they completed.

use std::f64::consts::{PI, SQRT_2};

use serde::{Deserialize, Serialize};

use crate::ensemble::canonical::Group;
use crate::ensemble::caution::describe;
use crate::ensemble::schema::Schema;
use crate::{Meaning, Prediction, Warning};

/// Rounds of imputation.
pub(crate) const ROUNDS: usize = 2;
/// Lower bound on the scale of the residuals, log units.
const LEAST_SCALE: f64 = 0.1;
/// Number of scales beyond which the tail is too small for a number. The two terms of its series
/// that are used instead agree there with the exact ratio to 2e-7.
const TAIL: f64 = 36.0;

/// Returns the expected logarithm of a time above a bound, if logarithms are normal about `mean`:
/// mean + σ·φ(a)/(1 − Φ(a)), a = (bound − mean)/σ (Tobin, "Estimation of relationships for limited
/// dependent variables", Econometrica 26(1), 1958; the E step of Dempster, Laird and Rubin, JRSS B
/// 39(1), 1977, §4.3).
pub(crate) fn expected_above(bound: f64, mean: f64, scale: f64) -> f64 {
    let a = (bound - mean) / scale;
    if a > TAIL {
        return bound + scale * (1.0 - 2.0 / (a * a)) / a;
    }
    let density = libm::exp(-0.5 * a * a) / (2.0 * PI).sqrt();
    mean + scale * density / (0.5 * libm::erfc(a / SQRT_2))
}

/// Returns the standard deviation of residuals, at least [`LEAST_SCALE`].
pub(crate) fn scale(residuals: &[f64]) -> f64 {
    let count = residuals.len().max(1) as f64;
    let mean = residuals.iter().sum::<f64>() / count;
    let squares: f64 = residuals.iter().map(|r| (r - mean) * (r - mean)).sum();
    (squares / count).sqrt().max(LEAST_SCALE)
}

/// A lower bound of the time of one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Bound {
    numeric: Vec<f64>,
    category: Vec<u32>,
    secs: f64,
    /// Whether no run with as much work or more completed sooner.
    is_certain: bool,
}

/// Returns the lower bounds of the settings.
pub(super) fn bounds(groups: &[Group], meanings: &[Option<Meaning>]) -> Vec<Bound> {
    let bound = |group: &Group| {
        let mut bound = Bound {
            numeric: group.numeric.clone(),
            category: group.category.clone(),
            secs: group.bound_secs,
            is_certain: true,
        };
        let is_sooner = |other: &Group| {
            other.secs.first().is_some_and(|secs| *secs < bound.secs)
                && bound.holds(meanings, &other.numeric, &other.category)
        };
        bound.is_certain = !groups.iter().any(is_sooner);
        bound
    };
    groups.iter().filter(|group| group.bound_secs > 0.0).map(bound).collect()
}

/// Applies the bounds that hold for a question to its prediction. A certain one makes the time
/// longer; another one is in the interval, and has a warning if the time is below it.
pub(super) fn bound(
    prediction: &mut Prediction,
    bounds: &[Bound],
    (schema, meanings): (&Schema, &[Option<Meaning>]),
    (numeric, category): (&[f64], &[u32]),
) {
    let largest = |is_certain: bool| {
        let holding = bounds.iter().filter(|bound| bound.is_certain == is_certain);
        holding.filter(|bound| bound.holds(meanings, numeric, category)).map(|bound| bound.secs).fold(0.0, f64::max)
    };
    prediction.reach(largest(false));
    prediction.stay_above(largest(true));
    // A prediction may be bounded twice.
    prediction.warnings.retain(|warning| !warning.names_samples());
    let Some(expected_secs) = prediction.completion_time_secs else { return };
    let later = bounds.iter().filter(|bound| !bound.is_certain && bound.secs > expected_secs);
    prediction.warnings.extend(later.filter(|bound| bound.holds(meanings, numeric, category)).map(|bound| {
        let at = describe(schema, &bound.numeric, &bound.category);
        Warning::SamplesDisagree { at, runs: 1, secs: bound.secs, expected_secs }
    }));
}

impl Bound {
    /// Whether a setting differs from that of the bound at most by more work.
    fn holds(&self, meanings: &[Option<Meaning>], numeric: &[f64], category: &[u32]) -> bool {
        let mut columns = meanings.iter().zip(self.numeric.iter().zip(numeric));
        let fits = |(meaning, (own, other)): (&Option<Meaning>, (&f64, &f64))| {
            own == other || *meaning == Some(Meaning::Work) && own < other
        };
        self.category == category && columns.all(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_far_below_changes_nothing_and_one_far_above_is_nearly_the_time() {
        assert!((expected_above(-8.0, 1.0, 0.5) - 1.0).abs() < 1e-12);
        // φ(0)/(1 − Φ(0)) = √(2/π).
        assert!((expected_above(1.0, 1.0, 0.5) - (1.0 + 0.5 * (2.0 / PI).sqrt())).abs() < 1e-12);
        let far = expected_above(9.0, 1.0, 0.5);
        assert!(far > 9.0 && far < 9.1, "{far}");
    }

    #[test]
    fn the_expected_time_above_a_bound_is_exact_and_continuous_however_far_the_bound() {
        // φ(a)/(1 − Φ(a)) − a, by the continued fraction of Laplace: 1/(a + 2/(a + 3/(a + …))).
        let excess = |a: f64| 1.0 / (2..400).rev().fold(a, |rest, count| a + f64::from(count) / rest);
        for a in [3.0, 5.9, 6.0, 6.1, 10.0, 35.9, 36.1, 100.0] {
            let own = expected_above(a, 0.0, 1.0) - a;
            assert!((own - excess(a)).abs() < 1e-6, "{a}: {own} for {}", excess(a));
        }
        for tenth in 10..500 {
            let a = f64::from(tenth) / 10.0;
            let (below, above) = (expected_above(a - 1e-9, 0.0, 1.0), expected_above(a + 1e-9, 0.0, 1.0));
            assert!((below - above).abs() < 1e-6, "{a}: {below} and {above}");
        }
    }
}
