//! Gaussian processes: sums of smooth functions of a few features each.

use foreglow_numeric::{Cholesky, Matrix, dot};
use serde::{Deserialize, Serialize};

use foreglow_shared::{sort_by, sort_by_cached_key};

use crate::dataset::{Points, Training};
use crate::permutation::hash;
use crate::regression::evidence::{Beliefs, Evidence, JITTER};
use crate::regression::kernel::{Kernel, Place, Rows};
use crate::regression::plane::{Factored, Plane};
use crate::regression::{Regression, process_plane, spread, weighted_mean};

/// Limit on the rows for learning variances, because the time is cubic in them.
const LEARNT_FROM: usize = 250;
/// Limit on the raises of the noise, by 100 each.
const MOST_RAISES: usize = 100;
/// Lower bound on the unit of the values, in ln t.
const LEAST_UNIT: f64 = 0.01;

/// Prior of a process that models ln t itself: mostly linear, at an unknown level.
pub(crate) const WHOLE: Beliefs =
    Beliefs { linear: 0.0, smooth: -2.0, name: -1.0, interaction: -3.0, constant: 100.0, noise: 0.03 };
/// Prior of a process that models residuals: not linear, and close to 0.
pub(crate) const RESIDUAL: Beliefs =
    Beliefs { linear: -4.0, smooth: -1.0, name: -3.0, interaction: -3.0, constant: 0.1, noise: 0.03 };

/// Posterior mean of a Gaussian process: mean + Σᵢ weightᵢ · k(x, xᵢ) (Rasmussen and Williams,
/// "Gaussian processes for machine learning", 2006, algorithm 2.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GaussianProcess {
    covariance: Covariance,
    mean: f64,
    weights: Vec<f64>,
}

/// Covariance between points and rows, with the noise of the rows, (ln t)².
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Covariance {
    kernel: Kernel,
    /// One per component.
    variances: Vec<f64>,
    constant: f64,
    noise: f64,
    rows: Rows,
}

impl GaussianProcess {
    /// Fits a process to ln t; `length_scale` is in standard deviations of each feature. `known` is
    /// the covariance of a fit of all rows, if these are some of them.
    pub(crate) fn fit(training: &Training, length_scale: f64, known: Option<&Covariance>) -> Self {
        let training = training.representatives();
        let mean = weighted_mean(&training.logs, &training.weights);
        let values: Vec<f64> = training.logs.iter().map(|log| log - mean).collect();
        let learn = || Covariance::learn(&training.points, &values, &training.weights, length_scale, &WHOLE);
        let covariance = known.and_then(|known| known.at(&training.points)).unwrap_or_else(learn);
        let factor = covariance.factor(&training.weights);
        Self::given(covariance, &factor, mean, &values)
    }

    pub(crate) fn covariance(&self) -> &Covariance {
        &self.covariance
    }

    /// Conditions the process on values at its rows, which are distributed about `mean`; `factor`
    /// is that of its covariance.
    pub(crate) fn given(covariance: Covariance, factor: &Cholesky, mean: f64, values: &[f64]) -> Self {
        Self { covariance, mean, weights: factor.solve(values) }
    }
}

/// Returns the standardised leave-one-out residuals (y − μ)/σ of the rows, each with σ (Rasmussen
/// and Williams, §5.4.2).
pub(crate) fn left_out(training: &Training, length_scale: f64) -> Vec<(f64, f64)> {
    let mean = weighted_mean(&training.logs, &training.weights);
    let values: Vec<f64> = training.logs.iter().map(|log| log - mean).collect();
    let covariance = Covariance::learn(&training.points, &values, &training.weights, length_scale, &WHOLE);
    let factor = covariance.factor(&training.weights);
    let (weights, inverse) = (factor.solve(&values), factor.inverse());
    let of_row = |(row, weight): (usize, &f64)| {
        let precision: f64 = inverse[row][row].sqrt();
        (weight / precision, 1.0 / precision)
    };
    weights.iter().enumerate().map(of_row).collect()
}

impl Regression for GaussianProcess {
    fn log(&self, numeric: &[f64], category: &[u32]) -> f64 {
        let place = self.covariance.kernel.place(numeric, category);
        let mut row = vec![0.0; self.weights.len()];
        self.covariance.row(&place, &mut row);
        self.mean + dot(&row, &self.weights)
    }

