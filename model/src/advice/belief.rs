//! A Gaussian process of ln t over configurations, used for its uncertainty.
//!
//! ln t is the sum of a part that all machine types share, and one part each for the kind of
//! device, the machine type, and the batch size with its averaging interval. Each part is a level
//! with linear and quadratic terms in ln E, ln C and ln SR, with independent normal priors, as in
//! the [advice on one context](crate::advise). Only its variances and covariances are used: they
//! depend on where runs are made and not on their results (Chaloner and Verdinelli, "Bayesian
//! experimental design: a review", Statistical Science 10(3), 1995, §2.1).

use foreglow_numeric::Cholesky;
use foreglow_shared::CoreSplit;

use super::contrast::{Contrast, EFFECTS, PRIOR};
use crate::Setting;

/// Prior standard deviations of the parts of a kind of device, a machine type and a batch size, in
/// the order of [`PRIOR`]. Machine types differ by a factor of 1.6 in speed, and less in scaling.
const OF_DEVICE: [f64; EFFECTS] = [1.5, 0.5, 0.5, 0.3, 0.1, 0.1, 0.03, 0.1, 0.03, 0.03];
const OF_MACHINE: [f64; EFFECTS] = [0.5, 0.15, 0.15, 0.1, 0.03, 0.03, 0.01, 0.03, 0.01, 0.01];
const OF_BATCH: [f64; EFFECTS] = [0.3, 0.05, 0.05, 0.05, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01];
/// Factor of the prior deviations of a machine type on which other CNNs ran, whose runs already
/// show its speed.
const OTHER_CNNS: f64 = 0.5;

/// A configuration at a share of the job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    contrast: Contrast,
    location: Location,
}

/// Where a configuration runs. Equal numbers stand for equal devices, machine types and batch
/// sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Location {
    /// The engine, and whether it runs on CPUs or GPUs.
    pub(super) device: usize,
    pub(super) machine: usize,
    /// The batch size and averaging interval.
    pub(super) batch: usize,
    /// Whether runs of other CNNs show the speed of the machine type.
    pub(super) has_other_cnns: bool,
}

/// The uncertainty after the runs so far.
pub(super) struct Belief {
    runs: Vec<Point>,
    factor: Cholesky,
    /// Variance of ln t between equal runs.
    noise: f64,
}

/// A point with its posterior after the runs so far.
#[derive(Clone, Debug)]
pub(super) struct Known {
    point: Point,
    /// Covariances with the runs, whitened.
    told: Vec<f64>,
    /// Variance of ln t, without the noise of a run.
    pub(super) variance: f64,
}

impl Point {
    pub(super) fn new(location: Location, split: CoreSplit, share: f64) -> Self {
        Self { contrast: Contrast::of(Setting::at(split, share)), location }
    }

    fn covariance(&self, other: &Self) -> f64 {
        let product = |deviations: &[f64; EFFECTS]| self.contrast.product(&other.contrast, deviations);
        let mut sum = product(&PRIOR);
        let (own, others) = (self.location, other.location);
        if own.device == others.device {
            sum += product(&OF_DEVICE);
        }
        if own.machine == others.machine {
            let trust = if own.has_other_cnns { OTHER_CNNS * OTHER_CNNS } else { 1.0 };
            sum += trust * product(&OF_MACHINE);
        }
        if own.batch == others.batch {
            sum += product(&OF_BATCH);
        }
        sum
    }
}

impl Belief {
    /// `noise` is the standard deviation of ln t between equal runs.
    pub(super) fn after(runs: Vec<Point>, noise: f64) -> Self {
        let noise = noise * noise;
        let row = |(place, run): (usize, &Point)| {
            let cell = |(other, to): (usize, &Point)| run.covariance(to) + if place == other { noise } else { 0.0 };
            runs.iter().enumerate().map(cell).collect()
        };
        let matrix: Vec<Vec<f64>> = runs.iter().enumerate().map(row).collect();
        Self { factor: Cholesky::of_semidefinite(&matrix), runs, noise }
    }

    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    pub(super) fn of(&self, point: Point) -> Known {
        let told = self.factor.forward(&self.runs.iter().map(|run| run.covariance(&point)).collect::<Vec<f64>>());
        let known: f64 = told.iter().map(|value| value * value).sum();
        Known { point, variance: (point.covariance(&point) - known).max(0.0), told }
    }

    /// Returns the standard deviation of the change that a run at `run` makes to the expected ln t
    /// of `asked`; negative if a slower run lowers the expected time of `asked`.
    pub(super) fn change(&self, asked: &Known, run: &Known) -> f64 {
        let told: f64 = asked.told.iter().zip(&run.told).map(|(a, b)| a * b).sum();
        (asked.point.covariance(&run.point) - told) / (run.variance + self.noise).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(machine: usize, executors: u32, share: f64) -> Point {
        let location = Location { device: 0, machine, batch: 0, has_other_cnns: false };
        Point::new(location, CoreSplit::even(executors, 1), share)
    }

    #[test]
    fn a_run_changes_the_expected_time_by_what_it_takes_from_the_variance() {
        let mut runs = Vec::new();
        for run in [at(0, 1, 0.01), at(0, 4, 0.1), at(1, 1, 0.01)] {
            let belief = Belief::after(runs.clone(), 0.1);
            let mut longer = runs.clone();
            longer.push(run);
            let after = Belief::after(longer, 0.1);
            for asked in [at(0, 1, 1.0), at(1, 4, 1.0), at(2, 2, 0.1)] {
                let change = belief.change(&belief.of(asked), &belief.of(run));
                let lowered = belief.of(asked).variance - after.of(asked).variance;
                assert!((change * change - lowered).abs() < 1e-6 * belief.of(asked).variance, "{change} {lowered}");
            }
            runs.push(run);
        }
    }

    #[test]
    fn a_run_tells_most_of_its_own_machine_type() {
        let belief = Belief::after(vec![at(0, 1, 0.01), at(0, 1, 0.1), at(0, 2, 0.1)], 0.05);
        let run = belief.of(at(1, 1, 0.1));
        let change = |machine: usize| belief.change(&belief.of(at(machine, 1, 1.0)), &run);
        // For another new machine type it changes half as much, because it only shows how the
        // measured type compares with all.
        let (own, other) = (change(1), change(2));
        assert!(own > 0.4 && own > 1.5 * other && other > 0.1 && own > 2.0 * change(0).abs(), "{own} {other}");
    }
}
