//! A posynomial with a Gaussian process on its residuals.

use serde::{Deserialize, Serialize};

use crate::dataset::{Points, Training};
use crate::regression::evidence::Beliefs;
use crate::regression::gaussian_process::{Covariance, GaussianProcess, RESIDUAL};
use crate::regression::plane::{Factored, Plane};
use crate::regression::posynomial::{Posynomial, Problem};
use crate::regression::{Regression, weighted_mean};

/// Length scale of the kernels, in standard deviations of a feature.
const LENGTH_SCALE: f64 = 1.0;
/// Number of rows up to which the trend is refitted; with more, the first fit is as good.
const REFITTED: usize = 400;

/// ln t = ln P(x) + a process with mean 0: "universal kriging" (Rasmussen and Williams, "Gaussian
/// processes for machine learning", 2006, §2.7) with a posynomial trend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Detrended {
    trend: Posynomial,
    process: GaussianProcess,
}

impl Detrended {
    /// Learns the covariance of the residuals of `trend`, then refits the trend by generalised
    /// least squares, because residuals of neighbours are correlated. `problem` is the one that the
    /// trend was fitted to. `known` is the covariance of a fit of all rows, if these are some of
    /// them.
    pub(crate) fn fit(
        training: &Training,
        problem: &Problem,
        trend: &Posynomial,
        (noise, known): (f64, Option<&Covariance>),
    ) -> Self {
        let is_refitted = known.is_none() && training.logs.len() <= REFITTED;
        let training = training.representatives();
        let residuals = |trend: &Posynomial| -> Vec<f64> {
            trend.logs(&training.points).iter().zip(&training.logs).map(|(trend, log)| log - trend).collect()
        };
        let beliefs = Beliefs { noise, ..RESIDUAL };
        let learn =
            || Covariance::learn(&training.points, &residuals(trend), &training.weights, LENGTH_SCALE, &beliefs);
        let covariance = known.and_then(|known| known.at(&training.points)).unwrap_or_else(learn);
        let factor = covariance.factor(&training.weights);
        let trend = if is_refitted { problem.refit(trend, &factor.inverse()) } else { trend.clone() };
        let process = GaussianProcess::given(covariance, &factor, 0.0, &residuals(&trend));
        Self { trend, process }
    }

    /// Keeps the trend, and learns a process of its residuals at `points`: those of the rows,
    /// possibly without some columns.
    pub(crate) fn over(
        training: &Training,
        points: &Points,
        trend: Posynomial,
        (beliefs, known): (&Beliefs, Option<&Covariance>),
    ) -> Self {
        let rows = training.points.representatives();
        let (training, points) = match &rows {
            Some(rows) => (&training.select(rows), &points.select(rows)),
            None => (training, points),
        };
        let logs: Vec<f64> =
            trend.logs(&training.points).iter().zip(&training.logs).map(|(trend, log)| log - trend).collect();
        let mean = if beliefs.constant > 1.0 { weighted_mean(&logs, &training.weights) } else { 0.0 };
        let values: Vec<f64> = logs.iter().map(|log| log - mean).collect();
        let learn = || Covariance::learn(points, &values, &training.weights, LENGTH_SCALE, beliefs);
        let covariance = known.and_then(|known| known.at(points)).unwrap_or_else(learn);
        let factor = covariance.factor(&training.weights);
        let process = GaussianProcess::given(covariance, &factor, mean, &values);
        Self { trend, process }
    }
}

impl Detrended {
    pub(crate) fn covariance(&self) -> &Covariance {
        self.process.covariance()
    }

    /// Returns the share of the last term of the trend in the time of a point.
    pub(crate) fn last_share(&self, numeric: &[f64], category: &[u32]) -> f64 {
        self.trend.last_share(numeric, category)
    }
}

impl Regression for Detrended {
    fn log(&self, numeric: &[f64], category: &[u32]) -> f64 {
        self.trend.log(numeric, category) + self.process.log(numeric, category)
    }

    fn add_to(&self, grid: &mut Factored, plane: &Plane, weight: f64) {
        self.trend.add_to(grid, plane, weight);
        self.process.add_to(grid, plane, weight);
    }
}
