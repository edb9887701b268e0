//! The page's side of the workers.

mod errand;
mod fit_worker;
mod machine_worker;

pub use self::errand::{COMPARISON, Errand, READER};
pub use self::fit_worker::FitWorker;
pub use self::machine_worker::MachineWorker;
