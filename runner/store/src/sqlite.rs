//! The embedded store: one SQLite file in WAL mode with `synchronous=FULL`.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use foreglow_shared::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, TransactionBehavior, params, params_from_iter};

use super::Encoded;
use super::encoded::RunKey;
use super::failure::sqlite::sentence;
use super::failure::{Failure, Outcome};
use super::figures::{AddedToJob, Sums};
use super::newest::MOST_DIGITS;
use super::row::{Row, Value, collected};
use super::transaction::Writes;

pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    /// Identity of the file when it was opened.
    identity: Option<Identity>,
    /// Identity of its write-ahead log. SQLite keeps the log as long as a connection is open.
    log: Option<Identity>,
}

/// Identity of a file, which differs from that of another file of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity(u64, u64);

impl Identity {
    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::metadata(path).ok().map(|file| Self(file.dev(), file.ino()))
    }

    #[cfg(not(unix))]
    fn of(path: &Path) -> Option<Self> {
        path.exists().then_some(Self(0, 0))
    }
}

/// Creates a missing file that only its owner may read and write. SQLite gives the permissions of a
/// file to its log.
pub(super) fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

impl File {
    /// Opens a file; with `create`, a missing one is created. `prepare` checks or writes its
    /// tables.
    pub(super) fn open(
        path: PathBuf,
        create: bool,
        prepare: impl FnOnce(&mut Connection, &Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        if create {
            // SQLite says why the file cannot be written.
            let _ = create_private(&path);
        }
        let create = if create { OpenFlags::SQLITE_OPEN_CREATE } else { OpenFlags::empty() };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let failed = |error: rusqlite::Error| sentence(&path, &error);
        let mut connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        prepare(&mut connection, &path)?;
        let (identity, log) = (Identity::of(&path), Identity::of(&log_of(&path)));
        Ok(Self { connection, path, identity, log })
    }

    pub(super) fn reader(&self) -> Outcome<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(Self { connection, path: self.path.clone(), identity: self.identity, log: self.log })
    }

    pub(super) fn each(
        &self,
        sql: &str,
        parameters: &[Value],
        visit: &mut dyn FnMut(Row) -> Outcome<bool>,
    ) -> Outcome<()> {
        each(&self.connection, sql, parameters, visit)
    }

    /// Begins a transaction. Fails if the file or its log was removed or replaced, because SQLite
    /// would write to the removed file and the data would be lost.
    pub(super) fn begin(&mut self) -> Outcome<FileTransaction<'_>> {
        self.look()?;
        Ok(FileTransaction(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?))
    }

    /// Finds out whether the file or its log was removed or replaced since they were opened.
    pub(super) fn look(&mut self) -> Outcome<()> {
        if Identity::of(&self.path) != self.identity {
            return Err(Failure::Gone);
        }
        let log = Identity::of(&log_of(&self.path));
        match (self.log, log) {
            (None, _) => self.log = log,
            (known, _) if known == log => {}
            (_, None) => {
                // The removed log is still open: its samples are moved into the file, so that those
                // that were acknowledged stay. A failure is the same damage.
                let _ = self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
                return Err(Failure::LogGone);
            }
            // Another program has begun a log of its own.
            (_, Some(_)) => return Err(Failure::LogGone),
        }
        Ok(())
    }

    /// Returns the size of the file with its write-ahead log.
    pub(super) fn size_bytes(&self) -> u64 {
        let files = [self.path.clone(), log_of(&self.path)];
        files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|file| file.len()).sum()
    }
}

/// Returns the path of the write-ahead log.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// A transaction that holds the lock for writers.
#[derive(Debug)]
pub(super) struct FileTransaction<'a>(pub(super) rusqlite::Transaction<'a>);

