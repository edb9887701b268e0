//! The memory that a batch needs, and the largest batch within a memory bound.

mod law;
mod need;
mod usable;

pub use self::law::{NetworkBytes, Work};
pub use self::need::{BatchMemory, Estimate, LargestBatch, MemoryRun};
pub use self::usable::{Bracket, UsableMemory};
