//! A Gaussian process of ln t over configurations, used for its uncertainty.
//!
//! ln t is the sum of a part that all machine types share, and one part each for the kind of
//! device, the machine type, and the batch size with its averaging interval. Each part is a level
//! with linear and quadratic terms in ln E, ln C and ln SR, with independent normal priors, as in
//! the [advice on one context](crate::advise). Only its variances and covariances are used: they
//! depend on where runs are made and not on their results (Chaloner and Verdinelli, "Bayesian
//! experimental design: a review", Statistical Science 10(3), 1995, §2.1).
//!
//! The parts of machine types are independent of each other, given the other parts. Each is
//! therefore eliminated by itself (Lindley and Smith, "Bayes estimates for the linear model", JRSS
//! B 34(1), 1972), and time and memory are linear in the number of machine types and of runs.

use foreglow_numeric::{Cholesky, add_scaled, dot};
use foreglow_shared::{CoreSplit, sort_by};

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
/// Limit on the batch sizes with a part of their own; the time is quadratic in them. Further ones
/// share the last.
const MOST_BATCHES: usize = 16;

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

/// The uncertainty after the runs so far. Coefficients are in units of their prior deviations.
pub(super) struct Belief {
    /// Numbers of devices and of batch sizes. The shared parts have G = 10 · (1 + both)
    /// coefficients.
    counts: (usize, usize),
    /// Machine types with runs, ascending by number.
    machines: Vec<(usize, Machine)>,
    /// Factor of the posterior precision of the shared coefficients, G × G.
    factor: Cholesky,
    /// Variance of ln t between equal runs.
    noise: f64,
}

/// The part of a machine type with runs, given the shared parts.
struct Machine {
    /// Factor of the precision of its coefficients in units of the noise, 10 × 10.
    factor: Cholesky,
    /// By how much each of its coefficients is expected to fall if a shared one rises by 1, 10
    /// lists of G.
    follows: Vec<Vec<f64>>,
}

/// A point with its posterior after the runs so far.
#[derive(Clone, Debug)]
pub(super) struct Known {
    machine: usize,
    /// Standard normal coefficients of ln t: those of the shared parts, G, and of the machine type.
    shared: Vec<f64>,
    own: Vec<f64>,
    /// Variance of ln t, without the noise of a run.
    pub(super) variance: f64,
}

impl Point {
    pub(super) fn new(location: Location, split: CoreSplit, share: f64) -> Self {
        Self { contrast: Contrast::of(Setting::at(split, share)), location }
    }

    /// Returns the weights of the coefficients of the shared parts, G.
    fn shared(&self, (devices, batches): (usize, usize)) -> Vec<f64> {
        let Location { device, batch, .. } = self.location;
        let mut weights = vec![0.0; EFFECTS * (1 + devices + batches)];
        let parts = [(0, &PRIOR), (1 + device, &OF_DEVICE), (1 + devices + batch.min(MOST_BATCHES - 1), &OF_BATCH)];
        for (part, deviations) in parts {
            weights[EFFECTS * part..][..EFFECTS].copy_from_slice(&self.contrast.scaled(deviations, 1.0));
        }
        weights
    }

    /// Returns the weights of the coefficients of the machine type.
    fn own(&self) -> [f64; EFFECTS] {
        self.contrast.scaled(&OF_MACHINE, if self.location.has_other_cnns { OTHER_CNNS } else { 1.0 })
    }
}

impl Machine {
    /// Returns the part of a machine type with these runs, and what they tell of the shared
    /// coefficients: the precision that they add, G × G, in units of the noise.
    fn of(runs: &[&Point], counts: (usize, usize), noise: f64) -> (Self, Vec<Vec<f64>>) {
        let mut precision = vec![vec![0.0; EFFECTS]; EFFECTS];
        let mut together: Vec<Vec<f64>> = Vec::new();
        let mut told: Vec<Vec<f64>> = Vec::new();
        for run in runs {
            let (shared, own) = (run.shared(counts), run.own());
            together.resize(EFFECTS, vec![0.0; shared.len()]);
            told.resize(shared.len(), vec![0.0; shared.len()]);
            add_products(&mut precision, &own, &own);
            add_products(&mut together, &own, &shared);
            add_products(&mut told, &shared, &shared);
        }
        precision.iter_mut().enumerate().for_each(|(effect, row)| row[effect] += noise);
        let factor = Cholesky::of_semidefinite(&precision);
        let columns = 0..told.len();
        let column = |place: usize| -> Vec<f64> { together.iter().map(|row| row[place]).collect() };
        let whitened: Vec<Vec<f64>> = columns.clone().map(|place| factor.forward(&column(place))).collect();
        for (row, own) in told.iter_mut().zip(&whitened) {
            row.iter_mut().zip(&whitened).for_each(|(entry, other)| *entry -= dot(own, other));
        }
        let solved: Vec<Vec<f64>> = columns.map(|place| factor.solve(&column(place))).collect();
        let follows = (0..EFFECTS).map(|effect| solved.iter().map(|column| column[effect]).collect()).collect();
        (Self { factor, follows }, told)
    }
}

fn add_products(matrix: &mut [Vec<f64>], rows: &[f64], columns: &[f64]) {
    matrix.iter_mut().zip(rows).for_each(|(row, value)| add_scaled(row, *value, columns));
}

