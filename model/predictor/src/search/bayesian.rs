//! CherryPick's model: a Gaussian process with a Matérn 5/2 kernel over the configurations.

use foreglow_numeric::Cholesky;

use super::start::{distance, points};
use super::{Expected, Probe, SearchTable};

/// Length scales to choose from, in units of a column's range, and noise variances, in units of the
/// process's variance.
const LENGTHS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
const NOISES: [f64; 2] = [1e-3, 1e-2];

/// A process of ln t, fitted by maximum likelihood.
pub(super) struct Process {
    points: Vec<Vec<f64>>,
    rows: Vec<usize>,
    length: f64,
    mean: f64,
    variance: f64,
    factor: Cholesky,
    weights: Vec<f64>,
}

impl Process {
    pub(super) fn fit(table: &SearchTable, probes: &[Probe]) -> Self {
        let points = points(&table.features);
        let rows: Vec<usize> = probes.iter().map(|probe| probe.candidate).collect();
        let logs: Vec<f64> = probes.iter().map(|probe| libm::log(probe.secs)).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let rest: Vec<f64> = logs.iter().map(|log| log - mean).collect();
        let mut best: Option<(f64, Self)> = None;
        for length in LENGTHS {
            for noise in NOISES {
                let covariance = |i: usize, j: usize| {
                    let kernel = matern(distance(&points[rows[i]], &points[rows[j]]) / length);
                    if i == j { kernel + noise } else { kernel }
                };
                let matrix: Vec<Vec<f64>> =
                    (0..rows.len()).map(|i| (0..rows.len()).map(|j| covariance(i, j)).collect()).collect();
                let factor = Cholesky::of_semidefinite(&matrix);
                let whitened = factor.forward(&rest);
                let squares: f64 = whitened.iter().map(|value| value * value).sum();
                // The variance that maximises the likelihood, and the log likelihood at it.
                let variance = (squares / rows.len() as f64).max(1e-6);
                let log_determinant = factor.log_determinant();
                let likelihood = -0.5 * (rows.len() as f64 * libm::log(variance) + log_determinant);
                if best.as_ref().is_none_or(|(most, _)| likelihood > *most) {
                    let weights = factor.solve(&rest);
                    let (points, rows) = (points.clone(), rows.clone());
                    best = Some((likelihood, Self { points, rows, length, mean, variance, factor, weights }));
                }
            }
        }
        best.map(|(_, process)| process).expect("there are length scales to choose from")
    }

    pub(super) fn expect_of(&self, open: &[usize]) -> Vec<Expected> {
        let expected = |candidate: &usize| {
            let to = |row: &usize| matern(distance(&self.points[*candidate], &self.points[*row]) / self.length);
            let kernel: Vec<f64> = self.rows.iter().map(to).collect();
            let log = self.mean + kernel.iter().zip(&self.weights).map(|(k, weight)| k * weight).sum::<f64>();
            let known: f64 = self.factor.forward(&kernel).iter().map(|value| value * value).sum();
            let deviation = (self.variance * (1.0 - known).max(1e-6)).sqrt();
            Expected { candidate: *candidate, secs: libm::exp(log), deviation: deviation.max(0.01) }
        };
        open.iter().map(expected).collect()
    }
}

/// The Matérn kernel of smoothness 5/2.
fn matern(distance: f64) -> f64 {
    let scaled = 5.0_f64.sqrt() * distance;
    (1.0 + scaled + scaled * scaled / 3.0) * libm::exp(-scaled)
}
