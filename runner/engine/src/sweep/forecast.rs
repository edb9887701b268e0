//! Forecast of run times from the known runs.

use std::time::Duration;

use foreglow_data::images_in_sample;
use foreglow_model::{Predictor, Setting};
use foreglow_shared::{PriceSheet, Resources, Sample, group_by_context};

use super::grid::input_work;
use super::{Run, of_these_machines};
use crate::{Engine, Job};

/// Forecast of the time that runs take.
pub struct Forecast {
    /// Predictors of the workloads that had enough runs at the start.
    predictors: Vec<(foreglow_shared::Context, Predictor)>,
    throughput: ThroughputEstimate,
}

/// Throughput of the runs so far, for workloads without a predictor: time is proportional to the
/// pixels or words and inversely proportional to the slots that have a processor.
#[derive(Default)]
struct ThroughputEstimate {
    /// Processors shared by all slots; `None` if the slots do not share a machine.
    processors: Option<u32>,
    runs: u32,
    startup_secs: f64,
    work_secs: f64,
    work: f64,
}

impl Forecast {
    /// Creates a forecast for runs of this job from samples.
    pub fn of(engine: &dyn Engine, job: &Job, samples: &[Sample]) -> Self {
        let of_job = |sample: &&Sample| {
            let same = (&sample.workload.model, sample.workload.mode) == (&job.workload.model, job.workload.mode);
            same && job.device.may_have(sample.configuration.accelerator.as_deref())
        };
        let samples: Vec<Sample> =
            of_these_machines(engine, job, samples).into_iter().filter(of_job).cloned().collect();
        let mut throughput = ThroughputEstimate { processors: engine.processors(job), ..ThroughputEstimate::default() };
        for sample in &samples {
            throughput.add(&Run::of(sample), sample.startup_secs.unwrap_or(0.0), sample.completed_secs());
        }
        let fit = |job: foreglow_shared::Job| Some((job.context.clone(), Predictor::fit_job(&job).ok()?));
        Self { predictors: group_by_context(&samples).into_iter().filter_map(fit).collect(), throughput }
    }

    /// Adds a run that took `wall` in total.
    pub fn add(&mut self, run: &Run, wall: Duration, sample: &Sample) {
        let secs = sample.completed_secs();
        self.throughput.add(run, wall.as_secs_f64() - secs.unwrap_or(0.0), secs);
    }

    /// Returns the completion time of a run, seconds; `None` without any known run.
    pub fn completion_secs(&self, run: &Run) -> Option<f64> {
        let setting = Setting::at(run.configuration.split(), run.sampling_rate);
        let predictor = self.predictors.iter().find(|(context, _)| context.workload == run.workload);
        let predicted = predictor.and_then(|(_, predictor)| predictor.predict(setting).completion_time_secs);
        predicted.or_else(|| self.throughput.completion_secs(run))
    }

    /// Returns the wall-clock time of a run including its start-up, seconds.
    pub fn wall_secs(&self, run: &Run) -> Option<f64> {
        Some(self.completion_secs(run)? + self.throughput.startup_secs / f64::from(self.throughput.runs.max(1)))
    }

    /// Returns the wall-clock time of consecutive runs; `None` if one of them is unknown.
    pub fn wall<'a>(&self, runs: impl IntoIterator<Item = &'a Run>) -> Option<Duration> {
        let secs = runs.into_iter().map(|run| self.wall_secs(run)).sum::<Option<f64>>()?;
        Duration::try_from_secs_f64(secs).ok()
    }
}

impl ThroughputEstimate {
    fn add(&mut self, run: &Run, startup_secs: f64, completion_secs: Option<f64>) {
        let Some(secs) = completion_secs else { return };
        self.runs += 1;
        self.startup_secs += startup_secs.max(0.0);
        self.work_secs += secs;
        self.work += self.work_of(run);
    }

    fn completion_secs(&self, run: &Run) -> Option<f64> {
        (self.runs > 0).then(|| self.work_secs / self.work * self.work_of(run))
    }

    /// Returns the pixels or words per slot, counting at most as many slots as processors.
    fn work_of(&self, run: &Run) -> f64 {
        let slots = run.configuration.split().slots();
        let slots = slots.min(self.processors.unwrap_or(slots)).max(1);
        let images = images_in_sample(run.workload.images, run.sampling_rate) * u64::from(run.workload.epochs);
        images as f64 * input_work(&run.workload) / f64::from(slots)
    }
}

/// Returns the cost of a run of this duration, in the currency of the prices; `None` if they do not
/// cover the hardware.
pub fn cost(prices: &PriceSheet, run: &Run, secs: f64) -> Option<f64> {
    prices.cost(Resources::from_configuration(&run.configuration), secs)
}
