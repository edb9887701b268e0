//! Which runs a sweep has, in what order, and which of them are done already.

use foreglow_shared::{Outcome, Sample, Workload};

use super::Run;
use crate::engine::{Engine, Job};
use crate::input::true_rate;

/// Every combination of these, each so many times.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The job at each image size and batch size.
    pub workloads: Vec<Workload>,
    /// E.
    pub executors: Vec<u32>,
    /// C.
    pub cores: Vec<u32>,
    /// Executor memory, MiB.
    pub memory_mib: Vec<u32>,
    /// P.
    pub partition_sizes: Vec<u32>,
    /// SR.
    pub sampling_rates: Vec<f64>,
    /// Runs of each combination.
    pub repeat: u32,
}

impl Grid {
    /// The runs, cheap ones first: few and small images before many and large ones. A repetition goes through all
    /// combinations before the next one begins, so that a budget that ends early leaves none out, and a machine that is busy for a
    /// while does not spoil one configuration alone.
    pub fn runs(&self, job: &Job) -> Vec<Run> {
        let mut runs = Vec::new();
        let scales = self.scales();
        for repetition in 0..self.repeat {
            for (sampling_rate, workloads) in &scales {
                for workload in workloads {
                    for &executors in &self.executors {
                        for &cores in &self.cores {
                            for &memory_mib in &self.memory_mib {
                                for &partition_size in &self.partition_sizes {
                                    runs.push(Run {
                                        workload: (*workload).clone(),
                                        configuration: job.configuration(executors, cores, memory_mib, partition_size),
                                        sampling_rate: *sampling_rate,
                                        repetition,
                                    });
                                }
                            }
                        }
                    }
                }
            }
        }
        runs
    }

    /// Sampling rates with the workloads of an input size, by the work that a run has, ascending. The rates are those that a run
    /// can have: shares of whole images.
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

/// What the time of an image or a text is about in proportion to, among those of one CNN: the image's pixels, the text's words.
pub fn input_work(workload: &Workload) -> f64 {
    match workload.text() {
        Some(text) => f64::from(text.words),
        None => f64::from(workload.image_px).powi(2),
    }
}

/// The same runs, those of a configuration and workload one after the other: what an engine has started for it serves them
/// all.
pub fn by_configuration(runs: Vec<Run>) -> Vec<Run> {
    let mut sorted: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        let is_alike = |other: &Run| (&other.configuration, &other.workload) == (&run.configuration, &run.workload);
        let after = sorted.iter().rposition(is_alike);
        sorted.insert(after.map_or(sorted.len(), |last| last + 1), run);
    }
    sorted
}

/// The runs that are left once these samples are there: one less for each run of the same job on the same machines and
/// configuration that came to its end. One that failed is made again, and one that was stopped sooner than it would be now.
pub fn left(runs: Vec<Run>, engine: &Engine, job: &Job, samples: &[Sample]) -> Vec<Run> {
    let mut known = of_these_machines(engine, job, samples);
    known.retain(|sample| match sample.outcome {
        Outcome::Completed | Outcome::OutOfMemory => true,
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

/// The samples that this engine measured on these machines, of any job.
pub fn of_these_machines<'a>(engine: &Engine, job: &Job, samples: &'a [Sample]) -> Vec<&'a Sample> {
    samples.iter().filter(|sample| engine.has_measured(sample, job)).collect()
}
