//! The embedded store of samples, with the samples that still wait for a collector.
//!
//! One SQLite file in WAL mode with `synchronous=FULL`: samples that [`Store::insert`] has
//! acknowledged are on disk.

mod audit;
mod backup;
mod check;
mod checksum;
mod failure;
mod queue;
mod read;
mod runs;
mod schema;
mod tokens;
mod upkeep;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use foreglow_exit::{note, unusable};
use foreglow_shared::{Engine, Mode, Outcome, Sample, Timestamp, Uuid, Workload, parse_line};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

pub use audit::{AuditLine, user};
pub use backup::restore;
use checksum::checksum;
use failure::sentence;
pub use queue::{Rejected, Waiting};
pub use read::Page;
pub use runs::{Runs, RunsFilter};
pub use tokens::{DEFAULT_PER_MINUTE, Roles, Token};

const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const FILE_NAME: &str = "samples.sqlite";

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    has_seen_damage: Cell<bool>,
    /// The file when it was opened.
    identity: Option<upkeep::Identity>,
}

/// Result of inserting samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inserted {
    /// Samples that were not in the store.
    pub new: usize,
    /// Samples that were already in the store.
    pub known: usize,
    /// Indices of samples that are not stored because the store has another sample with their id.
    pub conflicts: Vec<usize>,
}

/// Selection of samples in order of arrival. The default selects all samples.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Name of the CNN.
    pub model: Option<String>,
    /// Inference or training.
    pub mode: Option<Mode>,
    /// Engine that ran the executors.
    pub engine: Option<Engine>,
    /// Outcome of the run.
    pub outcome: Option<Outcome>,
    /// Earliest submission time.
    pub since: Option<Timestamp>,
    /// ID of a sample; only later arrivals are selected.
    pub after: Option<Uuid>,
    /// Maximum number of samples.
    pub limit: Option<usize>,
}

/// Returns the default path of the store: in the folder `FOREGLOW_DATA`, or else in the user's data
/// folder.
pub fn default_path() -> anyhow::Result<PathBuf> {
    if let Some(folder) = std::env::var_os("FOREGLOW_DATA").filter(|folder| !folder.is_empty()) {
        return Ok(PathBuf::from(folder).join(FILE_NAME));
    }
    let folders = directories::ProjectDirs::from("", "", "foreglow")
        .context("no folder for data is known on this machine; set FOREGLOW_DATA to one or give --store FILE")?;
    Ok(folders.data_dir().join(FILE_NAME))
}

