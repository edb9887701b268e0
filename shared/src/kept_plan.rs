//! Plans that were acted on, to compare them with what the jobs take.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Context, CoreSplit, Engine, JobDefinition, Outcome, Sample, SampleError, limits};

/// The completion time that a plan predicted for a whole job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTime {
    /// When the plan was made.
    #[serde(deserialize_with = "crate::moment::timestamp")]
    pub planned_at: Timestamp,
    /// Median, seconds.
    pub median_secs: f64,
    /// Lower end of the 90 % interval, seconds; `None` if the runs showed no error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_secs: Option<f64>,
    /// Upper end of the 90 % interval, seconds; `None` if the runs showed no error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_secs: Option<f64>,
    /// Deadline of the plan, seconds; `None` if the user gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_secs: Option<f64>,
    /// Predicted probability of meeting the deadline, and the budget if there was one; `None`
    /// without a deadline, or if the runs were too few to tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_probability: Option<f64>,
}

/// A plan that was acted on: the job, the chosen configuration, and its predicted time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptPlan {
    /// The job, with its numbers of images and epochs.
    pub job: JobDefinition,
    /// The engine that runs the executors.
    pub engine: Engine,
    /// Machine type, or a description of the hardware: [`Context::machine_name`].
    pub machine: String,
    /// Whether each executor has an accelerator.
    pub accelerated: bool,
    /// Executors and cores.
    #[serde(flatten)]
    pub split: CoreSplit,
    /// Images per pass through the CNN.
    pub batch_size: u32,
    /// Mini-batches between two averages; `None` unless the job trains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_every: Option<u32>,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Whether the plan chose a machine type and its GPUs alone, so that a run with any cores,
    /// batch size and program follows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_gpus: bool,
    /// The predicted time.
    pub predicted: PlannedTime,
}

impl PlannedTime {
    /// Checks that every number is in its range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn check(&self) -> Result<(), SampleError> {
        limits::check_planned(self)
    }
}

impl KeptPlan {
    /// Whether a run is the planned one: the whole job, of the same size, on the planned
    /// configuration, started after the plan was made, and completed.
    pub fn is_of(&self, sample: &Sample) -> bool {
        let is_whole = sample.sampling_rate >= 1.0 && sample.outcome == Outcome::Completed;
        if !is_whole || sample.started_at <= self.predicted.planned_at {
            return false;
        }
        let (configuration, workload) = (&sample.configuration, &sample.workload);
        let context = Context::of(sample);
        let is_of_size = (workload.images, workload.epochs) == (self.job.images, self.job.epochs);
        let is_on_machine =
            context.machine_name() == self.machine || context.host.machine.as_ref() == Some(&self.machine);
        if self.is_of_gpus {
            let gpus = configuration.executors.saturating_mul(configuration.accelerators_per_executor.unwrap_or(1));
            let is_named = (&workload.model, workload.mode) == (&self.job.model, self.job.mode);
            let has_gpus = configuration.accelerator.is_some() && gpus == self.split.executors;
            return is_of_size && is_on_machine && is_named && has_gpus;
        }
        let own = (self.engine, self.accelerated, self.split, self.batch_size, self.average_every, self.partition_size);
        let of_run = (
            sample.engine,
            configuration.accelerator.is_some(),
            configuration.split(),
            workload.batch_size,
            workload.average_every,
            configuration.partition_size,
        );
        is_of_size && is_on_machine && own == of_run && JobDefinition::of(&context).is_same_job(&self.job)
    }
}