impl Writes for FileTransaction<'_> {
    fn execute(&self, sql: &str, parameters: &[Value]) -> Outcome<usize> {
        Ok(self.0.prepare_cached(&numbered(sql))?.execute(params_from_iter(parameters))?)
    }

    fn query(&self, sql: &str, parameters: &[Value]) -> Outcome<Vec<Row>> {
        collected(|visit| each(&self.0, sql, parameters, visit))
    }

    fn execute_batch(&self, sql: &str) -> Outcome<()> {
        Ok(self.0.execute_batch(sql)?)
    }

    fn add_samples(&self, samples: &[(&Encoded, i64)]) -> Outcome<Vec<Option<i64>>> {
        let mut add = self.0.prepare_cached(
            "INSERT OR IGNORE INTO samples
                 (id, model, mode, engine, outcome, started_at_us, line, run, secs, sender, received_at_us)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?;
        let now = Timestamp::now().as_microsecond();
        let add = |(new, run): &(&Encoded, i64)| {
            let added = add.execute(params![
                new.id,
                new.run.model,
                new.mode,
                new.run.engine,
                new.run.outcome,
                new.started_at_us,
                new.line,
                run,
                new.secs,
                new.sender.as_deref(),
                now,
            ])?;
            // The position is the row's number.
            Ok((added == 1).then(|| self.0.last_insert_rowid()))
        };
        samples.iter().map(add).collect()
    }

    fn numbers_of(&self, runs: &[(&RunKey, &str)]) -> Outcome<Vec<i64>> {
        let mut find = self.0.prepare_cached(
            "SELECT number FROM runs WHERE workload = ?1 AND configuration = ?2 AND sampling_rate = ?3 AND engine = ?4
                 AND outcome = ?5 AND host = ?6",
        )?;
        let mut make = self.0.prepare_cached(
            "INSERT INTO runs (workload, configuration, sampling_rate, engine, outcome, host, model, job)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING number",
        )?;
        let number = |(run, job): &(&RunKey, &str)| {
            let rate = run.sampling_rate();
            let of_run = params![run.workload, run.configuration, rate, run.engine, run.outcome, run.host];
            if let Some(number) = find.query_row(of_run, |row| row.get(0)).optional()? {
                return Ok(number);
            }
            let of_run =
                params![run.workload, run.configuration, rate, run.engine, run.outcome, run.host, run.model, job];
            Ok(make.query_row(of_run, |row| row.get(0))?)
        };
        runs.iter().map(number).collect()
    }

    fn make_jobs(&self, jobs: &[(&str, &str)]) -> Outcome<()> {
        let mut make = self.0.prepare_cached("INSERT OR IGNORE INTO jobs (job, context) VALUES (?1, ?2)")?;
        for job in jobs {
            make.execute(*job)?;
        }
        Ok(())
    }

    fn contexts_of(&self, jobs: &[&str]) -> Outcome<Vec<(String, String)>> {
        let mut find = self.0.prepare_cached("SELECT job, context FROM jobs WHERE job = ?1")?;
        let mut contexts = Vec::with_capacity(jobs.len());
        for job in jobs {
            contexts.extend(find.query_row([job], |row| Ok((row.get(0)?, row.get(1)?))).optional()?);
        }
        Ok(contexts)
    }

    fn add_to_jobs(&self, added: &[AddedToJob]) -> Outcome<()> {
        let add = "UPDATE jobs SET samples = samples + ?2, latest = max(latest, ?3) WHERE job = ?1";
        let mut add = self.0.prepare_cached(add)?;
        for AddedToJob { job, samples, latest } in added {
            if add.execute(params![&**job, samples, latest])? == 0 {
                return Err(Failure::NoSuchRun);
            }
        }
        Ok(())
    }

    fn add_to_runs(&self, added: &[(i64, &Sums)]) -> Outcome<()> {
        let mut add = self.0.prepare_cached(
            "UPDATE runs SET samples = samples + ?2, timed = timed + ?3, sum_secs = sum_secs + ?4,
                 least_secs = CASE WHEN least_secs <= ?5 THEN least_secs ELSE coalesce(?5, least_secs) END,
                 most_secs = CASE WHEN most_secs >= ?6 THEN most_secs ELSE coalesce(?6, most_secs) END,
                 newest = substr(newest || ?7, -?8)
             WHERE number = ?1",
        )?;
        for (run, sums) in added {
            let Sums { samples, timed, sum, least, most, newest } = sums;
            if add.execute(params![run, samples, timed, sum, least, most, newest.text(), MOST_DIGITS])? == 0 {
                return Err(Failure::NoSuchRun);
            }
        }
        Ok(())
    }

    fn lines_of(&self, ids: &[&str]) -> Outcome<Vec<(String, String)>> {
        let mut find = self.0.prepare_cached("SELECT id, line FROM samples WHERE id = ?1")?;
        let mut lines = Vec::with_capacity(ids.len());
        for id in ids {
            lines.extend(find.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?);
        }
        Ok(lines)
    }

    /// Returns a number that changes when another connection has changed the file.
    fn version(&self) -> Outcome<i64> {
        Ok(self.0.pragma_query_value(None, "data_version", |row| row.get(0))?)
    }

    /// Scans the index of all samples once for all runs. An index by run would be faster here, but
    /// each sample of a write would change another page of it.
    fn figures_of(&self, runs: &BTreeSet<i64>) -> Outcome<HashMap<i64, Sums>> {
        let mut figures: HashMap<i64, Sums> = runs.iter().map(|run| (*run, Sums::default())).collect();
        let mut read = self.0.prepare_cached("SELECT run, secs, seq FROM samples INDEXED BY samples_by_start")?;
        let mut rows = read.query([])?;
        while let Some(row) = rows.next()? {
            let run: Option<i64> = row.get(0)?;
            if let Some(sums) = run.and_then(|run| figures.get_mut(&run)) {
                sums.count(row.get(2)?, row.get(1)?);
            }
        }
        Ok(figures)
    }

    fn commit(self: Box<Self>) -> Outcome<()> {
        Ok(self.0.commit()?)
    }
}

fn each(
    connection: &Connection,
    sql: &str,
    parameters: &[Value],
    visit: &mut dyn FnMut(Row) -> Outcome<bool>,
) -> Outcome<()> {
    let mut statement = connection.prepare_cached(&numbered(sql))?;
    let columns = statement.column_count();
    let mut rows = statement.query(params_from_iter(parameters))?;
    while let Some(row) = rows.next()? {
        let row = (0..columns).map(|column| row.get_ref(column).map(value)).collect::<rusqlite::Result<_>>()?;
        if !visit(Row(row))? {
            break;
        }
    }
    Ok(())
}

/// A text that is not UTF-8 becomes a blob, which no column has.
fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Blob(bytes.to_vec()),
        },
    }
}

/// SQLite numbers `$1` by its first occurrence, and `?1` as written.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}
