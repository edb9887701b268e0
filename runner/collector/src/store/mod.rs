//! The embedded store of samples, with the samples that still wait for a collector.
//!
//! One SQLite file in WAL mode with `synchronous=FULL`: samples that [`Store::insert`] has
//! acknowledged are on disk.

mod failure;
mod schema;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use foreglow_exit::unusable;
use foreglow_shared::{Engine, Mode, Outcome, Sample, Timestamp, Uuid, Workload, parse_line};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use failure::sentence;

const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const FILE_NAME: &str = "samples.sqlite";

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// Result of inserting samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inserted {
    /// Samples that were not in the store.
    pub new: usize,
    /// Samples whose ID was already in the store; these are unchanged.
    pub known: usize,
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

    fn connect(path: PathBuf, create: OpenFlags) -> anyhow::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let opened = Connection::open_with_flags(&path, flags).map_err(|error| sentence(&path, &error))?;
        opened.busy_timeout(BUSY_TIMEOUT).map_err(|error| sentence(&path, &error))?;
        let mut store = Self { connection: opened, path };
        schema::prepare(&mut store.connection, &store.path)?;
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
        self.write(|transaction| insert(transaction, samples))
    }

    /// Keeps samples for the collector at `url`, separately from the store's own samples, so that a
    /// collector that uses the same store still sees them as new.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn keep_for(&mut self, url: &str, samples: &[Sample]) -> anyhow::Result<()> {
        self.write(|transaction| {
            let mut keep =
                transaction.prepare("INSERT OR IGNORE INTO pending (collector, id, line) VALUES (?1, ?2, ?3)")?;
            samples
                .iter()
                .try_for_each(|sample| keep.execute(params![url, sample.id.to_string(), line(sample)?]).map(drop))
        })
    }

    /// Returns the samples that wait for the collector at `url`, in order of arrival.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn waiting_for(&self, url: &str) -> anyhow::Result<Vec<Sample>> {
        let lines = self.lines("SELECT line FROM pending WHERE collector = ?1 ORDER BY seq", params![url])?;
        Ok(self.parse(&lines))
    }

    /// Returns the collectors that samples wait for with the number of samples, in the order of
    /// their addresses.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn waiting(&self) -> anyhow::Result<Vec<(String, u64)>> {
        self.connection
            .prepare("SELECT collector, count(*) FROM pending GROUP BY collector ORDER BY collector")
            .and_then(|mut statement| {
                let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(1).map(i64::unsigned_abs);
                statement.query_map([], |row| Ok((row.get(0)?, count(row)?)))?.collect()
            })
            .map_err(|error| sentence(&self.path, &error))
    }

    /// Reassigns the samples that wait for the collector at `from` to the one at `to`; returns
    /// their number.
    ///
    /// # Errors
    /// As [`Store::insert`].
    pub fn redirect(&mut self, from: &str, to: &str) -> anyhow::Result<usize> {
        self.write(|transaction| {
            transaction.execute(
                "INSERT OR IGNORE INTO pending (collector, id, line)
                 SELECT ?2, id, line FROM pending WHERE collector = ?1 ORDER BY seq",
                params![from, to],
            )?;
            transaction.execute("DELETE FROM pending WHERE collector = ?1", params![from])
        })
    }

    /// Discards the samples that wait for the collector at `url` and returns their number. The
    /// store keeps its own samples.
    ///
    /// # Errors
    /// As [`Store::insert`].
    pub fn discard(&mut self, url: &str) -> anyhow::Result<usize> {
        self.write(|transaction| transaction.execute("DELETE FROM pending WHERE collector = ?1", params![url]))
    }

    /// Removes the samples with these ids and returns how many existed.
    ///
    /// # Errors
    /// As [`Store::insert`].
    pub fn remove(&mut self, ids: &[Uuid]) -> anyhow::Result<usize> {
        self.write(|transaction| {
            let mut remove = transaction.prepare("DELETE FROM samples WHERE id = ?1")?;
            ids.iter().try_fold(0, |removed, id| Ok(removed + remove.execute([id.to_string()])?))
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

    /// Returns the sample with this id.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn sample_line(&self, id: Uuid) -> anyhow::Result<Option<String>> {
        Ok(self.lines("SELECT line FROM samples WHERE id = ?1", params![id.to_string()])?.pop())
    }

    /// Records that the collector at `url` has these samples.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn sent_to(&mut self, url: &str, samples: &[Sample]) -> anyhow::Result<()> {
        self.write(|transaction| {
            let mut sent = transaction.prepare("DELETE FROM pending WHERE collector = ?1 AND id = ?2")?;
            samples.iter().try_for_each(|sample| sent.execute(params![url, sample.id.to_string()]).map(drop))
        })
    }

    /// Returns the samples that match the filter.
    ///
    /// # Errors
    /// The store cannot be read, or [`Filter::after`] is unknown.
    pub fn samples(&self, filter: &Filter) -> anyhow::Result<Vec<Sample>> {
        Ok(self.parse(&self.sample_lines(filter)?))
    }

    /// Returns the samples that match the filter as lines of JSON, as they were stored.
    ///
    /// # Errors
    /// As for [`Store::samples`].
    pub fn sample_lines(&self, filter: &Filter) -> anyhow::Result<Vec<String>> {
        let after = filter.after.map(|id| self.position(id)).transpose()?.unwrap_or(0);
        self.lines(
            "SELECT line FROM samples
             WHERE seq > ?1
               AND (?2 IS NULL OR model = ?2) AND (?3 IS NULL OR mode = ?3) AND (?4 IS NULL OR engine = ?4)
               AND (?5 IS NULL OR outcome = ?5) AND (?6 IS NULL OR started_at_us >= ?6)
             ORDER BY seq LIMIT ?7",
            params![
                after,
                filter.model,
                filter.mode.map(Mode::as_str),
                filter.engine.map(Engine::as_str),
                filter.outcome.map(Outcome::as_str),
                filter.since.map(Timestamp::as_microsecond),
                filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX)),
            ],
        )
    }

    /// Returns all workloads with their number of samples, sorted by their JSON.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn workloads(&self) -> anyhow::Result<Vec<(Workload, u64)>> {
        let mut counts = std::collections::BTreeMap::<String, (Workload, u64)>::new();
        for sample in self.samples(&Filter::default())? {
            let key = serde_json::to_string(&sample.workload).context("a workload could not be written as JSON")?;
            counts.entry(key).or_insert((sample.workload, 0)).1 += 1;
        }
        Ok(counts.into_values().collect())
    }

    /// Returns the samples after a position as JSON lines, and the position of the last one.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn lines_after(&self, position: i64, most: usize) -> anyhow::Result<(Vec<String>, i64)> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows: Vec<(i64, String)> = self
            .connection
            .prepare("SELECT seq, line FROM samples WHERE seq > ?1 ORDER BY seq LIMIT ?2")
            .and_then(|mut statement| {
                statement.query_map(params![position, most], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|error| sentence(&self.path, &error))?;
        let end = rows.last().map_or(position, |(seq, _)| *seq);
        // A sample outside the limits would break every reader.
        let lines = rows.into_iter().map(|(_, line)| line).filter(|line| parse_line(line).is_ok()).collect();
        Ok((lines, end))
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
            eprintln!(
                "note: {} of the samples in {} cannot be used and are left out: {} ({error}); remove it with `foreglow samples remove {}`",
                unusable.len(),
                self.path.display(),
                if unusable.len() == 1 { "its reason" } else { "the reason of the first" },
                id.map_or_else(|| "ID".to_owned(), |id| id.to_string()),
            );
        }
        samples
    }

    fn write<T>(
        &mut self,
        change: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T>,
    ) -> anyhow::Result<T> {
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

fn insert(transaction: &rusqlite::Transaction<'_>, samples: &[Sample]) -> rusqlite::Result<Inserted> {
    let mut statement = transaction.prepare(
        "INSERT OR IGNORE INTO samples (id, model, mode, engine, outcome, started_at_us, line)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut inserted = Inserted::default();
    for sample in samples {
        let new = statement.execute(params![
            sample.id.to_string(),
            sample.workload.model,
            sample.workload.mode.as_str(),
            sample.engine.as_str(),
            sample.outcome.as_str(),
            sample.started_at.as_microsecond(),
            line(sample)?,
        ])?;
        inserted.new += new;
        inserted.known += 1 - new;
    }
    Ok(inserted)
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
