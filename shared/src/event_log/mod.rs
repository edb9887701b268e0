//! Spark's event logs, as `spark.eventLog.enabled` has the driver write them: one JSON object a line.
//!
//! [`EventLogReader`] takes the bytes of a log, uncompressed, in pieces of any size and keeps what a timing sample and a
//! simulation of the application need: an [`Application`]. Memory does not grow with the log but for 4 bytes a task, and
//! the few hundred of each job, stage and executor.
//!
//! What a log does not say is `None`, never 0. A log of Spark 2.3 or newer is read; events and fields that are not known
//! here are passed over, so that one of a newer Spark is read too.
//!
//! Source of the format: `org.apache.spark.util.JsonProtocol` and `EventLoggingListener` of Spark 3.5 and 4.1.

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
    Application, Damage, Executor, Job, JobEnd, Loss, ResourceProfile, Stage, TaskFailure, TaskTotals,
};
pub use self::labels::{LABELS, Label, LabelError, Labels, WORKLOAD_LABELS};
pub use self::outcome::Ending;
pub use self::reader::{EventLogError, EventLogReader};
pub use self::run::{NoRun, Run};
pub use self::sample::NoSample;

/// The prefix of Foreglow's own Spark properties, of the application (`--conf`) and of one job (a local property).
pub const LABEL_PREFIX: &str = "spark.foreglow.";

/// The job description of a job that only warms the executors up: it is no part of a measurement.
pub const WARM_UP: &str = "foreglow warm-up";

/// The job description of a job that is measured. Where an application has none, all of it is.
pub const MEASURED: &str = "foreglow measured";
