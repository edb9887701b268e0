//! Tables of a store in a file, and detection of foreign files.

use std::path::{Path, PathBuf};

use foreglow_exit::unusable;
use rusqlite::{Connection, params};

use crate::disk::is_shared;
use crate::store::Location;
use crate::store::checksum::checksum;
use crate::store::database::Transaction;
use crate::store::failure::sqlite::sentence;
use crate::store::failure::{Outcome, sentence as explain};
use crate::store::jobs::add_to_old_runs;
use crate::store::runs::assign_all;
use crate::store::sqlite::{File, Writing};

/// `FGLW`, which marks an SQLite file as a Foreglow store.
const APPLICATION_ID: i64 = 0x4647_4c57;
/// Version of the tables below. A change of the tables increments it and adds a step to
/// [`migrate`].
const VERSION: i64 = 6;

pub(in crate::store) const TABLES: &str = "
    CREATE TABLE samples (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        model TEXT NOT NULL,
        mode TEXT NOT NULL,
        engine TEXT NOT NULL,
        outcome TEXT NOT NULL,
        started_at_us INTEGER NOT NULL,
        line TEXT NOT NULL
    );
    CREATE TABLE pending (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        collector TEXT NOT NULL,
        id TEXT NOT NULL,
        line TEXT NOT NULL,
        UNIQUE (collector, id)
    );";

/// Adds the checksums of the samples, the workloads with their number of samples, and the reasons
/// of rejected samples. Triggers count the samples, so that every write is included.
const VERSION_2: &str = "
    ALTER TABLE samples ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE pending ADD COLUMN rejection TEXT;
    CREATE TABLE workloads (
        workload TEXT PRIMARY KEY,
        samples INTEGER NOT NULL
    ) WITHOUT ROWID;
    INSERT INTO workloads
        SELECT coalesce(json_extract(line, '$.workload'), '{}') AS workload, count(*) FROM samples GROUP BY workload;
    CREATE TRIGGER sample_added AFTER INSERT ON samples BEGIN
        INSERT INTO workloads VALUES (coalesce(json_extract(NEW.line, '$.workload'), '{}'), 1)
            ON CONFLICT DO UPDATE SET samples = samples + 1;
    END;
    CREATE TRIGGER sample_removed AFTER DELETE ON samples WHEN json_valid(OLD.line) BEGIN
        UPDATE workloads SET samples = samples - 1 WHERE workload = json_extract(OLD.line, '$.workload');
        DELETE FROM workloads WHERE samples < 1;
    END;";

/// Adds the tokens, the audit log, and the index of the runs by time, for retention.
const VERSION_3: &str = "
    CREATE TABLE tokens (
        name TEXT PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        roles TEXT NOT NULL,
        per_minute INTEGER NOT NULL,
        created_at_us INTEGER NOT NULL,
        expires_at_us INTEGER,
        last_used_at_us INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE audit (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        at_us INTEGER NOT NULL,
        who TEXT NOT NULL,
        what TEXT NOT NULL
    );
    CREATE INDEX samples_by_start ON samples (started_at_us);";

/// Adds the runs, with the figures of their samples. They also count the workloads, once per write,
/// and replace the triggers, which parsed every sample.
const VERSION_4: &str = "
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        model TEXT NOT NULL,
        workload TEXT NOT NULL,
        configuration TEXT NOT NULL,
        sampling_rate REAL NOT NULL,
        engine TEXT NOT NULL,
        outcome TEXT NOT NULL,
        host TEXT NOT NULL,
        samples INTEGER NOT NULL DEFAULT 0,
        timed INTEGER NOT NULL DEFAULT 0,
        sum_secs REAL NOT NULL DEFAULT 0,
        least_secs REAL,
        most_secs REAL,
        UNIQUE (workload, configuration, sampling_rate, engine, outcome, host)
    );
    ALTER TABLE samples ADD COLUMN run INTEGER;
    ALTER TABLE samples ADD COLUMN secs REAL;
    DROP TRIGGER sample_added;
    DROP TRIGGER sample_removed;
    DELETE FROM workloads;";

