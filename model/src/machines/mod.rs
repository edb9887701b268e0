//! Executors on rented machines: how many machines they take, and what these cost.

mod bill;
mod packing;

pub use self::bill::{Bill, Rental};
pub use self::packing::{ExecutorSize, Packing, PackingError, SYSTEM_MIB, pack, pack_split};
