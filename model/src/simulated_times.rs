//! Completion times of an application on other configurations and with other amounts of data, from
//! the event logs of one or several of its runs.
//!
//! Each log gives the time that its run would have taken on the configuration in question: the
//! measured time multiplied by the ratio of the simulated times there and on its own configuration.
//! The times of several logs differ by their amounts of data, by noise from night to night, and by
//! the error of the simulation. They are combined by generalised least squares for t = a + b·n with
//! a, b ≥ 0 and n the amount of data. The covariance of two logs' errors is
//!
//! V = σ²·I/w + τ²·(Δ Δᵀ + m(Δ, Δ))/2 + η²·Λ Λᵀ, where
//!
//! - σ is the noise of a night, estimated from the logs with a prior; w is the robust weight of a
//!   log (Student's t with [`TAIL`] degrees of freedom);
//! - Δ is the distance of a log's configuration from the one in question in doublings of executors,
//!   and of cores per executor, each with its τ. The first term is an error that is linear in
//!   doublings, such as of tasks that slow down by 5 % with each; the second an error that grows as
//!   a random walk (m is the smaller of two distances in the same direction, 0 of opposite ones);
//! - Λ is the distance of its amount from the one in question in doublings.
//!
//! Two logs on different configurations thereby show how tasks slow down between them, and the rest
//! is extrapolated. A pseudo-observation says that the share of time that does not grow with data
//! is that of the driver and [`CONSTANT_SHARE`] of the rest, within [`SHARE_DEVIATION`].

use foreglow_numeric::{Cholesky, MEDIAN_OF_NORMAL, Matrix, median, nnls};
use foreglow_shared::{Job, LoggedRun};
use serde::{Deserialize, Serialize};

use crate::{Prediction, Setting, Spread, Warning};

/// Most logs that are used, the latest. More would only cost time: the noise of 20 nights is known
/// well enough.
const MOST_LOGS: usize = 20;
/// Prior noise of a night: standard deviation of the log time of one application on one
/// configuration with the same data. Of five repeats of the 930 settings of C3O, its median is 1 to
/// 3 % by job and its root mean square 2 to 14 %; of the six jobs of Bell, 1 to 12 % and 1 to 23 %
/// (`bench/spark/priors.py`).
const NIGHT_DEVIATION: f64 = 0.04;
/// Number of nights that the prior noise counts for: few, because it differs by ten between jobs.
const PRIOR_NIGHTS: f64 = 3.0;
/// Degrees of freedom of a night's noise. Slow nights are rare and far off, so that the tail is
/// heavy: the usual choice for robust regression (Lange, Little and Taylor, "Robust statistical
/// modeling using the t distribution", JASA 84, 1989).
const TAIL: f64 = 4.0;
/// Standard deviation of the simulation's log error for each doubling of executors. On its own
/// configuration the simulation is 0.1 to 1.4 % off. On others, a doubling away, its median error
/// is 22 % for short applications on two threads of one core, and 16 to 36 % on loaded machines
/// (docs/performance.md, "Simulation of a Spark application").
const EXECUTOR_DEVIATION: f64 = 0.2;
/// The same for each doubling of cores per executor, which share memory bandwidth and a heap.
const CORE_DEVIATION: f64 = 0.2;
/// Standard deviation of the log error of t = a + b·n for each doubling of the amount, from work
/// that does not grow linearly. C3O's grep, pagerank and sort deviate by 2 to 5 % from the line
/// (`bench/spark/priors.py`).
const GROWTH_DEVIATION: f64 = 0.05;
/// Share of the time outside the driver that does not grow with the data: starting tasks, and work
/// on data of constant size. Of C3O's jobs, the share of the whole time, with the driver, is 18 to
/// 47 % in the median (`bench/spark/priors.py`).
const CONSTANT_SHARE: f64 = 0.2;
/// Standard deviation of the constant share; 9 to 18 % in three of C3O's five jobs. The two others
/// cache their data, and leap where the memory is full.
const SHARE_DEVIATION: f64 = 0.2;
/// Share by which an amount may be beyond those of the logs without a warning.
const NEAR: f64 = 0.01;
/// Steps of the fit; it converges to four digits in far fewer.
const STEPS: usize = 25;

/// Times of an application from the event logs of its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SimulatedTimes {
    runs: Vec<LoggedRun>,
    /// Plural noun of the work.
    unit: String,
    /// Amount of work at the sampling rate 1.
    amount: f64,
}

/// Simulated time of a logged run on another configuration, with the amount of work that it had.
struct Moved {
    /// ln of the time, seconds.
    log_secs: f64,
    /// Share of the time in which only the driver works.
    driver_share: f64,
}

impl SimulatedTimes {
    /// Prepares the runs of a job; `None` if a completed run has no event log.
    pub fn of(job: &Job) -> Option<Self> {
        if !job.is_logged() {
            return None;
        }
        let observed = |logged: &LoggedRun| job.observations.iter().find(|run| logged.is_of(run));
        // The user may have excluded a run.
        let mut runs: Vec<LoggedRun> = job.logged.iter().filter(|logged| observed(logged).is_some()).cloned().collect();
        runs.drain(..runs.len().saturating_sub(MOST_LOGS));
        let first = runs.first()?;
        let amount = first.amount / observed(first)?.sampling_rate;
        Some(Self { amount, unit: job.context.workload.noun().to_owned(), runs })
    }

