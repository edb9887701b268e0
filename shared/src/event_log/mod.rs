//! Reads Spark event logs, which the driver writes with `spark.eventLog.enabled`: one JSON object
//! per line.
//!
//! [`EventLogReader`] takes the uncompressed bytes of a log in chunks of any size and keeps an
//! [`Application`]: what a timing sample and a simulation need. Memory use is 4 bytes per task and
//! a few hundred bytes per job, stage and executor, whatever the size of the log.
//!
//! What a log does not record is `None`, never 0. Logs of Spark 2.3 and newer are supported;
//! unknown events and fields are skipped, so that logs of newer versions can be read too.
//!
//! Source of the format: `org.apache.spark.util.JsonProtocol` and `EventLoggingListener` of Spark
//! 3.5 and 4.1.

mod application;
mod collect;
mod event;
mod kind;
mod labels;
mod outcome;
mod reader;
mod run;
mod sample;

pub use self::application::{
    Application, Damage, Executor, JobEnd, Loss, ResourceProfile, SparkJob, Stage, TaskFailure, TaskTotals,
};
pub use self::labels::{LABELS, Label, LabelError, Labels, WORKLOAD_LABELS};
pub use self::outcome::Ending;
pub use self::reader::{EventLogError, EventLogReader};
pub use self::run::{NoRun, Run};
pub use self::sample::NoSample;

/// Prefix of Foreglow's own Spark properties, set for the application (`--conf`) or for one job (as
/// a local property).
pub const LABEL_PREFIX: &str = "spark.foreglow.";

/// Prefix of the description of warm-up jobs, which are not measured.
pub const WARM_UP: &str = "foreglow warm-up";

/// Prefix of the description of measured jobs. If no job has it, all jobs are measured.
pub const MEASURED: &str = "foreglow measured";
