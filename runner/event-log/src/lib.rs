//! Spark event logs from files, folders and history servers.
//!
//! This module finds, orders and decompresses them piece by piece; `foreglow_spark_log`
//! parses the bytes.

mod blocks;
mod codec;
mod files;
mod find;
mod history_server;
mod read;

pub use self::files::LogFiles;
pub use self::find::find;
pub use self::read::{begins_as_log, read};
