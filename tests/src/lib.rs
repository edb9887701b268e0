//! What the end-to-end tests share: the built binary as a process, a real browser, a real Spark cluster, and
//! a plain file host.
//!
//! Nothing here stands in for a part of Foreglow: the tests see the program as a person does.

mod browser;
mod cluster;
mod devtools;
mod example;
mod file_host;
mod firefox;
mod program;
mod spark;

pub use crate::browser::Browser;
pub use crate::cluster::{answer, cluster_job, cluster_view};
pub use crate::example::{Shown, example, example_jobs, example_shown};
pub use crate::file_host::FileHost;
pub use crate::firefox::Firefox;
pub use crate::program::{Answer, Program, foreglow, planner_dir, workspace_dir};
pub use crate::spark::{Cluster, HistoryServer, free_port, spark_home};
