//! Executors on rented machines: number of machines and their cost.

mod bill;
mod packing;

pub use self::bill::{Bill, Rental};
pub use self::packing::{ExecutorSize, Packing, PackingError, SYSTEM_MIB, pack, pack_split};
