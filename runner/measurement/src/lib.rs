//! The arguments of the commands that measure: the job (`workload`, `training`, `program`), the
//! engine that runs it, the grid of its runs and their list (`dry_run`), and the upload of its
//! samples.

pub mod dry_run;
pub mod engine;
pub mod grid;
pub mod program;
pub mod training;
pub mod upload;
pub mod workload;

/// Default memory limit of an executor, MiB.
pub const DEFAULT_MEMORY_MIB: u32 = 2048;
