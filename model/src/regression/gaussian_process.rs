//! Gaussian processes: smooth functions, a sum over few features each.

use serde::{Deserialize, Serialize};

use crate::dataset::{Points, Training};
use crate::regression::evidence::{Beliefs, Evidence, JITTER};
use crate::regression::kernel::{Kernel, Place};
use crate::regression::linalg::{Factor, Matrix, dot};
use crate::regression::{Regression, mean, spread};

/// Rows at most from which variances are learnt; more would cost their cube.
const LEARNT_FROM: usize = 250;
/// The least unit in which values are counted, ln t: a hundredth.
const LEAST_UNIT: f64 = 0.01;

/// A process that is the whole of ln t: mostly a line, at a level of which nothing is known.
const WHOLE: Beliefs = Beliefs { linear: 0.0, smooth: -2.0, name: -1.0, interaction: -3.0, constant: 100.0 };
/// A process that is what another function leaves: no line, and about 0.
pub(crate) const RESIDUAL: Beliefs =
    Beliefs { linear: -4.0, smooth: -1.0, name: -3.0, interaction: -3.0, constant: 0.1 };

/// The mean of a Gaussian process given the rows: mean + Σᵢ weightᵢ · k(x, xᵢ) (Rasmussen and Williams, "Gaussian
/// processes for machine learning", 2006, algorithm 2.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GaussianProcess {
    covariance: Covariance,
    mean: f64,
    weights: Vec<f64>,
}

/// k between points and rows, with the noise of the rows, (ln t)².
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Covariance {
    kernel: Kernel,
    /// One a component.
    variances: Vec<f64>,
    constant: f64,
    noise: f64,
    rows: Vec<Place>,
}

impl GaussianProcess {
    /// The process of ln t whose kernels of one feature reach so many standard deviations of it.
    pub(crate) fn fit(training: &Training, length_scale: f64) -> Self {
        let mean = mean(&training.logs);
        let values: Vec<f64> = training.logs.iter().map(|log| log - mean).collect();
        let covariance = Covariance::learn(&training.points, &values, length_scale, &WHOLE);
        let factor = covariance.factor();
        Self::given(covariance, &factor, mean, &values)
    }

    /// The process given values at its rows, which lie about `mean`; `factor` is of its covariance.
    pub(crate) fn given(covariance: Covariance, factor: &Factor, mean: f64, values: &[f64]) -> Self {
        Self { covariance, mean, weights: factor.solve(values) }
    }
}

impl Regression for GaussianProcess {
    fn log(&self, numeric: &[f64], category: &[u32]) -> f64 {
        let place = self.covariance.kernel.place(numeric, category);
        let mut row = vec![0.0; self.weights.len()];
        self.covariance.row(&place, &mut row);
        self.mean + dot(&row, &self.weights)
    }
}

impl Covariance {
    /// The covariance that explains values at points best, all values about 0.
    pub(crate) fn learn(points: &Points, values: &[f64], length_scale: f64, beliefs: &Beliefs) -> Self {
        let kernel = Kernel::of(points, length_scale);
        let rows: Vec<Place> = points.numeric.iter().zip(&points.category).map(|(x, c)| kernel.place(x, c)).collect();
        let unit = spread(values).max(LEAST_UNIT);
        let chosen = sample(rows.len());
        let places: Vec<&Place> = chosen.iter().map(|row| &rows[*row]).collect();
        let scaled: Vec<f64> = chosen.iter().map(|row| values[*row] / unit).collect();
        let mut variances = Evidence::of(&kernel, &places, &scaled, unit, beliefs).maximise();
        variances.iter_mut().for_each(|variance| *variance *= unit * unit);
        let noise = variances.pop().unwrap_or_default() + JITTER * unit * unit;
        Self { kernel, variances, constant: beliefs.constant * unit * unit, noise, rows }
    }

    /// The factor of the covariance of the rows, n × n.
    pub(crate) fn factor(&self) -> Factor {
        let mut matrix = Matrix::zeros(self.rows.len(), self.rows.len());
        for (i, place) in self.rows.iter().enumerate() {
            self.row(place, &mut matrix[i][..=i]);
        }
        let mut noise = self.noise;
        loop {
            let mut noisy = matrix.clone();
            for i in 0..self.rows.len() {
                noisy[i][i] += noise;
            }
            // Rounding can hide a small noise among great variances; more of it does no harm.
            match Factor::of(noisy) {
                Some(factor) => break factor,
                None => noise *= 100.0,
            }
        }
    }

    /// k between a place and the first of the rows.
    fn row(&self, place: &Place, entries: &mut [f64]) {
        let mut scratch = self.kernel.scratch();
        for (entry, row) in entries.iter_mut().zip(&self.rows) {
            let components = self.kernel.between(place, row, &mut scratch);
            *entry = self.constant + components.zip(&self.variances).map(|(k, variance)| k * variance).sum::<f64>();
        }
    }
}

/// Rows from which variances are learnt, ascending: all, or as many as may be, spread evenly by the finaliser of
/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
fn sample(rows: usize) -> Vec<usize> {
    let mixed = |row: usize| {
        let mut z = (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut order: Vec<usize> = (0..rows).collect();
    if rows > LEARNT_FROM {
        order.sort_unstable_by_key(|row| mixed(*row));
        order.truncate(LEARNT_FROM);
        order.sort_unstable();
    }
    order
}
