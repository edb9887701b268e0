//! What is believed of a posynomial before any run: Gaussian beliefs, each a pull toward a centre.

use crate::Meaning;
use crate::dataset::Points;
use crate::regression::encoding::Numeric;
use crate::regression::posynomial::Prior;
use crate::regression::posynomial::design::{Coefficient, Design};
use crate::regression::posynomial::law::{Normal, Term};

/// Standard deviation of a belief about an offset: a factor of e³ ≈ 20 on the time.
const OFFSET: f64 = 3.0;
/// About an exponent: few costs grow faster than a square.
const EXPONENT: (f64, f64) = (0.0, 1.0);
/// About the exponent of work, and of workers, in a single term: mean and standard deviation.
const WORK: (f64, f64) = (0.9, 0.3);
const WORKERS: (f64, f64) = (-0.6, 0.4);
/// About the exponent of a column without a meaning in a single term.
const OTHER: (f64, f64) = (0.0, 0.5);
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pull {
    pub(crate) precision: f64,
    pub(crate) centre: f64,
}

/// Standard deviation about the largest exponent that a meaning allows.
const MOST_EXPONENT: f64 = 0.03;

/// The beliefs about every coefficient.
pub(crate) struct Penalty {
    coefficients: Vec<Coefficient>,
    exponents: Vec<Belief>,
    /// One pull per coefficient of each term of a law; empty for a posynomial whose terms are
    /// alike.
    law: Vec<Vec<Pull>>,
}

/// What is believed of one exponent beyond its size.
#[derive(Clone, Default)]
struct Belief {
    /// Below 0, 0 or above: the sign that the exponent should have, if any.
    sign: f64,
    /// Standard deviation about the nearest whole number, and the greatest of these.
    whole: Option<(f64, f64)>,
    /// The largest exponent that the meaning of the column allows.
    most: Option<f64>,
    /// Mean and standard deviation in the best single term.
    size: Option<(f64, f64)>,
}

impl Penalty {
    /// Beliefs about the size of the coefficients alone.
    pub(crate) fn of_size(design: &Design, meanings: &[Option<Meaning>]) -> Self {
        let size = |column: usize| match meanings.get(column).copied().flatten() {
            Some(Meaning::Work) => WORK,
            Some(Meaning::Workers) => WORKERS,
            None if meanings.iter().any(Option::is_some) => OTHER,
            None => EXPONENT,
        };
        let belief = |numeric: &Numeric| Belief { size: Some(size(numeric.column)), ..Belief::default() };
        let exponents = design.encoding.numeric.iter().map(belief).collect();
        Self { coefficients: design.coefficients(), exponents, law: Vec::new() }
    }

    /// Prior of the terms of a law; `single` holds the coefficients of the best single term.
    pub(crate) fn of_law(design: &Design, terms: &[Term], single: &[f64]) -> Self {
        let pull =
            |normal: Normal| Pull { precision: 1.0 / (normal.deviation * normal.deviation), centre: normal.centre };
        let of_term = |term: &Term| -> Vec<Pull> {
            let of_coefficient = |(place, coefficient): (usize, &Coefficient)| match coefficient {
                Coefficient::Offset => pull(term.offset),
                Coefficient::Exponent(numeric) => {
                    let column = design.encoding.numeric[*numeric].column;
                    let shared = Normal { centre: term.shares * single[place], deviation: term.shared_deviation };
                    pull(term.exponents.get(column).copied().flatten().unwrap_or(shared))
                }
                Coefficient::Name | Coefficient::Combination => {
                    pull(Normal { centre: term.shares * single[place], deviation: term.shared_deviation })
                }
            };
            design.coefficients().iter().enumerate().map(of_coefficient).collect()
        };
        Self { law: terms.iter().map(of_term).collect(), ..Self::of_size(design, &[]) }
    }

    /// Beliefs about size, sign and wholeness; `slopes` are the exponents of the best single term.
    pub(crate) fn of(design: &Design, points: &Points, prior: &Prior, slopes: &[f64]) -> Self {
        let belief = |(numeric, slope): (&Numeric, &f64)| {
            let column = numeric.column;
            let is_work = prior.meanings.get(column) == Some(&Some(Meaning::Work));
            let sign = if is_work { 1.0 } else { *slope };
            let extrapolated = numeric.logarithmic && prior.beyond.contains(&column);
            let most = (slope.abs() - 0.1).ceil().max(1.0);
            let whole = match levels(points, column) {
                2 if extrapolated && prior.tie_two_levels => Some((TIE_OF_TWO, most)),
                3 if extrapolated => Some((TIE_OF_THREE, most.max(2.0))),
                _ => None,
            };
            let most = is_work.then_some(1.0);
            Belief { sign, whole, most, size: None }
        };
        let exponents = design.encoding.numeric.iter().zip(slopes).map(belief).collect();
        Self { exponents, ..Self::of_size(design, &[]) }
    }

    /// p.
    pub(crate) fn coefficients(&self) -> usize {
        self.coefficients.len()
    }

    /// The pulls on a coefficient of a term that has this value. A pull of precision 0 is none.
    pub(crate) fn pulls(&self, term: usize, coefficient: usize, value: f64) -> [Pull; 3] {
        let toward = |deviation: f64, centre: f64| Pull { precision: 1.0 / (deviation * deviation), centre };
        let none = || Pull { precision: 0.0, centre: 0.0 };
        if let Some(of_term) = self.law.get(term) {
            return [of_term[coefficient], none(), none()];
        }
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
                let (centre, deviation) = belief.size.unwrap_or(EXPONENT);
                let size = toward(deviation, centre);
                let most = match belief.most {
                    Some(most) if value > most => toward(MOST_EXPONENT, most),
                    _ => none(),
                };
                [size, if most.precision > 0.0 { most } else { sign }, whole]
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
