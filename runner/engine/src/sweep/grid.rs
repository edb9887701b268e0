//! The grid of runs of a sweep, their order, and the remaining runs.

use foreglow_data::true_rate;
use foreglow_shared::{Outcome, Sample, Workload};

use super::Run;
use crate::{Engine, Job, Placement, command};

/// All combinations of these values, each repeated.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Workload for each image size and batch size.
    pub workloads: Vec<Workload>,
    /// Executors with their cores, GPUs and machines.
    pub placements: Vec<Placement>,
    /// Executor memory, MiB.
    pub memory_mib: Vec<u32>,
    /// Partition sizes, P.
    pub partition_sizes: Vec<u32>,
    /// Sampling rates, SR.
    pub sampling_rates: Vec<f64>,
    /// Runs per combination.
    pub repeat: u32,
}

impl Grid {
    /// Returns the runs in ascending order of work. Each repetition covers all combinations before
    /// the next one starts. If the budget ends early, no combination is missing, and a temporary
    /// load of the machine does not affect a single configuration.
    pub fn runs(&self, job: &Job) -> Vec<Run> {
        let mut runs = Vec::new();
        let scales = self.scales();
        for repetition in 0..self.repeat {
            for (sampling_rate, workloads) in &scales {
                for workload in workloads {
                    for &placement in &self.placements {
                        for &memory_mib in &self.memory_mib {
                            for &partition_size in &self.partition_sizes {
                                let configuration = job.configuration(placement, memory_mib, partition_size);
                                let workload = (*workload).clone();
                                let sampling_rate = job.true_rate(&workload, &configuration, *sampling_rate);
                                let run = Run { workload, configuration, sampling_rate, repetition };
                                // Small rates of a program may round to the same number of steps.
                                if job.program.is_none() || !runs.contains(&run) {
                                    runs.push(run);
                                }
                            }
                        }
                    }
                }
            }
        }
        runs
    }

    /// Returns sampling rates with their workloads, in ascending order of work. The rates are
    /// shares of whole images.
    fn scales(&self) -> Vec<(f64, Vec<&Workload>)> {
        let mut scales: Vec<(f64, f64, Vec<&Workload>)> = Vec::new();
        for &rate in &self.sampling_rates {
            for workload in &self.workloads {
                let rate = true_rate(workload.images, rate);
                let work = rate * input_work(workload);
                match scales.iter_mut().find(|(other, at, _)| (*other, *at) == (work, rate)) {
                    Some((_, _, workloads)) if workloads.contains(&workload) => {}
                    Some((_, _, workloads)) => workloads.push(workload),
                    None => scales.push((work, rate, vec![workload])),
                }
            }
        }
        scales.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        scales.into_iter().map(|(_, rate, workloads)| (rate, workloads)).collect()
    }
}

/// Returns the quantity that the time per input is roughly proportional to within a CNN: the pixels
/// of an image or the words of a text.
pub fn input_work(workload: &Workload) -> f64 {
    match &workload.text {
        Some(text) => f64::from(text.words),
        None => f64::from(workload.image_px).powi(2),
    }
}

/// Groups runs by configuration and workload, so that an application started for one of them serves
/// the others.
pub fn by_configuration(runs: Vec<Run>) -> Vec<Run> {
    let mut sorted: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        let is_alike = |other: &Run| (&other.configuration, &other.workload) == (&run.configuration, &run.workload);
        let after = sorted.iter().rposition(is_alike);
        sorted.insert(after.map_or(sorted.len(), |last| last + 1), run);
    }
    sorted
}

/// Returns the remaining runs: each finished sample of the same job, machines and configuration
/// replaces one run. Failed runs, and runs stopped at a shorter timeout, are repeated.
pub fn left(runs: Vec<Run>, engine: &dyn Engine, job: &Job, samples: &[Sample]) -> Vec<Run> {
    let mut known = of_these_machines(engine, job, samples);
    known.retain(|sample| match sample.outcome {
        Outcome::Completed | Outcome::OutOfMemory => true,
        Outcome::TimedOut if command::is_stopped(sample) => true,
        Outcome::TimedOut => job.timeout.is_some_and(|most| sample.completion_time_secs >= Some(most.as_secs_f64())),
        Outcome::Failed => false,
    });
    let is_left = |run: &Run| match known.iter().position(|sample| run.is_of(sample)) {
        Some(index) => {
            known.swap_remove(index);
            false
        }
        None => true,
    };
    runs.into_iter().filter(is_left).collect()
}

/// Returns the samples of any job that this engine measured on these machines.
pub fn of_these_machines<'a>(engine: &dyn Engine, job: &Job, samples: &'a [Sample]) -> Vec<&'a Sample> {
    samples.iter().filter(|sample| engine.has_measured(sample, job)).collect()
}
