//! Tables of a store in a file, and detection of foreign files.

use std::path::{Path, PathBuf};

use foreglow_exit::unusable;
use rusqlite::Connection;

use crate::disk::is_shared;
use crate::failure::sqlite::sentence;
use crate::sqlite::File;

/// `FGLW`, which marks an SQLite file as a Foreglow store.
const APPLICATION_ID: i64 = 0x4647_4c57;
/// Version of the tables below. Stores of other versions are refused.
const VERSION: i64 = 7;

/// The index by start has all columns that the figures of runs need. Samples arrive roughly in the
/// order of their start, so that writes append to it.
const TABLES: &str = include_str!("sqlite.sql");

/// Page cache of the writing connection; a write of samples touches pages of all indexes.
const CACHE_KIB: i64 = 32 << 10;
/// Pages of the write-ahead log, 4 KiB each, at which SQLite makes a checkpoint. With SQLite's
/// default of 1,000, each write of a few thousand samples would make one.
const CHECKPOINT_PAGES: i64 = 8_000;

/// Opens a store; with `create`, a missing file is created.
pub(super) fn open(path: PathBuf, create: bool) -> anyhow::Result<File> {
    File::open(path, create, prepare)
}

/// Checks that the file is a store of this version, or initialises it, and sets the write mode.
fn prepare(connection: &mut Connection, path: &Path) -> anyhow::Result<()> {
    let failed = |error: rusqlite::Error| sentence(path, &error);
    check(connection, path)?;
    connection.pragma_update(None, "journal_mode", journal(is_shared(path))).map_err(failed)?;
    connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB).map_err(failed)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES).map_err(failed)?;
    create(connection).map_err(failed)
}

/// Returns the journal mode. The index of a write-ahead log is in memory that machines do not
/// share: on a network file system, such as the home folder of a cluster, their writes would
/// overwrite each other.
fn journal(is_shared: bool) -> &'static str {
    if is_shared { "delete" } else { "wal" }
}

/// Whether a database is a store of any version.
pub(crate) fn is_store(connection: &Connection) -> rusqlite::Result<bool> {
    let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(id == APPLICATION_ID)
}

/// Runs before anything is written, so that foreign files stay unchanged.
pub(crate) fn check(connection: &Connection, path: &Path) -> anyhow::Result<()> {
    let read =
        |pragma: &str| -> rusqlite::Result<i64> { connection.pragma_query_value(None, pragma, |row| row.get(0)) };
    let failed = |error: rusqlite::Error| sentence(path, &error);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).map_err(failed)?;
    if tables > 0 && !is_store(connection).map_err(failed)? {
        return Err(unusable(format!(
            "{} is a database of another program; name another file with --store",
            path.display()
        )));
    }
    let version = read("user_version").map_err(failed)?;
    if version > VERSION {
        return Err(unusable(format!(
            "the store {} was written by a newer Foreglow (tables of version {version}, this one knows {VERSION}); \
             use that version, or another file with --store",
            path.display()
        )));
    }
    if tables > 0 && version < VERSION {
        return Err(unusable(format!(
            "the store {} was written by an earlier build (tables of version {version}, this one knows {VERSION}), and is \
             not upgraded; post its samples to a new store with that build",
            path.display()
        )));
    }
    Ok(())
}

/// Creates the tables of a new store.
fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let version =
        |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    if version(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another program may have created them meanwhile.
    if version(&transaction)? != VERSION {
        let marks = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}");
        transaction.execute_batch(&format!("{TABLES} {marks}"))?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_on_a_network_file_system_has_no_write_ahead_log() {
        assert_eq!([false, true].map(journal), ["wal", "delete"]);
        let folder = tempfile::tempdir().unwrap();
        let file = open(folder.path().join("a.sqlite"), true).unwrap();
        let mode: String = file.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }
}
