//! Student's t distribution.
//!
//! Source: NIST Digital Library of Mathematical Functions, §8.17 (incomplete beta function: its
//! continued fraction is 8.17.22) and §5.11 (ratio of gamma functions). The continued fraction is
//! evaluated by Lentz's method, as in Press et al., Numerical Recipes, 3rd edition, §6.4.

use std::cell::Cell;
use std::f64::consts::PI;

/// Limit on the degrees of freedom: larger ones are replaced by it to keep the continued fraction
/// short, which changes probabilities by less than 10⁻⁶.
const MOST_DEGREES: f64 = 1e6;
/// From here on the series of the ratio of gamma functions is exact to the last digits.
const LARGE: f64 = 100.0;
/// Limit on the terms of the continued fraction, which needs about the square root of its largest
/// parameter.
const MAX_TERMS: u32 = 5_000;
/// Replaces zero in Lentz's method.
const TINY: f64 = 1e-300;
/// Limit on Newton steps, each of which halves the bracket or doubles the number of correct digits.
const MAX_STEPS: u32 = 200;

/// Returns P(T > t) for Student's t with `degrees` degrees of freedom. NaN if `degrees` is not
/// above 0 or an argument is NaN.
pub fn probability_above(t: f64, degrees: f64) -> f64 {
    if t.is_nan() || degrees.is_nan() || degrees <= 0.0 {
        return f64::NAN;
    }
    if t < 0.0 {
        return 1.0 - probability_above(-t, degrees);
    }
    if t.is_infinite() {
        return 0.0;
    }
    if degrees == 2.0 {
        return two_degrees_above(t);
    }
    let degrees = degrees.min(MOST_DEGREES);
    // P(T > t) = I_x(ν/2, 1/2) / 2 with x = ν/(ν + t²), DLMF 8.17.
    let ratio = t / degrees.sqrt();
    let square = ratio * ratio;
    let x = if square.is_finite() { 1.0 / (1.0 + square) } else { 0.0 };
    let rest = if square.is_finite() { square / (1.0 + square) } else { 1.0 };
    0.5 * incomplete_beta(x, rest, degrees / 2.0)
}

/// Returns the t with P(T > t) = `above`, for `above` in (0, 1/2]; infinite if t overflows.
pub fn exceeded_with(above: f64, degrees: f64) -> f64 {
    if above >= 0.5 {
        return 0.0;
    }
    if degrees == 2.0 {
        return (1.0 - 2.0 * above) / (2.0 * above * (1.0 - above)).sqrt();
    }
    let degrees = degrees.min(MOST_DEGREES);
    LAST.with(|last| {
        if let Some((of, t)) = last.get()
            && of == (above, degrees)
        {
            return t;
        }
        let t = search(above, degrees);
        last.set(Some(((above, degrees), t)));
        t
    })
}

thread_local! {
    /// The last arguments of [`search`] and its result: intervals of many predictions have the same
    /// probability and degrees of freedom.
    static LAST: Cell<Option<((f64, f64), f64)>> = const { Cell::new(None) };
}

/// Returns the t with P(T > t) = `above` by Newton's method within a bracket.
fn search(above: f64, degrees: f64) -> f64 {
    let mut low = 0.0;
    let mut high = 1.0;
    while probability_above(high, degrees) > above {
        low = high;
        high *= 2.0;
        if !f64::is_finite(high) {
            return f64::INFINITY;
        }
    }
    let mut t = low + (high - low) / 2.0;
    for _ in 0..MAX_STEPS {
        let excess = probability_above(t, degrees) - above;
        if excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        // The tail is convex and its slope is minus the density, so a Newton step from the left
        // never overshoots.
        let newton = t + excess / density(t, degrees);
        let next = if newton > low && newton < high { newton } else { low + (high - low) / 2.0 };
        if (next - t).abs() <= f64::EPSILON * t {
            return next;
        }
        t = next;
    }
    t
}

/// Returns P(T > t) = (1 − t/√(2 + t²))/2 for two degrees of freedom and t ≥ 0, rearranged to avoid
/// cancellation.
fn two_degrees_above(t: f64) -> f64 {
    let square = 2.0 + t * t;
    1.0 / (square * (1.0 + t / square.sqrt()))
}

/// Density: Γ((ν+1)/2) / (√(νπ) Γ(ν/2)) · (1 + t²/ν)^(−(ν+1)/2).
fn density(t: f64, degrees: f64) -> f64 {
    let log = log_gamma_step(degrees / 2.0)
        - 0.5 * libm::log(degrees * PI)
        - (degrees + 1.0) / 2.0 * libm::log1p(t * t / degrees);
    libm::exp(log)
}

/// Returns ln Γ(a + 1/2) − ln Γ(a).
fn log_gamma_step(a: f64) -> f64 {
    if a < LARGE {
        return libm::lgamma(a + 0.5) - libm::lgamma(a);
    }
    // Logarithm of DLMF 5.11.13; the next term is 17/(14336 a⁷).
    let inverse = 1.0 / a;
    let square = inverse * inverse;
    0.5 * libm::log(a) - inverse * (0.125 - square * (1.0 / 192.0 - square / 640.0))
}

/// Regularised incomplete beta function I_x(a, 1/2), with `rest` = 1 − x.
fn incomplete_beta(x: f64, rest: f64, a: f64) -> f64 {
    let b = 0.5;
    if x <= 0.0 {
        return 0.0;
    }
    if rest <= 0.0 {
        return 1.0;
    }
    // x^a (1−x)^b / B(a, b), where B(a, 1/2) = √π Γ(a)/Γ(a + 1/2). For x near 1, ln x is computed
    // from 1 − x.
    let log_x = if rest < 0.5 { libm::log1p(-rest) } else { libm::log(x) };
    let front = libm::exp(log_gamma_step(a) - 0.5 * libm::log(PI) + a * log_x) * rest.sqrt();
    // DLMF 8.17.22 converges fast for x below (a + 1)/(a + b + 2); beyond it, DLMF 8.17.4 swaps the
    // tails.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(x, a, b) / a
    } else {
        1.0 - front * continued_fraction(rest, b, a) / b
    }
}

fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for term in 1..=MAX_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + coefficient * d);
            c = away_from_zero(1.0 + coefficient / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction
}