impl Belief {
    /// `noise` is the standard deviation of ln t between equal runs, and `counts` holds the numbers
    /// of devices and of batch sizes.
    pub(super) fn after(runs: &[Point], (devices, batches): (usize, usize), noise: f64) -> Self {
        let (counts, noise) = ((devices, batches.min(MOST_BATCHES)), noise * noise);
        let mut of_machines: Vec<&Point> = runs.iter().collect();
        sort_by(&mut of_machines, |a, b| a.location.machine.cmp(&b.location.machine));
        let coefficients = EFFECTS * (1 + counts.0 + counts.1);
        let unit = |place: usize| (0..coefficients).map(|other| f64::from(u8::from(other == place))).collect();
        let mut precision: Vec<Vec<f64>> = (0..coefficients).map(unit).collect();
        let mut machines = Vec::new();
        for runs in of_machines.chunk_by(|a, b| a.location.machine == b.location.machine) {
            let (part, told) = Machine::of(runs, counts, noise);
            precision.iter_mut().zip(&told).for_each(|(row, told)| add_scaled(row, 1.0 / noise, told));
            machines.push((runs[0].location.machine, part));
        }
        Self { counts, machines, factor: Cholesky::of_semidefinite(&precision), noise }
    }

    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    pub(super) fn of(&self, point: Point) -> Known {
        let (mut shared, mut own) = (point.shared(self.counts), point.own().to_vec());
        let machine = point.location.machine;
        if let Ok(place) = self.machines.binary_search_by_key(&machine, |(known, _)| *known) {
            let (_, part) = &self.machines[place];
            part.follows.iter().zip(&own).for_each(|(follows, weight)| add_scaled(&mut shared, -weight, follows));
            own = part.factor.forward(&own);
            own.iter_mut().for_each(|value| *value *= self.noise.sqrt());
        }
        let shared = self.factor.forward(&shared);
        let variance = dot(&shared, &shared) + dot(&own, &own);
        Known { machine, shared, own, variance }
    }

    /// Returns the standard deviation of the change that a run at `run` makes to the expected ln t
    /// of `asked`; negative if a slower run lowers the expected time of `asked`.
    pub(super) fn change(&self, asked: &Known, run: &Known) -> f64 {
        let own = if asked.machine == run.machine { dot(&asked.own, &run.own) } else { 0.0 };
        (dot(&asked.shared, &run.shared) + own) / (run.variance + self.noise).sqrt()
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
            let belief = Belief::after(&runs, (1, 1), 0.1);
            let mut longer = runs.clone();
            longer.push(run);
            let after = Belief::after(&longer, (1, 1), 0.1);
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
        let belief = Belief::after(&[at(0, 1, 0.01), at(0, 1, 0.1), at(0, 2, 0.1)], (1, 1), 0.05);
        let run = belief.of(at(1, 1, 0.1));
        let change = |machine: usize| belief.change(&belief.of(at(machine, 1, 1.0)), &run);
        // For another new machine type it changes half as much, because it only shows how the
        // measured type compares with all.
        let (own, other) = (change(1), change(2));
        assert!(own > 0.4 && own > 1.5 * other && other > 0.1 && own > 2.0 * change(0).abs(), "{own} {other}");
    }

    #[test]
    fn the_uncertainty_is_that_of_all_runs_together() {
        let point = |(device, machine, batch): (usize, usize, usize), executors: u32, share: f64| {
            let location = Location { device, machine, batch, has_other_cnns: machine == 1 };
            Point::new(location, CoreSplit::even(executors, 1 + executors % 3), share)
        };
        let runs = [
            point((0, 0, 0), 1, 0.01),
            point((0, 0, 1), 4, 0.1),
            point((0, 1, 0), 2, 0.03),
            point((1, 2, 1), 1, 0.1),
            point((1, 2, 1), 8, 0.01),
        ];
        let (counts, noise) = ((2, 2), 0.1);
        let covariance = |a: &Point, b: &Point| {
            let own = if a.location.machine == b.location.machine { dot(&a.own(), &b.own()) } else { 0.0 };
            dot(&a.shared(counts), &b.shared(counts)) + own
        };
        let noisy = |i: usize, j: usize| covariance(&runs[i], &runs[j]) + if i == j { noise * noise } else { 0.0 };
        let matrix: Vec<Vec<f64>> = (0..runs.len()).map(|i| (0..runs.len()).map(|j| noisy(i, j)).collect()).collect();
        let factor = Cholesky::of_semidefinite(&matrix);
        let told = |point: &Point| factor.forward(&runs.iter().map(|run| covariance(run, point)).collect::<Vec<f64>>());
        let belief = Belief::after(&runs, counts, noise);
        let asked = [point((0, 0, 0), 8, 1.0), point((0, 1, 1), 4, 1.0), point((1, 3, 0), 1, 0.3)];
        for (a, b) in asked.iter().flat_map(|a| asked.iter().map(move |b| (a, b))) {
            let expected = covariance(a, b) - dot(&told(a), &told(b));
            let (of_a, of_b) = (belief.of(*a), belief.of(*b));
            let found = belief.change(&of_a, &of_b) * (of_b.variance + noise * noise).sqrt();
            assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "{found} {expected}");
        }
    }
}
