//! What is believed of a posynomial before any run: Gaussian beliefs, each a pull toward a centre.

use crate::dataset::Points;
use crate::regression::posynomial::design::{Coefficient, Design};
use crate::regression::posynomial::{Prior, Sign};

/// Standard deviation of a belief about an offset: a factor of e³ ≈ 20 on the time.
const OFFSET: f64 = 3.0;
/// About an exponent: few costs grow faster than a square.
const EXPONENT: f64 = 1.0;
/// About the effect of a name.
const NAME: f64 = 1.0;
/// About what a combination of names adds to theirs.
const COMBINATION: f64 = 0.3;
/// Offset at which a term beyond the first is believed: it begins as the smaller part of the time.
const LATER_OFFSET: f64 = -1.0;
/// About an exponent of the wrong sign, about 0: time does not turn round without strong evidence.
const WRONG_SIGN: f64 = 0.05;
/// About an exponent that two levels must extrapolate, about a whole number.
const TIE_OF_TWO: f64 = 0.02;
/// About an exponent that three levels must extrapolate, about a whole number.
const TIE_OF_THREE: f64 = 0.3;

/// (value − centre)² · precision.
pub(crate) struct Pull {
    pub(crate) precision: f64,
    pub(crate) centre: f64,
}

/// The beliefs about every coefficient.
pub(crate) struct Penalty {
    coefficients: Vec<Coefficient>,
    exponents: Vec<Belief>,
}

/// What is believed of one exponent beyond its size.
#[derive(Clone, Default)]
struct Belief {
    /// Below 0, 0 or above: the sign that the exponent should have, if any.
    sign: f64,
    /// Standard deviation about the nearest whole number, and the greatest of these.
    whole: Option<(f64, f64)>,
}

impl Penalty {
    /// Beliefs about the size of the coefficients alone.
    pub(crate) fn of_size(design: &Design) -> Self {
        Self { coefficients: design.coefficients(), exponents: vec![Belief::default(); design.encoding.numeric.len()] }
    }

    /// Beliefs about size, sign and wholeness; `slopes` are the exponents of the best single term.
    pub(crate) fn of(design: &Design, points: &Points, prior: &Prior, slopes: &[f64]) -> Self {
        let belief = |(numeric, slope): (&crate::regression::encoding::Numeric, &f64)| {
            let column = numeric.column;
            let sign = match prior.directions.get(column).copied().flatten() {
                Some(Sign::Positive) => 1.0,
                Some(Sign::Negative) => -1.0,
                None => *slope,
            };
            let extrapolated = numeric.logarithmic && prior.beyond.contains(&column);
            let most = (slope.abs() - 0.1).ceil().max(1.0);
            let whole = match levels(points, column) {
                2 if extrapolated && prior.tie_two_levels => Some((TIE_OF_TWO, most)),
                3 if extrapolated => Some((TIE_OF_THREE, most.max(2.0))),
                _ => None,
            };
            Belief { sign, whole }
        };
        let exponents = design.encoding.numeric.iter().zip(slopes).map(belief).collect();
        Self { exponents, ..Self::of_size(design) }
    }

    /// p.
    pub(crate) fn coefficients(&self) -> usize {
        self.coefficients.len()
    }

    /// The pulls on a coefficient of a term that has this value. A pull of precision 0 is none.
    pub(crate) fn pulls(&self, term: usize, coefficient: usize, value: f64) -> [Pull; 3] {
        let toward = |deviation: f64, centre: f64| Pull { precision: 1.0 / (deviation * deviation), centre };
        let none = || Pull { precision: 0.0, centre: 0.0 };
        match self.coefficients[coefficient] {
            Coefficient::Offset => [toward(OFFSET, if term == 0 { 0.0 } else { LATER_OFFSET }), none(), none()],
            Coefficient::Name => [toward(NAME, 0.0), none(), none()],
            Coefficient::Combination => [toward(COMBINATION, 0.0), none(), none()],
            Coefficient::Exponent(numeric) => {
                let belief = &self.exponents[numeric];
                let sign = if value * belief.sign < 0.0 { toward(WRONG_SIGN, 0.0) } else { none() };
                let whole = belief.whole.map_or_else(none, |(deviation, most)| {
                    toward(deviation, value.round_ties_even().clamp(-most, most))
                });
                [toward(EXPONENT, 0.0), sign, whole]
            }
        }
    }
}

/// Distinct values of a column.
fn levels(points: &Points, column: usize) -> usize {
    let mut values: Vec<f64> = points.numeric.iter().map(|row| row[column]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values.len()
}