impl Store {
    /// Opens the store at `path` or at [`default_path`], and creates it if necessary.
    ///
    /// # Errors
    /// The file cannot be created or read, is not a store, or was written by a newer version of
    /// Foreglow.
    pub fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let path = path.map_or_else(default_path, |path| Ok(path.to_owned()))?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).with_context(|| {
                format!(
                    "the folder {} cannot be created; give a writable place with --store FILE or FOREGLOW_DATA",
                    folder.display()
                )
            })?;
        }
        Self::connect(path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens an existing store for reading.
    ///
    /// # Errors
    /// As for [`Store::open`], or there is no file.
    pub fn open_existing(path: Option<&Path>) -> anyhow::Result<Self> {
        let path = path.map_or_else(default_path, |path| Ok(path.to_owned()))?;
        if !path.is_file() {
            return Err(unusable(format!(
                "there is no store at {}; measure something first with `foreglow demo`, or name a file of samples",
                path.display()
            )));
        }
        Self::connect(path, OpenFlags::empty())
    }

    /// Opens another connection to the same store, which only reads and waits for no writer.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn reader(&self) -> anyhow::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |error: rusqlite::Error| sentence(&self.path, &error);
        let connection = Connection::open_with_flags(&self.path, flags).map_err(failed)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        let (path, identity) = (self.path.clone(), self.identity);
        Ok(Self { connection, path, has_seen_damage: Cell::new(false), identity })
    }

    fn connect(path: PathBuf, create: OpenFlags) -> anyhow::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let opened = Connection::open_with_flags(&path, flags).map_err(|error| sentence(&path, &error))?;
        opened.busy_timeout(BUSY_TIMEOUT).map_err(|error| sentence(&path, &error))?;
        let mut store = Self { connection: opened, path, has_seen_damage: Cell::new(false), identity: None };
        schema::prepare(&mut store.connection, &store.path)?;
        store.identity = upkeep::Identity::of(&store.path);
        Ok(store)
    }

    /// Returns the path of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores all samples with unknown IDs, or none of them on an error.
    ///
    /// # Errors
    /// The disk is full, read-only or broken.
    pub fn insert(&mut self, samples: &[Sample]) -> anyhow::Result<Inserted> {
        self.write(|transaction| insert(transaction, &[samples]).map(|mut inserted| inserted.pop().unwrap_or_default()))
    }

    /// Stores the samples of several senders with one write to the disk, or none of them on an
    /// error.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn insert_all(&mut self, requests: &[&[Sample]]) -> anyhow::Result<Vec<Inserted>> {
        self.write(|transaction| insert(transaction, requests))
    }

    /// Removes the samples with these ids for a user or token, with a line in the record for each,
    /// and returns how many existed.
    ///
    /// # Errors
    /// As [`Store::insert`].
    pub fn remove(&mut self, ids: &[Uuid], who: &str) -> anyhow::Result<usize> {
        self.write(|transaction| {
            let mut remove = transaction.prepare("DELETE FROM samples WHERE id = ?1 RETURNING run")?;
            let (mut removed, mut runs) = (0, BTreeSet::new());
            for id in ids {
                if let Some(run) = remove.query_row([id.to_string()], |row| row.get::<_, Option<i64>>(0)).optional()? {
                    audit::record(transaction, who, &format!("removed the sample {id}"))?;
                    removed += 1;
                    runs.extend(run);
                }
            }
            runs::count_again(transaction, &runs)?;
            Ok(removed)
        })
    }

    /// Returns the ids of all samples, including invalid ones, in the order of their arrival.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn ids(&self) -> anyhow::Result<Vec<Uuid>> {
        let ids = self.lines("SELECT id FROM samples ORDER BY seq", &[])?;
        Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
    }

    /// Returns all workloads with their number of samples, sorted by their JSON.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn workloads(&self) -> anyhow::Result<Vec<(Workload, u64)>> {
        let counts: Vec<(String, i64)> = self
            .connection
            .prepare("SELECT workload, samples FROM workloads ORDER BY workload")
            .and_then(|mut statement| statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
            .map_err(|error| sentence(&self.path, &error))?;
        // The workload of a sample from before the limits may not be one.
        let workload = |(text, samples): (String, i64)| {
            serde_json::from_str(&text).ok().map(|workload| (workload, samples.unsigned_abs()))
        };
        Ok(counts.into_iter().filter_map(workload).collect())
    }

    /// Returns the samples after a position as JSON lines, and the position of the last one.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn lines_after(&self, position: i64, most: usize) -> anyhow::Result<(Vec<String>, i64)> {
        let filter = Filter { limit: Some(most), ..Filter::default() };
        let (lines, end) = self.page_lines(&filter, position, Page::ALL)?;
        // A sample outside the limits would break every reader.
        Ok((lines.into_iter().filter(|line| parse_line(line).is_ok()).collect(), end))
    }

    /// Returns the position of the latest sample, or 0 if the store is empty.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn end(&self) -> anyhow::Result<i64> {
        self.connection
            .query_row("SELECT coalesce(max(seq), 0) FROM samples", [], |row| row.get(0))
            .map_err(|error| sentence(&self.path, &error))
    }

    /// Returns the position of a sample in order of arrival.
    ///
    /// # Errors
    /// The ID is unknown.
    pub fn position(&self, id: Uuid) -> anyhow::Result<i64> {
        self.connection
            .query_row("SELECT seq FROM samples WHERE id = ?1", [id.to_string()], |row| row.get(0))
            .optional()
            .map_err(|error| sentence(&self.path, &error))?
            .ok_or_else(|| unusable(format!("there is no sample with the id {id} to continue after")))
    }

    fn lines(&self, query: &str, parameters: &[&dyn rusqlite::ToSql]) -> anyhow::Result<Vec<String>> {
        self.connection
            .prepare(query)
            .and_then(|mut statement| statement.query_map(parameters, |row| row.get(0))?.collect())
            .map_err(|error| sentence(&self.path, &error))
    }

    /// Parses stored lines. Invalid samples, such as those stored before the limits were checked,
    /// are skipped with a note, so that the others stay readable.
    fn parse(&self, lines: &[String]) -> Vec<Sample> {
        let mut samples = Vec::with_capacity(lines.len());
        let mut unusable = Vec::new();
        for line in lines {
            match parse_line(line) {
                Ok(sample) => samples.push(sample),
                Err(error) => unusable.push((id_of(line), error)),
            }
        }
        if let Some((id, error)) = unusable.first() {
            note(&format!(
                "note: {} of the samples in {} cannot be used and are left out: {} ({error}); remove it with `foreglow samples remove {}`",
                unusable.len(),
                self.path.display(),
                if unusable.len() == 1 { "its reason" } else { "the reason of the first" },
                id.map_or_else(|| "ID".to_owned(), |id| id.to_string()),
            ));
        }
        samples
    }

    fn write<T>(
        &mut self,
        change: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T>,
    ) -> anyhow::Result<T> {
        self.check_in_place()?;
        let path = &self.path;
        self.connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
            .and_then(|transaction| {
                let outcome = change(&transaction)?;
                transaction.commit()?;
                Ok(outcome)
            })
            .map_err(|error| sentence(path, &error))
    }
}

