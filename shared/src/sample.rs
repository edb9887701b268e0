//! Timing samples, one per run.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::limits;
use crate::names::names;
use crate::{CoreSplit, Curve, ExceededMemory, PlannedTime, SlotTimes, SplitError, Workload};

/// Version of the sample format; no other version is read.
pub const SCHEMA: u32 = 1;

/// Unit of a program's work whose size is unknown.
pub const UNKNOWN_SIZE: &str = "%";
/// Kinds of warnings about a disturbed run. The other kinds apply to every run of the
/// configuration, so its time is valid.
const DISTURBANCES: [&str; 5] =
    ["busy_machine", "stolen_processors", "throttled", "shared_accelerator", "throttled_accelerator"];

/// One run of a CNN job on one configuration: workload, machine and time.
///
/// Unknown fields are kept in `extra` and written back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Format version, [`SCHEMA`].
    pub schema: u32,
    /// Identifier of the run (UUID version 7); samples with the same id are duplicates.
    pub id: Uuid,
    /// The job.
    pub workload: Workload,
    /// The cluster configuration.
    pub configuration: Configuration,
    /// Share of the workload's images that was processed, in (0, 1].
    pub sampling_rate: f64,
    /// How the run ended.
    pub outcome: Outcome,
    /// Wall clock from submission to the last result, without start-up, seconds. A lower bound if
    /// the outcome is `timed_out`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time_secs: Option<f64>,
    /// Time until every executor was ready (process, model, warm-up), seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_secs: Option<f64>,
    /// What the plan that this run of the whole job follows predicted; absent without a kept plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<PlannedTime>,
    /// Why the run did not complete; absent if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The engine that ran the executors.
    pub engine: Engine,
    /// Version of the runner.
    pub runner_version: String,
    /// The machine.
    pub host: Host,
    /// When the run was submitted.
    #[serde(deserialize_with = "crate::moment::timestamp")]
    pub started_at: jiff::Timestamp,
    /// Seed of the choice of images and of the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Images that the CNN processed; in training over all epochs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images_processed: Option<u64>,
    /// Largest resident memory of an executor, MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_mib: Option<u64>,
    /// The memory that was exceeded, if the run ran out of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exceeded_memory: Option<ExceededMemory>,
    /// The work done over time, if the program reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Curve>,
    /// The times that an application's event log gives on other configurations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SlotTimes>,
    /// Standard error of ln of the completion time of a run that was stopped early, as a run of
    /// the whole job; 0 for a measured time. No file has it.
    #[serde(skip)]
    pub log_error: f64,
    /// Fields of later versions and other tools, kept unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The cluster configuration of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, which process partitions in parallel, C. In an uneven split,
    /// the largest number.
    pub cores_per_executor: u32,
    /// Task threads of all executors in an uneven split; `None` if each has C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cores: Option<u32>,
    /// Upper bound on an executor's memory, MiB.
    pub memory_per_executor_mib: u32,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Accelerator of each executor; `None` on CPUs.
    #[serde(default)]
    pub accelerator: Option<String>,
    /// Whether executors may share an accelerator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_accelerators: bool,
    /// Accelerators that each executor holds, from 1; `None` for one, or if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerators_per_executor: Option<u32>,
    /// Machines (nodes) that the executors ran on, from 1; `None` for one, or if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<u32>,
    /// Fields of later versions, kept unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The machine that ran the job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Name of the processor.
    #[serde(default)]
    pub cpu: Option<String>,
    /// Machine type, such as `c7i.large`; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Hardware threads available to the runner; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<u32>,
    /// Share of a processor per core under a CPU quota, in (0, 1); `None` for whole processors.
    /// [`Host::processors`] counts the throttled cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_share: Option<f64>,
    /// Name of the graphics adapter that ran the CNN; `None` on CPUs.
    #[serde(default)]
    pub adapter: Option<String>,
    /// Accelerators that the executors are spread over; empty on CPUs or if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accelerators: Vec<Accelerator>,
    /// Fields of later versions, kept unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An accelerator of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accelerator {
    /// Name from its driver.
    pub name: String,
    /// Memory, MiB; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Address on the PCI bus, such as `0000:01:00.0`; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_bus_id: Option<String>,
    /// Fields of later versions, kept unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Configuration {
    /// Returns a configuration without accelerators.
    pub fn new(split: CoreSplit, memory_per_executor_mib: u32, partition_size: u32) -> Self {
        let CoreSplit { executors, cores_per_executor, total_cores } = split;
        Self {
            executors,
            cores_per_executor,
            total_cores,
            memory_per_executor_mib,
            partition_size,
            accelerator: None,
            shares_accelerators: false,
            accelerators_per_executor: None,
            machines: None,
            extra: Map::new(),
        }
    }

    /// Returns how the cores are divided among the executors.
    pub fn split(&self) -> CoreSplit {
        CoreSplit::of_fields(self.executors, self.cores_per_executor, self.total_cores)
    }
}

