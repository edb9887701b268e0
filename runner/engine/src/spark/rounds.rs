//! Training in rounds: one Spark job per average. Its tasks take the previous average, learn K
//! mini-batches, and return their replicas to the driver, which computes the next average.

use foreglow_protocol::{DataSharding, Phases};
use foreglow_shared::Configuration;
use foreglow_spark_log::{Run, Stage};

use crate::Job;

/// Memory of the driver without replicas, MiB: Spark's default.
const DRIVER_MIB: u64 = 1024;
/// Copies of a replica in the driver besides one per executor: results in transit (Spark fetches
/// four at a time), the average, and the broadcasts of it and of the previous one.
const COPIES: u64 = 8;

/// The rounds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Steps over all epochs.
    pub steps: u64,
    /// Steps per round, K.
    pub every: u64,
}

impl Rounds {
    /// Returns the rounds of a run on `images` images; `None` if the executors average themselves
    /// or there is only one.
    pub fn of(job: &Job, configuration: &Configuration, images: u64) -> Option<Self> {
        let settings = &job.training.as_ref()?.settings;
        let every = u64::from(settings.average_every);
        let executors = u64::from(configuration.executors);
        let sharding = DataSharding { images, batch_size: u64::from(job.workload.batch_size), executors };
        (every > 1 && executors > 1).then(|| Self { steps: sharding.steps() * u64::from(settings.epochs), every })
    }

    /// Returns the number of Spark jobs, one per round.
    pub fn jobs(self) -> u64 {
        self.steps.div_ceil(self.every)
    }

    /// Returns the images per task; the last task of an epoch may have fewer.
    pub fn images_of_task(self, job: &Job) -> u64 {
        self.every * u64::from(job.workload.batch_size)
    }
}

/// Returns the breakdown of the time between rounds, seconds over all threads. `learning_secs` is
/// the time from the first step of each round to its last, summed over executors and rounds.
///
/// An executor waits from the end of its task to the end of the round's last task, by the driver's
/// clock. The remaining time that is not learning counts as averaging: Spark's scheduling, the
/// transfer of the numbers in both directions, and the sum.
pub fn averaging(run: &Run<'_>, configuration: &Configuration, learning_secs: f64) -> Phases {
    let wait_ms = |stage: &&Stage| {
        let longest = stage.known_task_ms().max().unwrap_or(0);
        // The tasks of a round start together, because each has a slot.
        stage.known_task_ms().map(|ms| u64::from(longest - ms)).sum::<u64>()
    };
    let wait_secs = run.stages().values().map(wait_ms).sum::<u64>() as f64 / 1000.0;
    let whole = run.completion_time_secs() * f64::from(configuration.executors);
    let average_secs = (whole - learning_secs - wait_secs).max(0.0);
    let threads = f64::from(configuration.cores_per_executor);
    Phases { wait_secs: wait_secs * threads, average_secs: average_secs * threads, ..Phases::default() }
}

/// Returns defaults for the driver's properties when it receives the replicas of all executors:
/// memory for them, and no limit on the size of results. Users can override them.
pub fn properties(job: &Job, configuration: &Configuration) -> Vec<(&'static str, String)> {
    let Some(training) = &job.training else { return Vec::new() };
    let is_averaged = training.settings.average_every > 1 && configuration.executors > 1;
    let Some(parameters) = is_averaged.then(|| (training.parameters)(&job.workload)).flatten() else {
        return Vec::new();
    };
    let slots = if training.settings.average_optimizer_state { training.settings.optimizer.slots() as u64 } else { 0 };
    let replica_mib = (4 * parameters * (1 + slots)).div_ceil(1 << 20);
    let memory_mib = DRIVER_MIB + (u64::from(configuration.executors) + COPIES) * replica_mib;
    vec![("spark.driver.memory", format!("{memory_mib}m")), ("spark.driver.maxResultSize", "0".to_owned())]
}
