//! Many runs of one job: which, in what order, which of them are done already, and how long the rest takes.

mod forecast;
mod grid;
mod limits;

use std::time::{Duration, Instant};

use foreglow_shared::{Configuration, Sample, Workload};

pub use self::forecast::{Forecast, cost};
pub use self::grid::{Grid, by_configuration, left, of_these_machines};
pub use self::limits::{Budget, Limits, Verdict};
use crate::engine::{Engine, Job, Progress};
use crate::input::images_in_sample;
use crate::interrupt::Interrupt;

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What runs.
    pub workload: Workload,
    /// What it runs on.
    pub configuration: Configuration,
    /// Share of the images that it processes.
    pub sampling_rate: f64,
    /// Its number among the runs that are equal otherwise, from 0.
    pub repetition: u32,
}

/// Told while a sweep goes on.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The run, counted from 0.
    pub number: usize,
    /// All runs of the sweep.
    pub of: usize,
    /// What runs.
    pub run: &'a Run,
    /// How far it is.
    pub progress: Progress,
    /// Until the last run ends, as the runs so far say; `None` before the first.
    pub time_left: Option<Duration>,
}

/// What became of the runs of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs that were not needed, since the median of their combination is known well enough.
    pub precise: usize,
    /// Runs that did not fit into the budget.
    pub over_budget: usize,
}

impl Run {
    /// The run that made a sample.
    pub fn of(sample: &Sample) -> Self {
        Self {
            workload: sample.workload.clone(),
            configuration: sample.configuration.clone(),
            sampling_rate: sample.sampling_rate,
            repetition: 0,
        }
    }

    /// Whether a sample is of this combination: samples of earlier versions have the rate that was asked for, and as many images.
    pub fn is_of(&self, sample: &Sample) -> bool {
        let images = |sampling_rate| images_in_sample(self.workload.images, sampling_rate);
        (&self.workload, &self.configuration) == (&sample.workload, &sample.configuration)
            && images(self.sampling_rate) == images(sample.sampling_rate)
    }

    /// Whether another run is of the same combination.
    fn is_like(&self, other: &Self) -> bool {
        (&self.workload, &self.configuration, self.sampling_rate)
            == (&other.workload, &other.configuration, other.sampling_rate)
    }
}

/// The times of the completed runs of each combination, seconds, in the order of their first samples.
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

/// Makes the runs one after the other, as far as the limits let them: in their order, or where a precision is sought on this
/// machine, always the one whose combination is known least. Each sample, however its run ended, is given to `on_sample` at once,
/// with its run and that one's number.
///
/// # Errors
/// The sweep was interrupted, or `on_sample` failed.
pub fn sweep(
    engine: &mut Engine,
    job: &Job,
    runs: &[Run],
    (mut forecast, mut limits): (Forecast, Limits),
    interrupt: &Interrupt,
    on_step: &mut dyn FnMut(Step<'_>),
    on_sample: &mut dyn FnMut(usize, &Run, Sample) -> anyhow::Result<()>,
) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut left: Vec<&Run> = runs.iter().collect();
    // Another configuration costs a cluster the start of another application.
    let can_choose = matches!(engine, Engine::Local);
    while !left.is_empty() {
        let number = runs.len() - left.len();
        let run = left.remove(if can_choose { limits.next(&left) } else { 0 });
        match limits.verdict(run, &forecast) {
            Verdict::Precise => tally.precise += 1,
            Verdict::OverBudget => tally.over_budget += 1,
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
    Ok(tally)
}

#[cfg(test)]
mod tests;
