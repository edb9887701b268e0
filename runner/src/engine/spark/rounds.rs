//! Training in rounds: a Spark job for each average. Its tasks take the average of the round before, learn K mini-batches,
//! and give their replica back to the driver, which takes the next average.

use burn::tensor::Device;
use foreglow_shared::Configuration;
use foreglow_shared::event_log::{Run, Stage};

use crate::cnn::{Architecture, Input};
use crate::engine::Job;
use crate::executor::protocol::Phases;
use crate::executor::training::Deal;

/// What the driver holds beside numbers, MiB: what Spark gives it by default.
const DRIVER_MIB: u64 = 1024;
/// Copies of a replica that the driver holds beside one of each executor: those on their way in (Spark fetches four results at
/// the same time), the average, and what is broadcast of it and of the one before.
const COPIES: u64 = 8;

/// The rounds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Steps over all epochs.
    pub steps: u64,
    /// Steps of a round, K.
    pub every: u64,
}

impl Rounds {
    /// Those of a run on so many images; `None` where the executors average by themselves, or where there is one.
    pub fn of(job: &Job, configuration: &Configuration, images: u64) -> Option<Self> {
        let settings = &job.training.as_ref()?.settings;
        let every = u64::from(settings.average_every);
        let executors = u64::from(configuration.executors);
        let deal = Deal { images, batch_size: u64::from(job.workload.batch_size), executors };
        (every > 1 && executors > 1).then(|| Self { steps: deal.steps() * u64::from(settings.epochs), every })
    }

    /// Spark jobs, one for each round.
    pub fn jobs(self) -> u64 {
        self.steps.div_ceil(self.every)
    }

    /// Images that a task learns, but for the last ones of an epoch.
    pub fn images_of_task(self, job: &Job) -> u64 {
        self.every * u64::from(job.workload.batch_size)
    }
}

/// Where the time between the rounds of a run went, seconds of all threads. `learning_secs` is the time, summed over executors
/// and rounds, from a round's first step to its last.
///
/// An executor waits from the end of its task to the end of the round's last one, on the driver's clock. Everything else that is
/// not learning is the average: Spark's scheduling, the numbers' way to the driver, the sum, and their way back.
pub fn averaging(run: &Run<'_>, configuration: &Configuration, learning_secs: f64) -> Phases {
    let wait_ms = |stage: &&Stage| {
        let longest = stage.known_task_ms().max().unwrap_or(0);
        // The tasks of a round are launched together: there is a slot for each.
        stage.known_task_ms().map(|ms| u64::from(longest - ms)).sum::<u64>()
    };
    let wait_secs = run.stages().values().map(wait_ms).sum::<u64>() as f64 / 1000.0;
    let whole = run.completion_time_secs() * f64::from(configuration.executors);
    let average_secs = (whole - learning_secs - wait_secs).max(0.0);
    let threads = f64::from(configuration.cores_per_executor);
    Phases { wait_secs: wait_secs * threads, average_secs: average_secs * threads, ..Phases::default() }
}

/// Properties that the driver needs where all executors give it their numbers, and that a person may set otherwise: memory for
/// them, and no bound on what the tasks of a job return.
pub fn properties(job: &Job, configuration: &Configuration) -> Vec<(&'static str, String)> {
    let Some(training) = &job.training else { return Vec::new() };
    let is_averaged = training.settings.average_every > 1 && configuration.executors > 1;
    let Some(architecture) = Architecture::named(&job.workload.model).filter(|_| is_averaged) else {
        return Vec::new();
    };
    let shape = match (&architecture.input, job.workload.text()) {
        (Input::Images { colour, .. }, _) => colour.shape(job.workload.image_px),
        (Input::Texts { .. }, Some(text)) => [1, text.words as usize, text.vector_dims as usize],
        (Input::Texts { .. }, None) => return Vec::new(),
    };
    let parameters = architecture.size(shape, &Device::flex()).parameters as u64;
    let slots = if training.settings.average_optimizer_state { training.settings.optimizer.slots() as u64 } else { 0 };
    let replica_mib = (4 * parameters * (1 + slots)).div_ceil(1 << 20);
    let memory_mib = DRIVER_MIB + (u64::from(configuration.executors) + COPIES) * replica_mib;
    vec![("spark.driver.memory", format!("{memory_mib}m")), ("spark.driver.maxResultSize", "0".to_owned())]
}
