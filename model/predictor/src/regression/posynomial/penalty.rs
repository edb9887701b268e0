//! Gaussian priors of the coefficients of a posynomial, each a pull towards a centre.

use crate::Meaning;
use crate::dataset::Points;
use crate::regression::encoding::Numeric;
use crate::regression::posynomial::Prior;
use crate::regression::posynomial::design::{Coefficient, Design};
use crate::regression::posynomial::term::{FIXED, Normal, Term};

/// Standard deviation of the prior of an offset: a factor of e³ ≈ 20 in time.
const OFFSET: f64 = 3.0;
/// Prior of an exponent, mean and standard deviation: few costs grow faster than quadratically.
const EXPONENT: (f64, f64) = (0.0, 1.0);
/// The same for the exponents of work and of workers in a single term.
const WORK: (f64, f64) = (0.9, 0.3);
const WORKERS: (f64, f64) = (-0.6, 0.4);
/// The same for a column without a meaning in a single term.
const OTHER: (f64, f64) = (0.0, 0.5);
/// Standard deviation of the effect of a name.
const NAME: f64 = 1.0;
/// Standard deviation of the effect of a combination of names beyond that of each name.
const COMBINATION: f64 = 0.3;
/// Prior mean of the offset of terms after the first, which start as the smaller part of the time.
const LATER_OFFSET: f64 = -1.0;
/// Standard deviation about 0 of an exponent of the wrong sign: a trend reverses only on strong
/// evidence.
const WRONG_SIGN: f64 = 0.05;
/// Standard deviation about a whole number of an exponent that is extrapolated from two levels.
const TIE_OF_TWO: f64 = 0.02;
/// The same for three levels.
const TIE_OF_THREE: f64 = 0.3;

/// Penalty (value − centre)² · precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pull {
    pub(crate) precision: f64,
    pub(crate) centre: f64,
}

/// Standard deviation about the largest exponent that a meaning allows.
const MOST_EXPONENT: f64 = 0.03;

/// The priors of all coefficients.
pub(crate) struct Penalty {
    coefficients: Vec<Coefficient>,
    exponents: Vec<Belief>,
    /// One pull per coefficient of each term of a law; empty for a posynomial whose terms have the
    /// same prior.
    law: Vec<Vec<Pull>>,
}

/// Prior of one exponent in addition to its size.
#[derive(Clone, Default)]
struct Belief {
    /// Expected sign of the exponent: negative, 0 for either, or positive.
    sign: f64,
    /// Standard deviation about the nearest whole number, and the largest such number.
    whole: Option<(f64, f64)>,
    /// The largest exponent that the meaning of the column allows.
    most: Option<f64>,
    /// Mean and standard deviation in the best single term.
    size: Option<(f64, f64)>,
}

impl Penalty {
    /// Returns priors of the size of the coefficients only.
    pub(crate) fn of_size(design: &Design, meanings: &[Option<Meaning>]) -> Self {
        let size = |column: usize| match meanings.get(column).copied().flatten() {
            Some(Meaning::Work) => WORK,
            Some(Meaning::Workers | Meaning::Cores | Meaning::Replicas) => WORKERS,
            None if meanings.iter().any(Option::is_some) => OTHER,
            None => EXPONENT,
        };
        let belief = |numeric: &Numeric| Belief { size: Some(size(numeric.column)), ..Belief::default() };
        let exponents = design.encoding.numeric.iter().map(belief).collect();
        Self { coefficients: design.coefficients(), exponents, law: Vec::new() }
    }

    /// Returns the priors of the terms of a law; `whole` and `work` hold the coefficients of the
    /// best single term of the time and of the time without the start-up.
    pub(crate) fn of_law(design: &Design, terms: &[Term], whole: &[f64], work: &[f64]) -> Self {
        let pull =
            |normal: Normal| Pull { precision: 1.0 / (normal.deviation * normal.deviation), centre: normal.centre };
        let of_term = |term: &Term| -> Vec<Pull> {
            let single = if term.grows { work } else { whole };
            let offset = Normal { centre: term.offset.centre + (single[0] - whole[0]).min(0.0), ..term.offset };
            let of_coefficient = |(place, coefficient): (usize, &Coefficient)| match coefficient {
                Coefficient::Offset => pull(offset),
                Coefficient::Exponent(numeric) => {
                    let column = design.encoding.numeric[*numeric].column;
                    let shared = Normal { centre: term.shares * single[place], deviation: term.shared_deviation };
                    pull(term.exponents.get(column).copied().flatten().unwrap_or(shared))
                }
                Coefficient::Synchronisation => {
                    pull(Normal { centre: f64::from(u8::from(term.synchronises)), deviation: FIXED })
                }
                Coefficient::Name | Coefficient::Combination => {
                    pull(Normal { centre: term.shares * single[place], deviation: term.shared_deviation })
                }
            };
            design.coefficients().iter().enumerate().map(of_coefficient).collect()
        };
        Self { law: terms.iter().map(of_term).collect(), ..Self::of_size(design, &[]) }
    }

    /// Returns priors of size, sign and wholeness; `slopes` are the exponents of the best single
    /// term.
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

    /// Returns the same priors with free exponents; `None` if none is tied to whole numbers.
    pub(crate) fn without_ties(&self) -> Option<Self> {
        self.exponents.iter().any(|belief| belief.whole.is_some()).then(|| Self {
            coefficients: self.coefficients.clone(),
            exponents: self.exponents.iter().map(|belief| Belief { whole: None, ..belief.clone() }).collect(),
            law: self.law.clone(),
        })
    }

    /// Returns the number of coefficients, p.
    pub(crate) fn coefficients(&self) -> usize {
        self.coefficients.len()
    }

    /// Returns the pulls on a coefficient with this value. A pull of precision 0 has no effect.
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
            Coefficient::Synchronisation => [toward(FIXED, 0.0), none(), none()],
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

/// Returns the number of distinct values of a column.
fn levels(points: &Points, column: usize) -> usize {
    let mut values: Vec<f64> = points.numeric.iter().map(|row| row[column]).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    values.len()
}