impl Host {
    /// Describes the cores under a CPU quota: `cores of 5 % of a processor`. `None` without a
    /// quota.
    pub fn describe_slow_cores(&self) -> Option<String> {
        let percent = (self.core_share? * 1e4).round() / 1e2;
        Some(format!("cores of {percent} % of a processor"))
    }

    /// Returns the machine without the addresses of its accelerators, so that two machines of the
    /// same make compare equal.
    pub fn without_addresses(&self) -> Self {
        let mut host = self.clone();
        host.accelerators.iter_mut().for_each(|accelerator| accelerator.pci_bus_id = None);
        host
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every image was processed.
    Completed,
    /// An executor exceeded its memory.
    OutOfMemory,
    /// Stopped at a time limit: the time is a lower bound.
    TimedOut,
    /// Failed for any other reason.
    Failed,
}

/// The engine that ran the executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Processes on this machine.
    Local,
    /// An Apache Spark cluster.
    Spark,
    /// The user's own program on this machine.
    Command,
}

/// Why a sample cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The text is not JSON of the sample format.
    #[error("it is not a sample ({0}); correct it")]
    Form(String),
    /// A field, by its dotted name, is missing or has a value of another type.
    #[cfg(not(target_arch = "wasm32"))]
    #[error("{0}")]
    Field(String),
    /// The sample has another format version.
    #[error("its schema is {0} and this version reads {SCHEMA}; use the Foreglow that wrote it")]
    Schema(u32),
    /// A value is out of range.
    #[error("{field} is {value}; it must be {must}")]
    Range {
        /// Dotted name of the field.
        field: &'static str,
        /// Its value.
        value: String,
        /// The values it may have.
        must: String,
    },
    /// The outcome requires a time, which is missing.
    #[error("completion_time_secs is missing; the outcome {outcome} requires it")]
    MissingTime {
        /// The outcome, as in the sample format.
        outcome: &'static str,
    },
}

impl From<SplitError> for SampleError {
    fn from(SplitError { split, total }: SplitError) -> Self {
        let must = format!(
            "the total of an uneven split: at least executors, above executors × (cores_per_executor - 1) and below \
             executors × cores_per_executor, here {} × {}",
            split.executors, split.cores_per_executor
        );
        Self::Range { field: "configuration.total_cores", value: total.to_string(), must }
    }
}

names!(Outcome {
    Completed => "completed",
    OutOfMemory => "out_of_memory",
    TimedOut => "timed_out",
    Failed => "failed",
});

names!(Engine { Local => "local", Spark => "spark", Command => "command" });

impl Engine {
    /// Whether all executors of a run are on one machine, so that its processors and accelerators
    /// limit them.
    pub fn is_on_one_machine(self) -> bool {
        self != Self::Spark
    }
}

impl Sample {
    /// Returns the completion time, seconds; `None` unless the run completed.
    pub fn completed_secs(&self) -> Option<f64> {
        match self.outcome {
            Outcome::Completed => self.completion_time_secs,
            _ => None,
        }
    }

    /// Returns the work of the whole job in the units of [`progress`](Self::progress), as the
    /// program reported it, or from the workload.
    pub fn whole_units(&self) -> Option<f64> {
        let (curve, workload) = (self.progress.as_ref()?, &self.workload);
        let epochs = f64::from(workload.epochs);
        curve.whole(Some(workload.epochs)).or_else(|| match curve.unit.as_str() {
            // The share of the job is all that is known of its size.
            _ if workload.unit.as_deref() == Some(UNKNOWN_SIZE) => None,
            unit if workload.unit.as_deref() == Some(unit) => Some(workload.images as f64 * epochs),
            "images" | "samples" => Some(workload.images as f64 * epochs),
            "steps" if workload.command.is_some() => Some(workload.program_steps(&self.configuration) as f64),
            "steps" => Some(workload.images.div_ceil(workload.batch_size.into()) as f64 * epochs),
            _ => None,
        })
    }

    /// Whether a warning names a cause outside the job that slowed the machine during the run, so
    /// that the time may be too long for the configuration.
    pub fn is_disturbed(&self) -> bool {
        let warnings = self.extra.get("warnings").and_then(Value::as_array);
        let is_disturbance = |warning: &Value| {
            warning.get("kind").and_then(Value::as_str).is_some_and(|kind| DISTURBANCES.contains(&kind))
        };
        warnings.is_some_and(|warnings| warnings.iter().any(is_disturbance))
    }

    /// Checks the ranges that the types do not enforce.
    ///
    /// # Errors
    /// [`SampleError`] with the first field that is out of range.
    pub fn check(&self) -> Result<(), SampleError> {
        if self.schema != SCHEMA {
            return Err(SampleError::Schema(self.schema));
        }
        limits::check(self)?;
        if matches!(self.outcome, Outcome::Completed | Outcome::TimedOut) && self.completion_time_secs.is_none() {
            return Err(SampleError::MissingTime { outcome: self.outcome.as_str() });
        }
        Ok(())
    }
}
