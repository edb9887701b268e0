//! How long runs will take, as far as those that are known say.

use std::time::Duration;

use foreglow_model::{Predictor, Setting};
use foreglow_shared::{PriceSheet, Resources, Sample, group_by_context};

use super::grid::input_work;
use super::{Run, of_these_machines};
use crate::engine::{Engine, Job};
use crate::input::images_in_sample;

/// What is known of the time that runs take.
pub struct Forecast {
    /// The predictor of each workload of which enough runs were known from the beginning.
    predictors: Vec<(foreglow_shared::Context, Predictor)>,
    pace: Pace,
}

/// How fast the runs so far went, where no predictor says more: in proportion to their pixels or words, in inverse proportion to
/// the slots that the machine has processors for.
#[derive(Default)]
struct Pace {
    /// That all slots share; `None` where each has its own.
    processors: Option<u32>,
    runs: u32,
    startup_secs: f64,
    work_secs: f64,
    work: f64,
}

impl Forecast {
    /// What these samples tell about runs of this job.
    pub fn of(engine: &Engine, job: &Job, samples: &[Sample]) -> Self {
        let of_job = |sample: &&Sample| {
            let same = (&sample.workload.model, sample.workload.mode) == (&job.workload.model, job.workload.mode);
            same && sample.configuration.accelerator.as_deref() == job.device.accelerator()
        };
        let samples: Vec<Sample> =
            of_these_machines(engine, job, samples).into_iter().filter(of_job).cloned().collect();
        let mut pace = Pace { processors: engine.processors(), ..Pace::default() };
        for sample in &samples {
            pace.add(&Run::of(sample), sample.startup_secs.unwrap_or(0.0), sample.completed_secs());
        }
        let fit = |job: foreglow_shared::Job| Some((job.context.clone(), Predictor::fit_job(&job).ok()?));
        Self { predictors: group_by_context(&samples).into_iter().filter_map(fit).collect(), pace }
    }

    /// Learns from a run that took `wall` in all.
    pub fn add(&mut self, run: &Run, wall: Duration, sample: &Sample) {
        let secs = sample.completed_secs();
        self.pace.add(run, wall.as_secs_f64() - secs.unwrap_or(0.0), secs);
    }

    /// Completion time of a run, seconds; `None` where nothing is known of it.
    pub fn completion_secs(&self, run: &Run) -> Option<f64> {
        let setting = Setting {
            executors: run.configuration.executors,
            cores_per_executor: run.configuration.cores_per_executor,
            sampling_rate: run.sampling_rate,
        };
        let predictor = self.predictors.iter().find(|(context, _)| context.workload == run.workload);
        let predicted = predictor.and_then(|(_, predictor)| predictor.predict(setting).completion_time_secs);
        predicted.or_else(|| self.pace.completion_secs(run))
    }

    /// Wall clock of a run with its start-up, seconds.
    pub fn wall_secs(&self, run: &Run) -> Option<f64> {
        Some(self.completion_secs(run)? + self.pace.startup_secs / f64::from(self.pace.runs.max(1)))
    }

    /// Wall clock of runs one after the other; `None` where nothing is known of one.
    pub fn wall<'a>(&self, runs: impl IntoIterator<Item = &'a Run>) -> Option<Duration> {
        let secs = runs.into_iter().map(|run| self.wall_secs(run)).sum::<Option<f64>>()?;
        Duration::try_from_secs_f64(secs).ok()
    }
}

impl Pace {
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

    /// Pixels or words that each of the slots that the machines really have works through.
    fn work_of(&self, run: &Run) -> f64 {
        let slots = run.configuration.executors.saturating_mul(run.configuration.cores_per_executor);
        let slots = slots.min(self.processors.unwrap_or(slots)).max(1);
        let images = images_in_sample(run.workload.images, run.sampling_rate) * u64::from(run.workload.epochs);
        images as f64 * input_work(&run.workload) / f64::from(slots)
    }
}

/// Money for a run that takes so long, in the currency of the prices.
pub fn cost(prices: &PriceSheet, run: &Run, secs: f64) -> f64 {
    let configuration = &run.configuration;
    let resources = Resources {
        executors: configuration.executors,
        cores_per_executor: configuration.cores_per_executor,
        memory_per_executor_mib: configuration.memory_per_executor_mib,
        accelerated: configuration.accelerator.is_some(),
    };
    prices.cost(resources, secs)
}
