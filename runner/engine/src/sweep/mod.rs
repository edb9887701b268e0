//! Sweeps: many runs of one job, with their order, resumption, limits and forecast.

mod forecast;
mod grid;
mod limits;

use std::time::{Duration, Instant};

use foreglow_data::images_in_sample;
use foreglow_exit::Interrupt;
use foreglow_machine::device::UNNAMED_GPU;
use foreglow_shared::{Configuration, Sample, Workload};

pub use self::forecast::{Forecast, cost};
pub use self::grid::{Grid, by_configuration, left, of_these_machines};
pub use self::limits::{Budget, Limits, Verdict};
use crate::{Engine, Job, Progress};

/// Relative difference of two sampling rates of a program that are the same: the rounding of their
/// text.
const SAME_RATE: f64 = 1e-9;

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Workload to run.
    pub workload: Workload,
    /// Configuration to run on.
    pub configuration: Configuration,
    /// Sampling rate.
    pub sampling_rate: f64,
    /// Index among runs that are otherwise equal, from 0.
    pub repetition: u32,
}

/// Progress of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Index of the run, from 0.
    pub number: usize,
    /// Number of runs in the sweep.
    pub of: usize,
    /// The run.
    pub run: &'a Run,
    /// Progress of the run.
    pub progress: Progress,
    /// Forecast time until the last run ends; `None` before the first run.
    pub time_left: Option<Duration>,
}

/// Runs of a sweep that were not made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedRuns {
    /// Runs skipped because the median of their combination is precise enough.
    pub precise: usize,
    /// Runs skipped because they exceed the budget.
    pub over_budget: usize,
}

impl Run {
    /// Returns the run that produced a sample.
    pub fn of(sample: &Sample) -> Self {
        Self {
            workload: sample.workload.clone(),
            configuration: sample.configuration.clone(),
            sampling_rate: sample.sampling_rate,
            repetition: 0,
        }
    }

    /// Returns whether a sample is of this combination. Compares numbers of images, because samples
    /// of earlier versions have the requested sampling rate instead of the actual one.
    pub fn is_of(&self, sample: &Sample) -> bool {
        let mut own = self.configuration.clone();
        // The names of GPUs on a cluster are unknown until executors run.
        if own.accelerator.as_deref() == Some(UNNAMED_GPU) && sample.configuration.accelerator.is_some() {
            own.accelerator.clone_from(&sample.configuration.accelerator);
        }
        let is_like = |rate: f64| (rate - self.sampling_rate).abs() <= SAME_RATE * self.sampling_rate;
        let images = |sampling_rate| images_in_sample(self.workload.images, sampling_rate);
        (&self.workload, &own) == (&sample.workload, &sample.configuration)
            && match self.workload.command {
                Some(_) => is_like(sample.sampling_rate),
                None => images(self.sampling_rate) == images(sample.sampling_rate),
            }
    }

    /// Returns whether another run is of the same combination.
    fn is_like(&self, other: &Self) -> bool {
        (&self.workload, &self.configuration, self.sampling_rate)
            == (&other.workload, &other.configuration, other.sampling_rate)
    }
}

/// Returns the completion times of each combination, seconds, in order of their first samples.
pub fn combinations<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Vec<(Run, Vec<f64>)> {
    let mut all: Vec<(Run, Vec<f64>)> = Vec::new();
    for sample in samples {
        let Some(secs) = sample.completed_secs() else { continue };
        match all.iter_mut().find(|(run, _)| run.is_of(sample)) {
            Some((_, times)) => times.push(secs),
            None => all.push((Run::of(sample), vec![secs])),
        }
    }
    all
}

/// Makes the runs one after the other within the limits: in their order or, with a precision on
/// this machine, always the run whose combination has the widest interval. Each sample, whatever
/// its outcome, is passed to `on_sample` at once, with the index of its run.
///
/// # Errors
/// The sweep was interrupted, or `on_sample` failed.
pub fn sweep(
    engine: &mut dyn Engine,
    job: &Job,
    runs: &[Run],
    (mut forecast, mut limits): (Forecast, Limits),
    interrupt: &Interrupt,
    on_step: &mut dyn FnMut(Step<'_>),
    on_sample: &mut dyn FnMut(usize, &Run, Sample) -> anyhow::Result<()>,
) -> anyhow::Result<SkippedRuns> {
    let mut skipped = SkippedRuns::default();
    let mut left: Vec<&Run> = runs.iter().collect();
    // On a cluster another configuration requires another application start.
    let can_choose = !engine.is_cluster();
    while !left.is_empty() {
        let number = runs.len() - left.len();
        let run = left.remove(if can_choose { limits.next(&left) } else { 0 });
        match limits.verdict(run, &forecast) {
            Verdict::Precise => skipped.precise += 1,
            Verdict::OverBudget => skipped.over_budget += 1,
            Verdict::Make => {
                let time_left = forecast.wall(left.iter().copied().chain([run]));
                let start = Instant::now();
                let job = job.with(run.workload.clone());
                let mut tell = |progress| on_step(Step { number, of: runs.len(), run, progress, time_left });
                let sample = engine.measure(&job, &run.configuration, run.sampling_rate, interrupt, &mut tell)?;
                forecast.add(run, start.elapsed(), &sample);
                limits.add(run, start.elapsed(), &sample);
                on_sample(number, run, sample)?;
            }
        }
    }
    Ok(skipped)
}

#[cfg(test)]
pub(crate) mod tests;
