//! How uncertain a law is beyond the measured amounts of work.
//!
//! Where the start-up takes most of the time of every run, the slope along the work is uncertain,
//! and is nearly the whole time of a larger job. Held-out rows near the range do not show this. The
//! variance of the law's parameters does, at rows moved beyond the range.

use serde::{Deserialize, Serialize};

use crate::dataset::Points;
use crate::ensemble::axis::{Axis, Side};
use crate::ensemble::canonical::Table;
use crate::ensemble::shape::Extent;

/// Distances at which the variance is measured, in units of the range: at its end, and beyond.
const DISTANCES: [f64; 3] = [0.0, 1.0, 2.0];
/// Limit on the rows that are moved.
const ROWS: usize = 30;

/// Variance of ln t from the parameters of a law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Parameters {
    /// At each of [`DISTANCES`], beyond that at the end of the range.
    variances: [f64; 3],
}

impl Parameters {
    /// No variance.
    pub(super) const KNOWN: Self = Self { variances: [0.0; 3] };

    /// `of` returns the variance at points.
    pub(super) fn of(
        table: &Table,
        extent: &Extent,
        sides: &[(usize, Side)],
        of: impl Fn(&Points) -> Vec<f64>,
    ) -> Self {
        let mean = |distance: f64| {
            let variances = of(&moved(table, extent, sides, distance));
            variances.iter().sum::<f64>() / variances.len() as f64
        };
        let [end, near, far] = DISTANCES.map(mean);
        let near = (near - end).max(0.0);
        Self { variances: [0.0, near, (far - end).max(near)] }
    }

    /// Returns the same variance in another unit.
    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { variances: self.variances.map(|variance| variance * factor) }
    }

    /// Returns the variance at a squared distance, linear between those that were measured.
    #[inline]
    pub(super) fn at(self, distance_squared: f64) -> f64 {
        let [_, near, far] = self.variances;
        let [_, first, second] = DISTANCES.map(|distance| distance * distance);
        if distance_squared < first {
            near * distance_squared / first
        } else {
            near + (far - near) * ((distance_squared - first) / (second - first)).min(1.0)
        }
    }
}

/// Returns rows moved to a distance beyond the ends of these ranges.
fn moved(table: &Table, extent: &Extent, sides: &[(usize, Side)], distance: f64) -> Points {
    let points = &table.training.points;
    let chosen: Vec<usize> = (0..points.rows()).step_by(points.rows().div_ceil(ROWS)).collect();
    let mut moved = points.select(&chosen);
    for row in &mut moved.numeric {
        for (column, side) in sides {
            row[*column] = extent.numeric[*column].beyond(*side, distance);
        }
    }
    moved
}

impl Axis {
    /// Returns the value at a distance beyond an end, in units of the range.
    fn beyond(&self, side: Side, distance: f64) -> f64 {
        let away = distance * (self.see(self.largest()) - self.see(self.smallest()));
        let seen = match side {
            Side::Above => self.see(self.largest()) + away,
            Side::Below => self.see(self.smallest()) - away,
        };
        if self.log { libm::exp(seen) } else { seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_is_linear_between_the_distances_and_constant_beyond_them() {
        let parameters = Parameters { variances: [0.0, 2.0, 5.0] };
        assert_eq!([0.0, 0.5, 1.0, 2.5, 4.0, 9.0].map(|square| parameters.at(square)), [0.0, 1.0, 2.0, 3.5, 5.0, 5.0]);
        assert_eq!(parameters.scaled(0.5).at(4.0), 2.5);
    }
}
