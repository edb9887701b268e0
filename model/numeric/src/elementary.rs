//! Exponentials and logarithms of many numbers at once.
//!
//! They use additions, multiplications, one division and shifts, without branches, so that the
//! compiler can vectorise them to any width and every machine gives the same bytes. `libm`
//! processes one number at a time and takes five times as long.

use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

/// 1.5·2⁵²: adding it rounds a number to the nearest integer, which is then in the lowest bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// 2⁵², whose lowest bits are an integer.
const COUNTER: f64 = 4_503_599_627_370_496.0;
/// ln 2 in two parts, the first with so few bits that its product with an exponent is exact (Cody
/// and Waite, "Software manual for the elementary functions", 1980).
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Range in which the exponential is a normal number.
const LEAST: f64 = -708.0;
const MOST: f64 = 709.0;
/// Coefficients 1/k! of the exponential series, k = 13 … 0: enough for |r| ≤ ln 2 / 2.
const EXPONENTIAL: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];
/// Coefficients 1/(2k + 1) of the series of artanh(s)/s in s², k = 9 … 0: enough for a mantissa in
/// [√½, √2).
const LOGARITHM: [f64; 10] =
    [1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0];

/// Replaces each x by eˣ, with a relative error of about 2e-16; x is clamped to [−708, 709].
#[inline]
pub fn exponentials(values: &mut [f64]) {
    values.iter_mut().for_each(|value| *value = exponential(*value));
}

/// Replaces each x by ln x, with a relative error of about 2e-16 (absolute near 1); x must be a
/// normal number above 0.
#[inline]
pub fn logarithms(values: &mut [f64]) {
    values.iter_mut().for_each(|value| *value = logarithm(*value));
}

#[inline(always)]
fn exponential(x: f64) -> f64 {
    let x = x.clamp(LEAST, MOST);
    let rounded = x * LOG2_E + ROUNDER;
    let whole = rounded - ROUNDER;
    let rest = (x - whole * LN_2_HIGH) - whole * LN_2_LOW;
    polynomial(&EXPONENTIAL, rest) * f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52)
}

#[inline(always)]
fn logarithm(x: f64) -> f64 {
    const ONE: u64 = 1.0f64.to_bits();
    const HALF_ROOT: u64 = (SQRT_2 / 2.0).to_bits();
    // The exponent is increased for mantissas above √2, which leaves a mantissa in [√½, √2).
    let shifted = x.to_bits().wrapping_add(ONE - HALF_ROOT) >> 52;
    let mantissa = f64::from_bits(x.to_bits().wrapping_add(ONE).wrapping_sub(shifted << 52));
    let exponent = f64::from_bits(shifted | COUNTER.to_bits()) - (COUNTER + 1023.0);
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    exponent * LN_2 + 2.0 * ratio * polynomial(&LOGARITHM, square)
}

/// Evaluates the polynomial with an even number of coefficients, highest first. Odd and even powers
/// are evaluated side by side, which halves the chain of dependent operations (Estrin,
/// "Organization of computer systems: the fixed plus variable structure computer", Western Joint
/// IRE-AIEE-ACM Computer Conference, 1960).
#[inline(always)]
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    let square = x * x;
    let (pairs, _) = coefficients.as_chunks::<2>();
    let (odd, even) = pairs.iter().fold((0.0, 0.0), |(odd, even), [a, b]| (odd * square + a, even * square + b));
    odd * x + even
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers over 600 orders of magnitude, and close to 1.
    fn numbers() -> impl Iterator<Item = f64> {
        (-300..300).flat_map(|decade| [1.0, 1.7, 3.3, 9.9].map(|x| x * libm::exp10(f64::from(decade))))
    }

    #[test]
    fn exponentials_are_those_of_libm() {
        let mut values: Vec<f64> = (-70_000..70_000).map(|step| f64::from(step) * 0.01).collect();
        let expected: Vec<f64> = values.iter().map(|x| libm::exp(*x)).collect();
        exponentials(&mut values);
        for (value, expected) in values.iter().zip(expected) {
            assert!((value / expected - 1.0).abs() < 5e-16, "{value} {expected}");
        }
    }

    #[test]
    fn logarithms_are_those_of_libm() {
        let near_one = (-1000..1000).map(|step| 1.0 + f64::from(step) * 1e-4);
        let mut values: Vec<f64> = numbers().chain(near_one).collect();
        let expected: Vec<f64> = values.iter().map(|x| libm::log(*x)).collect();
        logarithms(&mut values);
        for (value, expected) in values.iter().zip(expected) {
            assert!((value - expected).abs() <= 4e-16 * expected.abs().max(0.5), "{value} {expected}");
        }
    }

    #[test]
    fn an_exponential_beyond_all_numbers_stays_a_number() {
        let mut values = [1e9, -1e9];
        exponentials(&mut values);
        assert!(values.iter().all(|value| value.is_finite() && *value > 0.0), "{values:?}");
    }
}