    fn add_to(&self, grid: &mut Factored, plane: &Plane, weight: f64) {
        grid.down.iter_mut().for_each(|sum| *sum += weight * self.mean);
        let Covariance { kernel, variances, constant, rows, .. } = &self.covariance;
        let rows: Vec<(&Place, f64)> =
            rows.places.iter().zip(self.weights.iter().map(|of_row| weight * of_row)).collect();
        process_plane::add_to(grid, plane, kernel, variances, *constant, &rows);
    }
}

impl Covariance {
    /// Learns the covariance that best explains values at points; the values are distributed about
    /// 0.
    pub(crate) fn learn(
        points: &Points,
        values: &[f64],
        weights: &[f64],
        length_scale: f64,
        beliefs: &Beliefs,
    ) -> Self {
        let kernel = Kernel::of(points, length_scale);
        let rows = places(&kernel, points);
        let unit = spread(values).max(LEAST_UNIT);
        let chosen = sample(rows.len());
        let places: Vec<&Place> = chosen.iter().map(|row| &rows[*row]).collect();
        let scaled: Vec<f64> = chosen.iter().map(|row| values[*row] / unit).collect();
        let chosen_weights: Vec<f64> = chosen.iter().map(|row| weights[*row]).collect();
        let evidence = Evidence::of(&kernel, &places, (&scaled, &chosen_weights), unit, beliefs);
        let mut variances = evidence.maximise();
        variances.iter_mut().for_each(|variance| *variance *= unit * unit);
        let noise = variances.pop().unwrap_or_default() + JITTER * unit * unit;
        Self { kernel, variances, constant: beliefs.constant * unit * unit, noise, rows: rows.into() }
    }

    /// Returns the covariance with the same variances at other points; `None` if other features
    /// vary there.
    pub(crate) fn at(&self, points: &Points) -> Option<Self> {
        let kernel = Kernel::of(points, self.kernel.length_scale());
        let has_same_components = kernel.components() == self.kernel.components();
        has_same_components.then(|| Self { rows: places(&kernel, points).into(), kernel, ..self.clone() })
    }

    /// Returns the factor of the covariance of the rows, n × n, with these noise weights.
    pub(crate) fn factor(&self, weights: &[f64]) -> Cholesky {
        let count = self.rows.places.len();
        let mut noise = self.noise;
        for _ in 0..MOST_RAISES {
            let mut noisy = Matrix::zeros(count, count);
            for (i, place) in self.rows.places.iter().enumerate() {
                self.row(place, &mut noisy[i][..=i]);
                noisy[i][i] += noise / weights[i];
            }
            // Rounding can hide a small noise beside large variances; increasing it does no harm.
            match Cholesky::of(noisy) {
                Some(factor) => return factor,
                None => noise *= 100.0,
            }
        }
        // Only a covariance that is not finite gets here. The rows then have no influence.
        let independent = |i: usize| (0..count).map(|j| if i == j { f64::MAX } else { 0.0 }).collect();
        Cholesky::of_semidefinite(&(0..count).map(independent).collect::<Vec<Vec<f64>>>())
    }

    /// Computes the covariance between a place and each of the first rows.
    fn row(&self, place: &Place, entries: &mut [f64]) {
        entries.fill(0.0);
        self.kernel.add_to_rows(place, &self.rows, &self.variances, entries);
        entries.iter_mut().for_each(|entry| *entry += self.constant);
    }
}

fn places(kernel: &Kernel, points: &Points) -> Vec<Place> {
    points.numeric.iter().zip(&points.category).map(|(x, c)| kernel.place(x, c)).collect()
}

