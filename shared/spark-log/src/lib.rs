//! Reads Spark event logs, which the driver writes with `spark.eventLog.enabled`: one JSON object
//! per line.
//!
//! [`EventLogReader`] takes the uncompressed UTF-8 bytes of a log in chunks of any size and builds
//! an [`Application`], the part that timing samples and simulations need. Memory use is 4 bytes per
//! task and a few hundred bytes per job, stage and executor, regardless of the size of the log.
//!
//! Values that a log lacks are `None`, never 0. Logs of Spark 2.3 and newer are supported; unknown
//! events and fields are skipped, so that logs of newer versions can be read too.
//!
//! Source of the format: `org.apache.spark.util.JsonProtocol` and `EventLoggingListener` of Spark
//! 3.5 and 4.1.

mod application;
mod collect;
mod event;
mod kind;
mod outcome;
mod reader;
mod run;
mod sample;
mod simulation;
mod timeline;
mod used;

pub use crate::application::{
    Application, Damage, Executor, JobEnd, Loss, ResourceProfile, SparkJob, Stage, TaskFailure, TaskTotals,
};
pub use crate::outcome::Ending;
pub use crate::reader::{EventLogError, EventLogReader};
pub use crate::run::{NoRun, Run};
pub use crate::sample::NoSample;
pub use crate::simulation::{SimulatedTime, Simulation, SimulationError};
pub use crate::timeline::{LoggedRun, StageSpan};
pub use crate::used::{LongestStage, Used};

/// Prefix of the description of warm-up jobs, which are not measured.
pub const WARM_UP: &str = "foreglow warm-up";

/// Prefix of the description of measured jobs. If no job has it, all jobs are measured.
pub const MEASURED: &str = "foreglow measured";
