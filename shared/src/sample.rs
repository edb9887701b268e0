//! Timing samples: one run each.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::limits::{self, MOST_SECS};

/// Version of the sample format that this code writes. It reads this version only; there is no older one.
pub const SCHEMA: u32 = 1;

/// Kinds of warnings that tell of a disturbed run. The others hold for every run of the configuration, so that the time is right.
const DISTURBANCES: [&str; 5] =
    ["busy_machine", "stolen_processors", "throttled", "shared_accelerator", "throttled_accelerator"];

/// One run of a CNN job on one configuration: what ran, where, and how long it took.
///
/// Fields that this version does not know are kept in `extra` and written back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Version of the format, [`SCHEMA`].
    pub schema: u32,
    /// Identity of the run (UUID version 7); a sample that is sent twice is the same sample.
    pub id: Uuid,
    /// What ran.
    pub workload: Workload,
    /// What it ran on.
    pub configuration: Configuration,
    /// Share of the workload's images that the run processed, in (0, 1].
    pub sampling_rate: f64,
    /// How the run ended.
    pub outcome: Outcome,
    /// Wall clock from submission to the last result, seconds, start-up excluded. For `timed_out` it is a lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time_secs: Option<f64>,
    /// Time until every executor was ready (process, model, warm-up), seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_secs: Option<f64>,
    /// Why the run did not complete; absent when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What ran the executors.
    pub engine: Engine,
    /// Version of the runner that measured.
    pub runner_version: String,
    /// The machine that measured.
    pub host: Host,
    /// When the run was submitted.
    #[serde(deserialize_with = "crate::moment::timestamp")]
    pub started_at: jiff::Timestamp,
    /// Fields of later versions and of other tools, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A CNN job: the model and the data that it works through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the CNN, such as `resnet18`.
    pub model: String,
    /// Inference or training.
    pub mode: Mode,
    /// Side of the square input image, pixels; 1 where there are texts and no images ([`Workload::text`]).
    pub image_px: u32,
    /// Images, or texts, of the whole job (sampling rate 1).
    pub images: u64,
    /// Passes over the images.
    pub epochs: u32,
    /// Images that go through the CNN at once.
    pub batch_size: u32,
    /// Fields of later versions, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The cluster configuration of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// Executor processes, E.
    pub executors: u32,
    /// Threads of an executor that process partitions at the same time, C.
    pub cores_per_executor: u32,
    /// Upper bound on an executor's memory, MiB.
    pub memory_per_executor_mib: u32,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Accelerator that each executor holds; `None` on CPUs.
    #[serde(default)]
    pub accelerator: Option<String>,
    /// Fields of later versions, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The machine that measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Name of the processor.
    #[serde(default)]
    pub cpu: Option<String>,
    /// Hardware threads that the runner may use; `None` where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<u32>,
    /// Name of the graphics adapter that ran the CNN; `None` on CPUs.
    #[serde(default)]
    pub adapter: Option<String>,
    /// Fields of later versions, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What the CNN does with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Forward passes only.
    Inference,
    /// Forward, backward and update.
    Training,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every image was processed.
    Completed,
    /// An executor went over its memory.
    OutOfMemory,
    /// Stopped at a limit: the time is a lower bound, never a completion time.
    TimedOut,
    /// Anything else.
    Failed,
}

/// What ran the executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Processes on this machine.
    Local,
    /// An Apache Spark cluster.
    Spark,
}

/// Why a sample cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// Not JSON, or JSON of another form.
    #[error("it is not a sample ({0}); write one JSON object of Foreglow's sample format")]
    Form(String),
    /// Written by a version with another format.
    #[error("its schema is {0} and this version reads {SCHEMA}; use the Foreglow that wrote it")]
    Schema(u32),
    /// A number outside its range.
    #[error("{field} is {value}; it must be {must}")]
    Range {
        /// Name of the field, with dots.
        field: &'static str,
        /// What it holds.
        value: String,
        /// What it may hold.
        must: String,
    },
    /// The outcome needs a time.
    #[error("the outcome {outcome} needs completion_time_secs, and there is none")]
    MissingTime {
        /// The outcome as written.
        outcome: &'static str,
    },
}

impl Outcome {
    /// The word in the sample format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::OutOfMemory => "out_of_memory",
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
        }
    }
}

impl Mode {
    /// The word in the sample format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inference => "inference",
            Self::Training => "training",
        }
    }
}

impl Engine {
    /// The word in the sample format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Spark => "spark",
        }
    }
}

impl Sample {
    /// The completion time in seconds if the run completed; a lower bound or a failed run has none.
    pub fn completed_secs(&self) -> Option<f64> {
        match self.outcome {
            Outcome::Completed => self.completion_time_secs,
            _ => None,
        }
    }

    /// Most memory that an executor held, MiB, where the runner says it.
    pub fn peak_memory_mib(&self) -> Option<u64> {
        self.extra.get("peak_memory_mib")?.as_u64()
    }

    /// Whether one of the sample's `warnings` names something outside the job that slowed the machine during the run, so that the
    /// time may be longer than the configuration's.
    pub fn is_disturbed(&self) -> bool {
        let warnings = self.extra.get("warnings").and_then(Value::as_array);
        let is_disturbance = |warning: &Value| {
            warning.get("kind").and_then(Value::as_str).is_some_and(|kind| DISTURBANCES.contains(&kind))
        };
        warnings.is_some_and(|warnings| warnings.iter().any(is_disturbance))
    }

    /// Checks what the types cannot say.
    ///
    /// # Errors
    /// The first field that is outside its range, named, with what it must be.
    pub fn check(&self) -> Result<(), SampleError> {
        if self.schema != SCHEMA {
            return Err(SampleError::Schema(self.schema));
        }
        limits::check(self)?;
        if !(self.sampling_rate > 0.0 && self.sampling_rate <= 1.0) {
            return Err(SampleError::Range {
                field: "sampling_rate",
                value: self.sampling_rate.to_string(),
                must: "more than 0 and at most 1".into(),
            });
        }
        if matches!(self.outcome, Outcome::Completed | Outcome::TimedOut) && self.completion_time_secs.is_none() {
            return Err(SampleError::MissingTime { outcome: self.outcome.as_str() });
        }
        check_secs("completion_time_secs", self.completion_time_secs, "above 0", |secs| secs > 0.0)?;
        check_secs("startup_secs", self.startup_secs, "0 or more", |secs| secs >= 0.0)
    }
}

fn check_secs(
    field: &'static str,
    secs: Option<f64>,
    least: &str,
    allowed: impl Fn(f64) -> bool,
) -> Result<(), SampleError> {
    match secs {
        Some(secs) if !(secs <= MOST_SECS && allowed(secs)) => {
            let must = format!("a number of seconds, {least} and at most {MOST_SECS}");
            Err(SampleError::Range { field, value: secs.to_string(), must })
        }
        _ => Ok(()),
    }
}
