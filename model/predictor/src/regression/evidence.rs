//! Learns the variance of each component of a kernel from the marginal likelihood.

use foreglow_numeric::lbfgs;
use foreglow_numeric::{Cholesky, Matrix, add_scaled, dot};

use crate::regression::kernel::{Kernel, Kind, Place};

/// Prior standard deviation of the logarithm of each variance.
const BELIEF: f64 = 2.5;
/// Bounds of the logarithm of a variance, in the unit of the values.
const VARIANCES: (f64, f64) = (-14.0, 5.0);
/// Lower bound on the standard deviation of the noise in ln t.
const LEAST_NOISE: f64 = 0.003;
/// Upper bound on the logarithm of the noise variance, in the unit of the values.
const MOST_NOISE: f64 = 2.0;
/// Added to the noise variance so that equal rows do not make the matrix singular.
pub(crate) const JITTER: f64 = 1e-8;
/// Limit on the steps of the search.
const STEPS: u32 = 40;

/// Prior of the variances, in the unit of the values.
pub(crate) struct Beliefs {
    /// Logarithm of the variance of a component of each kind.
    pub(crate) linear: f64,
    pub(crate) smooth: f64,
    pub(crate) name: f64,
    pub(crate) interaction: f64,
    /// Variance of the level.
    pub(crate) constant: f64,
    /// Standard deviation of the noise in ln t.
    pub(crate) noise: f64,
}

/// Posterior of the variances of components, given values at some places.
pub(crate) struct Evidence<'a> {
    /// y, n.
    values: &'a [f64],
    /// Weight of each row; its noise variance is divided by it.
    weights: &'a [f64],
    /// Each component between each row and those up to it: n(n+1)/2 lists of m.
    gram: Vec<f64>,
    /// Prior means of the logarithms: m of the components, then that of the noise.
    centres: Vec<f64>,
    bounds: Vec<(f64, f64)>,
    constant: f64,
}

impl<'a> Evidence<'a> {
    /// `unit` is the unit of the values in ln t.
    pub(crate) fn of(
        kernel: &Kernel,
        places: &[&Place],
        (values, weights): (&'a [f64], &'a [f64]),
        unit: f64,
        beliefs: &Beliefs,
    ) -> Self {
        let components = kernel.components();
        let mut scratch = kernel.scratch();
        let mut gram = Vec::with_capacity(components.len() * places.len() * (places.len() + 1) / 2);
        for (i, a) in places.iter().enumerate() {
            places[..=i].iter().for_each(|b| gram.extend(kernel.between(a, b, &mut scratch)));
        }
        let centre = |kind| match kind {
            Kind::Linear => beliefs.linear,
            Kind::Smooth => beliefs.smooth,
            Kind::Name => beliefs.name,
            Kind::Interaction => beliefs.interaction,
        };
        let log_noise = |deviation: f64| 2.0 * libm::log(deviation / unit);
        let mut centres: Vec<f64> = components.iter().map(|component| centre(component.kind)).collect();
        centres.push(log_noise(beliefs.noise));
        let mut bounds = vec![VARIANCES; components.len()];
        bounds.push((log_noise(LEAST_NOISE), MOST_NOISE));
        Self { values, weights, gram, centres, bounds, constant: beliefs.constant }
    }

    /// Returns the maximum a posteriori variances (type II), those of the components and that of
    /// the noise.
    pub(crate) fn maximise(&self) -> Vec<f64> {
        let logs = lbfgs::minimise(self.centres.clone(), &self.bounds, STEPS, |logs, slope| self.loss(logs, slope));
        logs.into_iter().map(libm::exp).collect()
    }

    /// Computes −ln p(y | θ) − ln p(θ) up to a constant, and its gradient; θ are the logarithms of
    /// the variances (Rasmussen and Williams, "Gaussian processes for machine learning", 2006,
    /// equations 5.8 and 5.9).
    pub(crate) fn loss(&self, logs: &[f64], slope: &mut [f64]) -> f64 {
        let variances: Vec<f64> = logs.iter().map(|log| libm::exp(*log)).collect();
        let (noise, variances) = variances.split_last().map_or((0.0, &[][..]), |(noise, rest)| (*noise, rest));
        let Some(factor) = Cholesky::of(self.covariance(variances, noise)) else { return f64::INFINITY };
        let weights = factor.solve(self.values);
        let inverse = factor.inverse();

        slope.fill(0.0);
        let (slope_noise, slopes) = slope.split_last_mut().expect("the noise has a variance");
        let mut pairs = self.pairs();
        for (i, weight) in weights.iter().enumerate() {
            for (j, other) in weights[..i].iter().enumerate() {
                add_scaled(slopes, inverse[i][j] - weight * other, pairs.next().unwrap_or_default());
            }
            let own = 0.5 * (inverse[i][i] - weight * weight);
            add_scaled(slopes, own, pairs.next().unwrap_or_default());
            *slope_noise += own * noise / self.weights[i];
        }
        slopes.iter_mut().zip(variances).for_each(|(slope, variance)| *slope *= variance);

        let mut loss = 0.5 * (dot(self.values, &weights) + factor.log_determinant());
        for ((slope, log), centre) in slope.iter_mut().zip(logs).zip(&self.centres) {
            let away = (log - centre) / BELIEF;
            loss += 0.5 * away * away;
            *slope += away / BELIEF;
        }
        loss
    }

    /// Returns the lower triangle of the covariance.
    fn covariance(&self, variances: &[f64], noise: f64) -> Matrix {
        let rows = self.values.len();
        let mut covariance = Matrix::zeros(rows, rows);
        let mut pairs = self.pairs();
        for i in 0..rows {
            for entry in &mut covariance[i][..=i] {
                *entry = self.constant + dot(variances, pairs.next().unwrap_or_default());
            }
            covariance[i][i] += noise / self.weights[i] + JITTER;
        }
        covariance
    }

    /// Returns the components of each pair of places.
    fn pairs(&self) -> impl Iterator<Item = &[f64]> {
        self.gram.chunks_exact((self.centres.len() - 1).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Points;

    #[test]
    fn the_slope_equals_the_differences_of_the_loss() {
        let points = Points {
            numeric: (0..9).map(|i| vec![1.0 + f64::from(i % 3), 2.0 + f64::from(i * i)]).collect(),
            category: (0..9).map(|i| vec![i % 2, i / 4]).collect(),
        };
        let values: Vec<f64> = (0..9).map(|i| f64::from(i * 5 % 7) / 3.0 - 1.0).collect();
        let kernel = Kernel::of(&points, 1.0);
        let places: Vec<Place> = points.numeric.iter().zip(&points.category).map(|(x, c)| kernel.place(x, c)).collect();
        let beliefs = Beliefs { linear: 0.0, smooth: -2.0, name: -1.0, interaction: -3.0, constant: 0.5, noise: 0.03 };
        let evidence = Evidence::of(
            &kernel,
            &places.iter().collect::<Vec<_>>(),
            (&values, &[1.0, 0.2, 1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0]),
            1.0,
            &beliefs,
        );
        let logs: Vec<f64> = (0..evidence.centres.len()).map(|i| -1.0 - (i as f64) / 7.0).collect();
        let mut slope = vec![0.0; logs.len()];
        let mut unread = slope.clone();
        evidence.loss(&logs, &mut slope);
        for i in 0..logs.len() {
            let mut shifted = |by: f64| {
                let mut logs = logs.clone();
                logs[i] += by;
                evidence.loss(&logs, &mut unread)
            };
            let difference = (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
            assert!((slope[i] - difference).abs() < 1e-6, "{i}: {} and {difference}", slope[i]);
        }
    }
}
