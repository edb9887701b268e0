//! Spark's event logs where they lie: files and folders as Spark writes them, and what a history server hands out.
//!
//! `foreglow_shared::event_log` reads the bytes; here they are found, put in order and uncompressed, a piece at a time.

mod blocks;
mod codec;
mod files;
mod find;
mod history_server;
mod read;

pub use self::files::LogFiles;
pub use self::find::find;
pub use self::read::{Log, begins_as_log, read};