/// Adds the runs and completion times to the index by start, and removes the index by run, in which
/// a write of samples of many runs changed a page for each sample. Samples arrive roughly in the
/// order of their start, so writes append to the index by start.
const VERSION_5: &str = "
    DROP INDEX IF EXISTS samples_by_run;
    DROP INDEX samples_by_start;
    CREATE INDEX samples_by_start ON samples (started_at_us, seq, run, secs);";

/// Adds the jobs, from which workloads are counted, and the newest samples of each run.
const VERSION_6: &str = "
    CREATE TABLE jobs (
        job TEXT PRIMARY KEY,
        context TEXT NOT NULL,
        samples INTEGER NOT NULL DEFAULT 0,
        latest INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    ALTER TABLE runs ADD COLUMN job TEXT NOT NULL DEFAULT '';
    ALTER TABLE runs ADD COLUMN newest TEXT NOT NULL DEFAULT '';
    CREATE INDEX runs_by_job ON runs (job);
    DROP TABLE workloads;";

/// Page cache of the writing connection; a write of samples touches pages of all indexes.
const CACHE_KIB: i64 = 32 << 10;
/// Pages of the write-ahead log, 4 KiB each, at which SQLite makes a checkpoint. With SQLite's
/// default of 1,000, each write of a few thousand samples would make one.
const CHECKPOINT_PAGES: i64 = 8_000;

/// Opens a store, and upgrades its tables; with `create`, a missing file is created.
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
    migrate(connection).map_err(|failure| explain(&Location::File(path.to_owned()), &failure))
}

/// Returns the journal mode. The index of a write-ahead log is in memory that machines do not
/// share: on a network file system, such as the home folder of a cluster, their writes would
/// overwrite each other.
fn journal(is_shared: bool) -> &'static str {
    if is_shared { "delete" } else { "wal" }
}

/// Whether a database is a store of any version.
pub(in crate::store) fn is_store(connection: &Connection) -> rusqlite::Result<bool> {
    let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(id == APPLICATION_ID)
}

/// Runs before anything is written, so that foreign files stay unchanged.
pub(in crate::store) fn check(connection: &Connection, path: &Path) -> anyhow::Result<()> {
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
    Ok(())
}

fn migrate(connection: &mut Connection) -> Outcome<()> {
    let version =
        |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    if version(connection)? == VERSION {
        return Ok(());
    }
    // Another process may have initialised the file in the meantime, so check again inside the
    // transaction.
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    if found < 1 {
        transaction.execute_batch(TABLES)?;
    }
    if found < 2 {
        transaction.execute_batch(VERSION_2)?;
        add_checksums(&transaction)?;
    }
    if found < 3 {
        transaction.execute_batch(VERSION_3)?;
    }
    let transaction = Transaction::File(Writing(transaction));
    if found < 4 {
        transaction.execute_batch(VERSION_4)?;
    }
    if found < 5 {
        transaction.execute_batch(VERSION_5)?;
    }
    if found < 6 {
        transaction.execute_batch(VERSION_6)?;
        // The tables of the runs are empty before version 4.
        if found < 4 { assign_all(&transaction)? } else { add_to_old_runs(&transaction)? }
    }
    transaction.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}"))?;
    transaction.commit()
}

/// Samples per batch when checksums are added.
const BATCH: i64 = 1_000;

fn add_checksums(transaction: &Connection) -> rusqlite::Result<()> {
    let mut read = transaction.prepare("SELECT seq, id, line FROM samples WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
    let mut write = transaction.prepare("UPDATE samples SET checksum = ?2 WHERE seq = ?1")?;
    let mut after = 0_i64;
    loop {
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let rows: Vec<(i64, String, String)> =
            read.query_map(params![after, BATCH], row)?.collect::<rusqlite::Result<_>>()?;
        let Some((last, ..)) = rows.last() else { return Ok(()) };
        after = *last;
        for (seq, id, line) in &rows {
            write.execute(params![seq, checksum(id.as_bytes(), line.as_bytes())])?;
        }
    }
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