    /// Predicts a setting; without a time if a run cannot be scheduled there: it has a barrier stage
    /// with more tasks than slots, or tasks that need more cores.
    pub fn predict(&self, setting: Setting) -> Prediction {
        let counts = setting.split().equal_counts();
        let prediction = counts.and_then(|counts| self.of_share(counts, setting.sampling_rate));
        prediction.unwrap_or_else(|| Prediction::unknown(vec![Warning::Impossible]))
    }

    fn of_share(&self, (executors, cores_per_executor): (u32, u32), share: f64) -> Option<Prediction> {
        let moved = |run: &LoggedRun| moved(run, executors, cores_per_executor);
        let moved = self.runs.iter().map(moved).collect::<Option<Vec<Moved>>>()?;
        let amount = self.amount * share;
        let doublings = |to: f64, from: f64| libm::log2(to) - libm::log2(from);
        let executors = f64::from(executors);
        let cores = f64::from(cores_per_executor);
        let distances: Vec<[f64; 3]> = self
            .runs
            .iter()
            .map(|run| {
                [
                    doublings(executors, run.own_executors()),
                    doublings(cores, run.cores_per_executor.into()),
                    doublings(amount, run.amount),
                ]
            })
            .collect();
        let mut prediction = Fit::new(&moved, &distances).prediction()?;
        prediction.warnings.extend(self.beyond(amount));
        Some(prediction)
    }

    /// Returns a warning if an amount is beyond those of the logs.
    fn beyond(&self, asked: f64) -> Option<Warning> {
        let amounts = || self.runs.iter().map(|run| run.amount);
        let (smallest, largest) = (amounts().fold(f64::INFINITY, f64::min), amounts().fold(0.0, f64::max));
        let is_beyond = asked > largest * (1.0 + NEAR) || asked < smallest * (1.0 - NEAR);
        is_beyond.then(|| Warning::OutsideSampledRange { feature: self.unit.clone(), asked, smallest, largest })
    }
}

/// Simulates a run on another configuration; `None` if it cannot be scheduled there.
fn moved(run: &LoggedRun, executors: u32, cores_per_executor: u32) -> Option<Moved> {
    let there = run.simulated.at(executors, cores_per_executor)?;
    let log_secs = libm::log(run.secs_at(executors, cores_per_executor)?);
    log_secs.is_finite().then(|| Moved { log_secs, driver_share: run.simulated.driver_share(there) })
}

/// The fit of t = a + b·n on one configuration, in units of the amount in question.
struct Fit {
    /// ln of the time of each log.
    logs: Vec<f64>,
    /// Amount of each log divided by the amount in question.
    amounts: Vec<f64>,
    /// Covariance of the simulation's errors.
    error: Vec<Vec<f64>>,
    /// Expected share of the time with the mean amount that does not grow with it.
    constant_share: f64,
    /// Mean amount.
    mean_amount: f64,
}

impl Fit {
    fn new(moved: &[Moved], distances: &[[f64; 3]]) -> Self {
        let amounts: Vec<f64> = distances.iter().map(|[_, _, growth]| libm::exp2(-growth)).collect();
        let error =
            distances.iter().map(|one| distances.iter().map(|other| covariance(one, other)).collect()).collect();
        let driver_share = median(moved.iter().map(|moved| moved.driver_share));
        Self {
            logs: moved.iter().map(|moved| moved.log_secs).collect(),
            mean_amount: amounts.iter().sum::<f64>() / amounts.len() as f64,
            amounts,
            error,
            constant_share: driver_share + (1.0 - driver_share) * CONSTANT_SHARE,
        }
    }

    /// Fits the logs and predicts the amount in question.
    fn prediction(&self) -> Option<Prediction> {
        let count = self.logs.len() as f64;
        let start = libm::exp(median(&self.logs));
        let mut line = [self.constant_share * start, (1.0 - self.constant_share) * start / self.mean_amount];
        let mut night = self.first_night(line);
        let mut weights = vec![1.0; self.logs.len()];
        let mut uncertainty = 0.0;
        for _ in 0..STEPS {
            let step = self.step(line, night, &weights)?;
            line = step.line;
            uncertainty = step.uncertainty;
            let nights = step.noise.iter().zip(&weights);
            let squares: f64 = nights.map(|((noise, rest), weight)| weight * (noise * noise + rest)).sum();
            let prior = PRIOR_NIGHTS * NIGHT_DEVIATION * NIGHT_DEVIATION;
            night = ((prior + squares) / (PRIOR_NIGHTS + count)).sqrt();
            for (weight, (noise, _)) in weights.iter_mut().zip(&step.noise) {
                let deviations = noise / night;
                *weight = (TAIL + 1.0) / (TAIL + deviations * deviations);
            }
        }
        let degrees_of_freedom = PRIOR_NIGHTS + count - 1.0;
        let spread = Spread::student_t((night * night + uncertainty).sqrt(), degrees_of_freedom.max(TAIL)).ok();
        Prediction::of_log(libm::log(line[0] + line[1]), spread)
    }