/// Returns a stored time; a value outside the limits becomes the nearest one.
fn moment(microsecond: i64) -> Timestamp {
    let limit = if microsecond < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(microsecond).unwrap_or(limit)
}

fn insert(transaction: &rusqlite::Transaction<'_>, requests: &[&[Sample]]) -> rusqlite::Result<Vec<Inserted>> {
    let mut added = runs::Added::default();
    let inserted = requests.iter().map(|samples| insert_request(transaction, samples, &mut added)).collect();
    added.store(transaction)?;
    inserted
}

fn insert_request(
    transaction: &rusqlite::Transaction<'_>,
    samples: &[Sample],
    added: &mut runs::Added,
) -> rusqlite::Result<Inserted> {
    let mut add = transaction.prepare_cached(
        "INSERT OR IGNORE INTO samples (id, model, mode, engine, outcome, started_at_us, line, checksum, run, secs)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let mut inserted = Inserted::default();
    for (index, sample) in samples.iter().enumerate() {
        let (id, line) = (sample.id.to_string(), line(sample)?);
        let run = added.run_of(transaction, sample)?;
        let new = add.execute(params![
            id,
            sample.workload.model,
            sample.workload.mode.as_str(),
            sample.engine.as_str(),
            sample.outcome.as_str(),
            sample.started_at.as_microsecond(),
            line,
            checksum(id.as_bytes(), line.as_bytes()),
            run,
            sample.completion_time_secs,
        ])?;
        if new == 1 {
            inserted.new += 1;
            added.count(run, sample.completion_time_secs);
        } else if is_stored(transaction, &id, &line)? {
            inserted.known += 1;
        } else {
            inserted.conflicts.push(index);
        }
    }
    Ok(inserted)
}

/// Returns whether the stored sample with this id has the same content, in any order of fields.
fn is_stored(transaction: &rusqlite::Transaction<'_>, id: &str, line: &str) -> rusqlite::Result<bool> {
    let mut find = transaction.prepare_cached("SELECT line FROM samples WHERE id = ?1")?;
    let stored: String = find.query_row([id], |row| row.get(0))?;
    let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    Ok(stored == line || value(&stored).is_some_and(|stored| Some(stored) == value(line)))
}

/// Returns the id in a stored line, whether or not the sample is valid.
pub fn id_of(line: &str) -> Option<Uuid> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    value.get("id")?.as_str()?.parse().ok()
}

fn line(sample: &Sample) -> rusqlite::Result<String> {
    serde_json::to_string(sample).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

#[cfg(test)]
mod tests;
