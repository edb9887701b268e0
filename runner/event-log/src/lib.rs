//! Spark event logs, and other files to import, from files, folders and history servers.
//!
//! This crate finds, orders and decompresses them piece by piece; `foreglow_import` reads their
//! content.

mod blocks;
mod codec;
mod files;
mod find;
mod history_server;
mod read;
mod training_runs;

pub use self::files::LogFiles;
pub use self::find::find;
pub use self::read::{Log, read};
pub use self::training_runs::trainer_state;
