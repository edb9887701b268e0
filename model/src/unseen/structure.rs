//! Time as a sum of costs, each times a coefficient of the machine.
//!
//! time per image = Σ multiply-accumulates of a kind ÷ throughput + Σ numbers of a kind ÷ bandwidth
//! + (weights ÷ bandwidth + launches · latency + constant) ÷ batch. All coefficients are 0 or more.
//!
//! They minimise the squared relative error and are shrunk towards prior ratios, so that runs of
//! two CNNs already give a prediction.

use super::costs::{GraphCosts, LAUNCHES, PRODUCTS, WEIGHTS};
use foreglow_numeric::{MEDIAN_OF_NORMAL, median, nnls};

/// Number of terms: the costs and a constant.
pub(super) const TERMS: usize = GraphCosts::NAMES.len() + 1;
/// Prior coefficients relative to a multiply-accumulate of a wide pointwise convolution: narrow,
/// grouped and depthwise convolutions reach a smaller share of the peak throughput.
const USUAL_PRODUCTS: [f64; PRODUCTS] = [2.0, 1.0, 3.0, 1.5, 1.0, 2.0, 1.0, 0.7, 10.0, 8.0, 8.0, 8.0, 4.0, 2.5, 1.5];
/// Prior coefficients of a number that is read or written, of a launch and of the constant. A
/// processor does about 20 multiply-accumulates in the time of reading a number from memory.
const USUAL_NUMBER: f64 = 20.0;
const USUAL_LAUNCH: f64 = 3e5;
const USUAL_CONSTANT: f64 = 3e6;
/// Weight of a coefficient's prior value relative to one run.
const SHRINKAGE: f64 = 0.03;
/// Rounds in which runs with large errors lose weight, and the error in median deviations from
/// which on they do.
const ROUNDS: usize = 4;
const TOLERATED: f64 = 1.5;

/// The coefficients of a machine.
#[derive(Clone, Debug)]
pub(super) struct Structure([f64; TERMS]);

/// Returns the terms of a network in batches of this size.
pub(super) fn terms(costs: &GraphCosts, batch: f64) -> [f64; TERMS] {
    let mut terms = [0.0; TERMS];
    for (place, value) in costs.values().iter().enumerate() {
        let is_of_batch = (WEIGHTS..=LAUNCHES).contains(&place);
        terms[place] = if is_of_batch { value / batch } else { *value };
    }
    terms[TERMS - 1] = 1.0 / batch;
    terms
}

fn usual() -> [f64; TERMS] {
    let mut usual = [USUAL_NUMBER; TERMS];
    usual[..PRODUCTS].copy_from_slice(&USUAL_PRODUCTS);
    usual[LAUNCHES] = USUAL_LAUNCH;
    usual[TERMS - 1] = USUAL_CONSTANT;
    usual
}

impl Structure {
    /// Fits times per image, seconds.
    pub(super) fn fit(terms: &[&[f64; TERMS]], secs: &[f64]) -> Self {
        let usual = usual();
        let total = |terms: &[f64; TERMS]| terms.iter().zip(&usual).map(|(term, usual)| term * usual).sum::<f64>();
        let ratios = terms.iter().zip(secs).map(|(terms, secs)| libm::log(secs / total(terms)));
        let unit = libm::exp(median(ratios));
        let mut fitted = Self(usual.map(|usual| usual * unit));
        let mut weights = vec![1.0; secs.len()];
        for _ in 0..ROUNDS {
            let mut rows: Vec<Vec<f64>> = Vec::with_capacity(secs.len() + TERMS);
            let mut target = weights.clone();
            for ((terms, secs), weight) in terms.iter().zip(secs).zip(&weights) {
                rows.push(terms.iter().zip(&usual).map(|(term, usual)| term * usual * unit / secs * weight).collect());
            }
            for place in 0..TERMS {
                rows.push((0..TERMS).map(|other| if other == place { SHRINKAGE } else { 0.0 }).collect());
                target.push(SHRINKAGE);
            }
            let solution = nnls(&rows, &target);
            for (place, factor) in solution.into_iter().enumerate() {
                fitted.0[place] = factor * usual[place] * unit;
            }
            let errors: Vec<f64> =
                terms.iter().zip(secs).map(|(terms, secs)| (fitted.log(terms) - libm::log(*secs)).abs()).collect();
            let tolerated = TOLERATED * (median(&errors) / MEDIAN_OF_NORMAL).max(1e-6);
            for (weight, error) in weights.iter_mut().zip(&errors) {
                *weight = (tolerated / error.max(tolerated)).sqrt();
            }
        }
        fitted
    }

    /// Returns ln of the time per image.
    pub(super) fn log(&self, terms: &[f64; TERMS]) -> f64 {
        let secs: f64 = self.0.iter().zip(terms).map(|(coefficient, term)| coefficient * term).sum();
        libm::log(secs.max(f64::MIN_POSITIVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(seed: u64) -> GraphCosts {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as f64 / f64::from(u32::MAX) * 2.0 + 0.01
        };
        let mut values = [0.0; GraphCosts::NAMES.len()];
        values.iter_mut().for_each(|value| *value = next() * 1e7);
        values[LAUNCHES] = 100.0 * next();
        GraphCosts::from_values(values).unwrap()
    }

    #[test]
    fn a_machine_of_the_usual_ratios_is_found_from_one_run() {
        let terms: Vec<_> = (1..4).map(|seed| terms(&costs(seed), 1.0)).collect();
        let secs: Vec<f64> =
            terms.iter().map(|terms| 1e-11 * terms.iter().zip(&usual()).map(|(a, b)| a * b).sum::<f64>()).collect();
        let fitted = Structure::fit(&[&terms[0]], &secs[..1]);
        for (terms, secs) in terms.iter().zip(&secs) {
            assert!((fitted.log(terms) - libm::log(*secs)).abs() < 1e-6);
        }
    }

    #[test]
    fn a_slow_run_among_many_changes_little() {
        let terms: Vec<_> = (1..80).map(|seed| terms(&costs(seed), 4.0)).collect();
        let clean: Vec<f64> = terms.iter().map(|terms| terms.iter().sum::<f64>() * 1e-12).collect();
        let mut slow = clean.clone();
        slow[7] *= 10.0;
        let fitted = Structure::fit(&terms.iter().collect::<Vec<_>>(), &slow);
        let error = (fitted.log(&terms[20]) - libm::log(clean[20])).abs();
        assert!(error < 0.05, "{error}");
    }
}
