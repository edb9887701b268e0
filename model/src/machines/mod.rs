//! Executors on rented machines: how many machines they take.

mod packing;

pub use self::packing::{ExecutorSize, Packing, PackingError, pack, pack_split};
