//! Uncertainty of predictions: a Bayesian linear model of ln t, used for its variances only.
//!
//! ln t is the sum of a level, a linear and a quadratic term in ln E, ln C and ln SR, and their
//! interactions, with independent normal priors; a run is one noisy observation. The posterior
//! variance depends on where runs are made and not on their results (Chaloner and Verdinelli,
//! "Bayesian experimental design: a review", Statistical Science 10(3), 1995, §2.1). The value of a
//! run is therefore known in advance, without another fit.

use crate::Setting;

/// Number of coefficients of a setting's ln t.
pub(crate) const EFFECTS: usize = 10;
/// Prior standard deviations. The level is unknown to orders of magnitude; the power of a resource
/// is between about −1 and 1; a quadratic term changes it by some tenths over a decade.
pub(crate) const PRIOR: [f64; EFFECTS] = [10.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.03, 0.1, 0.03, 0.03];

/// Posterior covariance of the coefficients.
#[derive(Clone, Debug)]
pub(super) struct Surrogate {
    covariance: [[f64; EFFECTS]; EFFECTS],
    noise_variance: f64,
}

/// Coefficient weights of a setting's ln t, or of the difference of two settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contrast([f64; EFFECTS]);

impl Contrast {
    pub(crate) fn of(setting: Setting) -> Self {
        let e = libm::log(f64::from(setting.executors));
        let c = libm::log(setting.split().mean_cores());
        let s = libm::log(setting.sampling_rate);
        Self([1.0, e, c, s, e * e, c * c, s * s, e * c, e * s, c * s])
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|effect| self.0[effect] - other.0[effect]))
    }

    /// Returns the covariance of two settings whose coefficients have these prior deviations.
    pub(crate) fn product(&self, other: &Self, deviations: &[f64; EFFECTS]) -> f64 {
        let terms = self.0.iter().zip(&other.0).zip(deviations);
        terms.map(|((a, b), deviation)| a * b * deviation * deviation).sum()
    }

    fn dot(self, other: &[f64; EFFECTS]) -> f64 {
        self.0.iter().zip(other).map(|(a, b)| a * b).sum()
    }
}

impl Surrogate {
    /// Creates the prior; `noise` is the standard deviation of ln t between equal runs.
    pub(super) fn prior(noise: f64) -> Self {
        let mut covariance = [[0.0; EFFECTS]; EFFECTS];
        for (effect, deviation) in PRIOR.into_iter().enumerate() {
            covariance[effect][effect] = deviation * deviation;
        }
        Self { covariance, noise_variance: noise * noise }
    }

    /// Updates the covariance with a run.
    pub(super) fn observe(&mut self, run: Contrast) {
        let gain = self.times(run);
        let variance = run.dot(&gain) + self.noise_variance;
        for (row, a) in self.covariance.iter_mut().zip(gain) {
            for (cell, b) in row.iter_mut().zip(gain) {
                *cell -= a * b / variance;
            }
        }
    }

    /// Returns the variance of a contrast.
    pub(super) fn variance(&self, contrast: Contrast) -> f64 {
        contrast.dot(&self.times(contrast)).max(0.0)
    }

    /// Returns by how much a run would reduce the variance of a contrast.
    pub(super) fn reduction(&self, contrast: Contrast, run: Contrast) -> f64 {
        let gain = self.times(run);
        let covariance = contrast.dot(&gain);
        covariance * covariance / (run.dot(&gain) + self.noise_variance)
    }

    fn times(&self, contrast: Contrast) -> [f64; EFFECTS] {
        std::array::from_fn(|effect| contrast.dot(&self.covariance[effect]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(executors: u32, cores_per_executor: u32, sampling_rate: f64) -> Contrast {
        Contrast::of(Setting::even(executors, cores_per_executor, sampling_rate))
    }

    #[test]
    fn a_run_reduces_the_variance_by_the_predicted_amount() {
        let mut surrogate = Surrogate::prior(0.1);
        for run in [at(1, 1, 0.01), at(4, 1, 0.1), at(2, 2, 0.01)] {
            for asked in [at(1, 1, 1.0), at(8, 4, 1.0), at(2, 1, 0.1).minus(at(1, 1, 0.1))] {
                let before = surrogate.variance(asked);
                let mut after = surrogate.clone();
                after.observe(run);
                let lowered = before - after.variance(asked);
                assert!((lowered - surrogate.reduction(asked, run)).abs() <= 1e-9 * before && lowered >= 0.0);
            }
            surrogate.observe(run);
        }
    }

    #[test]
    fn the_order_of_the_runs_does_not_change_the_uncertainty() {
        let runs = [at(1, 1, 0.01), at(4, 1, 0.1), at(2, 2, 0.01)];
        let after = |order: [usize; 3]| {
            let mut surrogate = Surrogate::prior(0.1);
            order.into_iter().for_each(|index| surrogate.observe(runs[index]));
            surrogate.variance(at(8, 4, 1.0))
        };
        assert!((after([0, 1, 2]) - after([2, 0, 1])).abs() < 1e-9 * after([0, 1, 2]));
    }

    #[test]
    fn the_uncertainty_of_a_measured_setting_is_the_noise() {
        let mut surrogate = Surrogate::prior(0.1);
        surrogate.observe(at(2, 2, 0.1));
        assert!((surrogate.variance(at(2, 2, 0.1)) - 0.01).abs() < 1e-4);
    }
}
