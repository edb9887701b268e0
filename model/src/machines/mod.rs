//! Executors on rented machines: how many machines they take.

mod packing;

pub use self::packing::{ExecutorSize, Packing, PackingError, SYSTEM_MIB, pack, pack_split};
