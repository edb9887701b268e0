//! How much the candidates and the fits without some rows disagree beyond the ranges.
//!
//! Candidates that all fit the runs can differ by a factor at a question far beyond them, and a
//! slope that is uncertain by 10 % within the range is as uncertain beyond it, where it is nearly
//! the whole time. Held-out rows near the range do not show this, so that the variance of ln t is
//! measured where the questions are: at the rows moved beyond the end of the range. It is
//! the sum of the variance between candidates (Hoeting, Madigan, Raftery and Volinsky, "Bayesian
//! model averaging: a tutorial", Statistical Science 14(4), 1999) and of the jackknife variance of
//! their weighted mean (Miller, "The jackknife: a review", Biometrika 61(1), 1974).

use crate::dataset::Points;
use crate::ensemble::axis::{Axis, Side};
use crate::ensemble::canonical::Table;
use crate::ensemble::folds::has_forward;
use crate::ensemble::shape::{Extent, Shape};

/// Distances beyond the range at which the variance is measured, in units of the range.
const DISTANCES: [f64; 2] = [0.75, 1.5];
/// Limit on the rows that are moved.
const ROWS: usize = 24;
/// Number of values up to which more workers may give no speed-up, and the weight of that.
const FEW_LEVELS: usize = 3;
const NO_GAIN: f64 = 0.05;

/// Rows moved beyond the end of each range that the questions exceed.
pub(super) struct Beyond {
    pub(super) points: Points,
    /// Squared distance of each point, in units of the ranges.
    squared: Vec<f64>,
    /// Row of the same configuration at the end of the range, one per point.
    ends: Points,
    /// Weight of the possibility that more workers give no speed-up.
    no_gain: f64,
    /// Whether rows as far beyond the range could be held out, which show how far the candidates
    /// are off.
    is_judged: bool,
}

impl Beyond {
    /// `None` if the questions of the shape exceed no range of the table.
    pub(super) fn of(
        table: &Table,
        extent: &Extent,
        shape: &Shape,
        is_workers: &dyn Fn(usize) -> bool,
    ) -> Option<Self> {
        let Shape::Beyond(sides) = shape else { return None };
        let all = &table.training.points;
        let step = table.rows().div_ceil(ROWS);
        let (mut points, mut ends) = (empty(), empty());
        let mut squared = Vec::new();
        for row in (0..table.rows()).step_by(step) {
            for distance in DISTANCES {
                let at = |distance: f64| {
                    let mut moved = all.numeric[row].clone();
                    for (column, side) in sides {
                        moved[*column] = extent.numeric[*column].beyond(*side, distance);
                    }
                    moved
                };
                points.numeric.push(at(distance));
                ends.numeric.push(at(0.0));
                points.category.push(all.category[row].clone());
                ends.category.push(all.category[row].clone());
                squared.push(distance * distance * sides.len() as f64);
            }
        }
        let few_workers = |(column, side): &(usize, Side)| {
            *side == Side::Above && is_workers(*column) && extent.numeric[*column].levels.len() <= FEW_LEVELS
        };
        let no_gain = if sides.iter().any(few_workers) { NO_GAIN } else { 0.0 };
        Some(Self { points, squared, ends, no_gain, is_judged: has_forward(extent, shape) })
    }

    /// Returns the variance of ln t per squared distance: of the candidates with these weights,
    /// `predicted` by each at the points, and of their mean over the fits without the rows of each
    /// fold, `folds`. `at_ends` has the predictions at the ends of the range.
    pub(super) fn variance(
        &self,
        weights: &[f64],
        (predicted, at_ends): (&[Vec<f64>], &[Vec<f64>]),
        folds: &[Vec<Vec<f64>>],
    ) -> f64 {
        let mean = |of: &[Vec<f64>], point: usize| -> f64 {
            weights.iter().zip(of).map(|(weight, logs)| weight * logs[point]).sum()
        };
        let of_point = |point: usize| {
            let centre = mean(predicted, point);
            let square = |log: f64| (log - centre) * (log - centre);
            let candidates: f64 =
                weights.iter().zip(predicted).map(|(weight, logs)| weight * square(logs[point])).sum();
            let candidates = if self.is_judged { 0.0 } else { candidates };
            let between = (1.0 - self.no_gain) * candidates + self.no_gain * square(mean(at_ends, point));
            let left_out: f64 = folds.iter().map(|fold| square(mean(fold, point))).sum();
            let jackknife = if self.is_judged { 0.0 } else { left_out } * (folds.len() as f64 - 1.0).max(0.0)
                / folds.len().max(1) as f64;
            (between + jackknife) / self.squared[point]
        };
        let points = self.squared.len();
        (0..points).map(of_point).sum::<f64>() / points as f64
    }

    /// Returns the points at the ends of the range.
    pub(super) fn ends(&self) -> &Points {
        &self.ends
    }
}

fn empty() -> Points {
    Points { numeric: Vec::new(), category: Vec::new() }
}

impl Axis {
    /// Returns the value at a distance beyond an end, in units of the range.
    fn beyond(&self, side: Side, distance: f64) -> f64 {
        let range = self.see(self.largest()) - self.see(self.smallest());
        let seen = match side {
            Side::Above => self.see(self.largest()) + distance * range,
            Side::Below => self.see(self.smallest()) - distance * range,
        };
        if self.log { libm::exp(seen) } else { seen }
    }
}