/// Returns the rows from which variances are learnt, ascending: all, or a pseudo-random subset.
fn sample(rows: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    if rows > LEARNT_FROM {
        sort_by_cached_key(&mut order, |row| (hash(*row), *row));
        order.truncate(LEARNT_FROM);
        sort_by(&mut order, Ord::cmp);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regression::tests::{grid, table};

    #[test]
    fn the_mean_is_that_of_the_textbook() {
        let (x, y) = ([1.0, 2.0, 4.0], [0.5, -0.1, 0.2]);
        let rows: Vec<(&[f64], &[u32])> = x.chunks(1).map(|x| (x, [].as_slice())).collect();
        let points = table(&rows, |_, _| 1.0).points;
        let covariance = Covariance::learn(&points, &y, &[1.0; 3], 1.0, &WHOLE);
        let (linear, smooth) = (covariance.variances[0], covariance.variances[1]);
        let (constant, noise) = (covariance.constant, covariance.noise);
        let factor = covariance.factor(&[1.0; 3]);
        let process = GaussianProcess::given(covariance, &factor, 0.3, &y);

        // ln 1, ln 2 and ln 4 lie √1.5 standard deviations apart.
        let z = |x: f64| (libm::log2(x) - 1.0) * libm::sqrt(1.5);
        let k = |a: f64, b: f64| {
            let (a, b) = (z(a), z(b));
            constant + linear * a * b + smooth * libm::exp(-0.5 * (a - b) * (a - b))
        };
        let [[a, b, c], [_, e, f], [_, _, i]] = x.map(|r| x.map(|s| k(r, s) + if r == s { noise } else { 0.0 }));
        // Cramer's rule for the weights of a symmetric system of three.
        let determinant = |m: [[f64; 3]; 3]| -> f64 {
            let [[a, b, c], [d, e, f], [g, h, i]] = m;
            a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
        };
        let whole = determinant([[a, b, c], [b, e, f], [c, f, i]]);
        let weights = [
            determinant([[y[0], b, c], [y[1], e, f], [y[2], f, i]]) / whole,
            determinant([[a, y[0], c], [b, y[1], f], [c, y[2], i]]) / whole,
            determinant([[a, b, y[0]], [b, e, y[1]], [c, f, y[2]]]) / whole,
        ];
        for query in [1.0, 1.5, 3.0, 9.0] {
            let expected = 0.3 + (0..3).map(|r| weights[r] * k(query, x[r])).sum::<f64>();
            let found = process.log(&[query], &[]);
            assert!((found - expected).abs() < 1e-6, "{query}: {found} and {expected}");
        }
    }

    #[test]
    fn variances_of_all_rows_are_kept_in_a_fit_of_some() {
        let all = grid(|x, _| 3.0 + x[1] / x[0]);
        let some = all.select(&[0, 2, 3, 5, 6, 8, 9, 11]);
        let whole = GaussianProcess::fit(&all, 1.0, None);
        let part = GaussianProcess::fit(&some, 1.0, Some(whole.covariance()));
        assert_eq!(part.covariance().variances, whole.covariance().variances);
        assert_ne!(part.covariance().variances, GaussianProcess::fit(&some, 1.0, None).covariance().variances);
        let error = part.log(&[2.0, 100.0], &[]) - libm::log(53.0);
        assert!(error.abs() < 0.05, "{error}");
        // Where a feature is constant, the kernel has other components.
        let constant = all.select(&[0, 1, 2]);
        assert!(whole.covariance().at(&constant.points).is_none());
    }

    #[test]
    fn rows_without_noise_are_met() {
        let training = grid(|x, _| 3.0 + x[1] / x[0]);
        for length_scale in [1.0, 2.0] {
            let process = GaussianProcess::fit(&training, length_scale, None);
            for (met, log) in process.logs(&training.points).iter().zip(&training.logs) {
                assert!((met - log).abs() < 0.01, "{met} and {log}");
            }
        }
    }

    #[test]
    fn what_is_written_reads_back_as_the_same_function() {
        let process = GaussianProcess::fit(&grid(|x, _| 3.0 + x[1] / x[0]), 1.0, None);
        let read: GaussianProcess = serde_json::from_str(&serde_json::to_string(&process).unwrap()).unwrap();
        assert_eq!(read, process);
    }

    #[test]
    fn variances_are_learnt_from_as_many_rows_as_may_be_spread_over_all() {
        assert_eq!(sample(3), [0, 1, 2]);
        let chosen = sample(1000);
        assert_eq!(chosen.len(), LEARNT_FROM);
        assert!(chosen.windows(2).all(|pair| pair[0] < pair[1] && pair[1] - pair[0] < 40), "{chosen:?}");
    }

    #[test]
    fn equal_rows_without_noise_get_as_much_as_a_factor_needs() {
        let covariance = Covariance {
            kernel: Kernel::of(&Points::default(), 1.0),
            variances: vec![],
            constant: 1.0,
            noise: 1e-300,
            rows: vec![Kernel::of(&Points::default(), 1.0).place(&[], &[]); 3].into(),
        };
        assert!(covariance.factor(&[1.0; 3]).solve(&[1.0; 3]).iter().all(|weight| weight.is_finite()));
    }
}
