//! How uncertain a prediction is beyond the measured ranges, where held-out rows do not show it.
//!
//! Where the start-up takes most of the time of every run, the slope along the work is uncertain,
//! and is nearly the whole time of a larger job. Held-out rows near the range do not show this. The
//! variance of the law's parameters does, at rows moved beyond the range.
//!
//! For more replicas or more cores of a machine, candidates that all fit the runs differ. The
//! variance between them is that of Bayesian model averaging (Draper, "Assessment and propagation
//! of model uncertainty", JRSS B 57(1), 1995). Two counts of replicas fit any law. Amdahl's law is
//! then the synchronisation of replicas that takes w/W times as long for w of them, with W the
//! largest measured count.

use std::sync::Arc;

use foreglow_numeric::student_t;
use serde::{Deserialize, Serialize};

use crate::dataset::Points;
use crate::ensemble::axis::{Axis, Side};
use crate::ensemble::candidate::{Kind, Member};
use crate::ensemble::canonical::Table;
use crate::ensemble::shape::Extent;
use crate::regression::Regression;

/// Distances at which the variance is measured, in units of the range: at its end, and beyond.
const DISTANCES: [f64; 3] = [0.0, 1.0, 2.0];
/// Limit on the rows that are moved.
const ROWS: usize = 30;

/// Degrees of freedom and probability of the upper end of a 90 % interval beyond a range.
const UPPER_END: (f64, f64) = (2.0, 0.05);

/// Hardware threads of a core on most processors: with all of them, the last doubling may give
/// no speed-up.
const THREADS: f64 = 2.0;
/// How much longer the synchronisation takes between nodes: PCIe 3.0 ×16 moves about 12 GB/s
/// between the GPUs of a node, and 25 Gb/s Ethernet 3 GB/s between nodes.
const SECOND_NODE: f64 = 4.0;

/// Variance of ln t as a function of the distance beyond the range.
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

    /// Returns the variance between weighted candidates, and that of a change that no run shows:
    ///
    /// - The last cores may be hardware threads of others, which give no speed-up.
    /// - More replicas may be on a second node, where the synchronisation takes longer, or may
    ///   follow Amdahl's law if no held-out rows judge the laws.
    ///
    /// The upper end of a 90 % interval is at least the time after the change.
    pub(super) fn unshown(
        table: &Table,
        extent: &Extent,
        sides: &[(usize, Side)],
        members: &[(Kind, Arc<Member>, f64)],
        (are_cores, is_judged): (bool, bool),
    ) -> Self {
        // The mean of ln t over the rows, its variance between the candidates, and the mean
        // increase by a longer synchronisation.
        let moments = |distance: f64| {
            let points = moved(table, extent, sides, distance);
            let ratio = |(column, side): &(usize, Side)| {
                let axis = &extent.numeric[*column];
                axis.beyond(*side, distance) / axis.largest()
            };
            let amdahl = sides.iter().filter(|_| !is_judged).map(ratio).fold(1.0, f64::max);
            let longer = SECOND_NODE.max(amdahl);
            let logs: Vec<Vec<f64>> = members.iter().map(|(_, member, _)| member.logs(&points)).collect();
            let weighted = |of: &dyn Fn(&[f64]) -> f64| -> f64 {
                logs.iter().zip(members).map(|(logs, (_, _, weight))| weight * of(logs)).sum()
            };
            let replicas = members.iter().filter(|(kind, ..)| *kind == Kind::Synchronised);
            let shares = replicas.flat_map(|(_, member, _)| member.synchronisation(&points));
            let synchronising = shares.map(|share| libm::log(1.0 + (longer - 1.0) * share)).sum::<f64>();
            let (mut mean, mut variance) = (0.0, 0.0);
            for row in 0..points.rows() {
                let of_row = weighted(&|logs| logs[row]);
                mean += of_row / points.rows() as f64;
                variance += weighted(&|logs| (logs[row] - of_row) * (logs[row] - of_row)) / points.rows() as f64;
            }
            (mean, variance, synchronising / points.rows() as f64)
        };
        let [end, near, far] = DISTANCES.map(moments);
        let quantile = student_t::exceeded_with(UPPER_END.1, UPPER_END.0);
        let beyond = |(mean, variance, synchronising): (f64, f64, f64)| {
            let threads = if are_cores { (end.0 - mean).clamp(0.0, libm::log(THREADS)) } else { 0.0 };
            let change = threads.max(synchronising) / quantile;
            // The change of replicas contains Amdahl's law.
            let between = if are_cores || is_judged { (variance - end.1).max(0.0) } else { 0.0 };
            between + change * change
        };
        let near = beyond(near);
        Self { variances: [0.0, near, beyond(far).max(near)] }
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
