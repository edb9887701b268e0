//! The memory that a batch needs, the largest batch within a memory bound, and the configurations
//! that run out of memory.

mod footprint;
mod gpu;
mod law;
mod need;
mod peak;
mod usable;

pub(crate) use self::footprint::{Footprint, is_out_of_memory};
pub use self::law::{NetworkBytes, Work};
pub use self::need::{BatchMemory, Estimate, LargestBatch, MemoryRun};
pub(crate) use self::peak::expected_peak_mib;
pub use self::usable::{Bracket, UsableMemory};