    /// Returns the noise of a night to start with, from the median of the residuals, so that a slow
    /// night does not hide in it.
    fn first_night(&self, line: [f64; 2]) -> f64 {
        let residuals: Vec<f64> =
            self.logs.iter().zip(&self.amounts).map(|(log, n)| log - libm::log(line[0] + line[1] * n)).collect();
        let centre = median(&residuals);
        let deviation = median(residuals.iter().map(|residual| (residual - centre).abs())) / MEDIAN_OF_NORMAL;
        deviation.max(NIGHT_DEVIATION)
    }

    /// Improves the line by one step of non-negative generalised least squares on log residuals.
    fn step(&self, line: [f64; 2], night: f64, weights: &[f64]) -> Option<Step> {
        let count = self.logs.len();
        let at = |amount: f64| line[0] + line[1] * amount;
        let mut covariance = self.error.clone();
        let nights: Vec<f64> = weights.iter().map(|weight| night * night / weight).collect();
        nights.iter().enumerate().for_each(|(place, variance)| covariance[place][place] += variance);
        let root = Cholesky::of(Matrix::of(&covariance))?;
        let relative: Vec<[f64; 2]> = self.amounts.iter().map(|n| [1.0 / at(*n), n / at(*n)]).collect();
        let target: Vec<f64> =
            self.logs.iter().zip(&self.amounts).map(|(log, n)| 1.0 + log - libm::log(at(*n))).collect();
        let columns = [0, 1].map(|column| relative.iter().map(|row| row[column]).collect::<Vec<f64>>());
        let whitened = [root.forward(&columns[0]), root.forward(&columns[1])];
        let mut rows: Vec<Vec<f64>> = (0..count).map(|place| vec![whitened[0][place], whitened[1][place]]).collect();
        let mut goal = root.forward(&target);
        // The share of time that does not grow with the data: (1 − s)·a − s·b·n̄ = 0.
        let unit = SHARE_DEVIATION * at(self.mean_amount);
        rows.push(vec![(1.0 - self.constant_share) / unit, -self.constant_share * self.mean_amount / unit]);
        goal.push(0.0);
        let solution = nnls(&rows, &goal);
        let &[constant, growth] = solution.as_slice() else { return None };
        let information = information(&rows);
        let question = [1.0, 1.0].map(|value| value / (constant + growth));
        let solved = information.solve(&question);
        let uncertainty = question[0] * solved[0] + question[1] * solved[1];
        let residuals: Vec<f64> = (0..count)
            .map(|place| target[place] - relative[place][0] * constant - relative[place][1] * growth)
            .collect();
        let explained = root.solve(&residuals);
        let inverse = root.inverse();
        let noise = (0..count).map(|place| {
            // Best linear unbiased prediction of the night's noise, and its remaining variance
            // (restricted maximum likelihood by expectation and maximisation: Searle, Casella and
            // McCulloch, "Variance Components", 1992, §8.3).
            let row: Vec<f64> = (0..count).map(|other| inverse[place][other]).collect();
            let projected = [0, 1].map(|column| row.iter().zip(&columns[column]).map(|(a, b)| a * b).sum::<f64>());
            let solved = information.solve(&projected);
            let diagonal = row[place] - projected[0] * solved[0] - projected[1] * solved[1];
            (nights[place] * explained[place], (nights[place] - nights[place] * nights[place] * diagonal).max(0.0))
        });
        Some(Step { line: [constant, growth], uncertainty, noise: noise.collect() })
    }
}

/// One step of the fit.
struct Step {
    line: [f64; 2],
    /// Variance of the log time in question, without the noise of its night.
    uncertainty: f64,
    /// Noise of each night, and its remaining variance.
    noise: Vec<(f64, f64)>,
}

/// Returns XᵀX of two columns.
fn information(rows: &[Vec<f64>]) -> Cholesky {
    let product = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
    Cholesky::of_semidefinite(&[vec![product(0, 0), product(0, 1)], vec![product(1, 0), product(1, 1)]])
}

/// Returns the covariance of the errors of two logs, by their distances from the question in
/// doublings of executors, cores and amount.
fn covariance(one: &[f64; 3], other: &[f64; 3]) -> f64 {
    let moved = |place: usize, deviation: f64| {
        let (a, b) = (one[place], other[place]);
        let walk = if a * b > 0.0 { a.abs().min(b.abs()) } else { 0.0 };
        deviation * deviation * f64::midpoint(a * b, walk)
    };
    let growth = GROWTH_DEVIATION * GROWTH_DEVIATION * one[2] * other[2];
    moved(0, EXECUTOR_DEVIATION) + moved(1, CORE_DEVIATION) + growth
}
