//! Shared parts of the end-to-end tests: the built binary as a process, real browsers, a real Spark
//! cluster, and a static file host.
//!
//! The tests use the real program like a user; only the faults of a collector are mocked
//! ([`StandIn`]).

mod browser;
mod cluster;
pub mod collector;
mod devtools;
mod example;
pub mod figures;
mod file_host;
mod firefox;
mod gpu_rig;
pub mod io_faults;
#[path = "../../runner/collector/tests/postgres/mod.rs"]
pub mod postgres;
mod program;
mod spark;
mod stand_in;

pub use crate::browser::Browser;
pub use crate::cluster::{answer, cluster_job, cluster_view, decide};
pub use crate::example::{STUDY_IMAGES, Shown, example, example_jobs, example_shown, study_lines};
pub use crate::file_host::FileHost;
pub use crate::firefox::Firefox;
pub use crate::gpu_rig::GpuRig;
pub use crate::program::{Answer, Program, foreglow, planner_dir, words, workspace_dir};
pub use crate::spark::{Cluster, HistoryServer, free_port, java_options, spark_home};
pub use crate::stand_in::{Fault, StandIn};
