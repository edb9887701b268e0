//! The page's side of the workers.

mod plan_worker;
mod request;
pub mod storage;
mod tables;
mod worker;

pub use self::plan_worker::PlanWorker;
pub use self::request::{COMPARISON, READER, RunningRequest};
