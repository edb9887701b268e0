//! The store of samples, with the samples that still wait for a collector: an SQLite file, or a
//! PostgreSQL database that several collectors serve.
//!
//! Samples that [`Store::insert`] has acknowledged are on disk.

mod audit;
mod backup;
mod check;
mod database;
pub mod disk;
mod encoded;
mod failure;
mod figures;
mod jobs;
mod known;
mod location;
mod newest;
mod postgres;
mod queue;
mod read;
mod row;
mod runs;
mod schema;
mod sessions;
mod sqlite;
pub mod token;
mod tokens;
mod transaction;
mod upkeep;
mod workloads;

use std::collections::{BTreeSet, HashSet};

use anyhow::Context as _;
use foreglow_exit::{note, unusable};
use foreglow_shared::{Engine, Mode, Outcome, Sample, Timestamp, Uuid, parse_line};

pub use audit::{AuditLine, user};
pub use backup::restore;
use database::Database;
pub use encoded::Encoded;
pub use failure::Unavailable;
use failure::{Failure, sentence};
pub use jobs::{Arrived, JobPage, JobRuns, ListedJob, MOST_RUNS};
use known::Known;
pub use location::{Location, data_folder};
pub use newest::MOST_EQUAL;
pub use postgres::follow;
pub use queue::{Rejected, Waiting};
pub use read::{After, PART_BYTES, Page};
use row::{Row, Value, text};
pub use runs::{Runs, RunsFilter, RunsPage};
pub use sessions::MOST_SESSIONS;
pub use tokens::{DEFAULT_PER_MINUTE, Roles, Token};
use transaction::Transaction;
pub use workloads::{CountedWorkload, WorkloadPage};

/// An open store.
#[derive(Debug)]
pub struct Store {
    database: Database,
    location: Location,
    /// Numbers of the runs after the latest write of samples.
    numbers: runs::Numbers,
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
    /// Fingerprint of the job.
    pub job: Option<String>,
    /// Earliest submission time.
    pub since: Option<Timestamp>,
    /// Place of a sample; only later arrivals are selected.
    pub after: Option<After>,
    /// Maximum number of samples.
    pub limit: Option<usize>,
}

impl Store {
    /// Opens the store at `location` or at [`Location::of_user`], and creates it if necessary.
    ///
    /// # Errors
    /// The store cannot be created or read, is not a store, or was written by a newer version of
    /// Foreglow.
    pub fn open(location: Option<&Location>) -> anyhow::Result<Self> {
        let location = location.map_or_else(Location::of_user, |location| Ok(location.clone()))?;
        if let Some(folder) =
            location.file().and_then(|path| path.parent()).filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder).with_context(|| {
                format!(
                    "the folder {} cannot be created; give a writable place with --store FILE or FOREGLOW_DATA",
                    folder.display()
                )
            })?;
        }
        Self::connect(location, true)
    }

    /// Opens an existing store for reading.
    ///
    /// # Errors
    /// As for [`Store::open`], or there is no store.
    pub fn open_existing(location: Option<&Location>) -> anyhow::Result<Self> {
        Self::open_existing_or(location, "measure something first with `foreglow demo`, or name a file of samples")
    }

    /// Opens an existing store; `advice` says what to do if it is missing.
    ///
    /// # Errors
    /// As for [`Store::open_existing`].
    pub fn open_existing_or(location: Option<&Location>, advice: &str) -> anyhow::Result<Self> {
        let location = location.map_or_else(Location::of_user, |location| Ok(location.clone()))?;
        if location.file().is_some_and(|path| !path.is_file()) {
            return Err(unusable(format!("there is no store at {location}; {advice}")));
        }
        Self::connect(location, false)
    }

    /// Opens another connection to the same store, which only reads and waits for no writer.
    ///
    /// # Errors
    /// The store cannot be opened.
    pub fn reader(&self) -> anyhow::Result<Self> {
        let database = self.database.reader().map_err(|failure| self.explain(&failure))?;
        Ok(Self::new(database, self.location.clone()))
    }

    fn connect(location: Location, create: bool) -> anyhow::Result<Self> {
        Ok(Self::new(schema::open(&location, create)?, location))
    }

    fn new(database: Database, location: Location) -> Self {
        Self { database, location, numbers: runs::Numbers::default() }
    }

    /// Returns the place of the store.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Stores all samples with unknown IDs, or none of them on an error.
    ///
    /// # Errors
    /// The disk is full, read-only or broken.
    pub fn insert(&mut self, samples: &[Sample]) -> anyhow::Result<Inserted> {
        let encoded: Vec<Encoded> = samples.iter().map(Encoded::new).collect::<Result<_, _>>()?;
        self.insert_all(&[&encoded]).map(|mut inserted| inserted.pop().unwrap_or_default())
    }

    /// Stores the samples of several senders with one write to the disk, or none of them on an
    /// error.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn insert_all(&mut self, requests: &[&[Encoded]]) -> anyhow::Result<Vec<Inserted>> {
        let mut numbers = std::mem::take(&mut self.numbers);
        let location = &self.location;
        let mut write = || self.database.write(|transaction| insert(transaction, requests, &mut numbers));
        // Another collector removed a run whose number was cached; the transaction was rolled back.
        let inserted = match write() {
            Err(Failure::NoSuchRun) => {
                numbers = runs::Numbers::default();
                self.database.write(|transaction| insert(transaction, requests, &mut numbers))
            }
            outcome => outcome,
        };
        let inserted = inserted.map_err(|failure| sentence(location, &failure))?;
        // After an error, the numbers may belong to runs that were rolled back.
        self.numbers = numbers;
        Ok(inserted)
    }

    /// Removes the samples with these ids for a user or token, with a line in the audit log for
    /// each, and returns the number that existed.
    ///
    /// # Errors
    /// As [`Store::insert`].
    pub fn remove(&mut self, ids: &[Uuid], who: &str) -> anyhow::Result<usize> {
        self.write(|transaction| {
            let mut positions = Vec::new();
            for id in ids {
                for row in transaction.query("SELECT seq FROM samples WHERE id = $1", &[text(id.to_string())])? {
                    positions.push(row.integer(0)?);
                }
            }
            remove(transaction, &positions, who)
        })
    }

    /// Returns the ids of all samples, including invalid ones, in the order of their arrival.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn ids(&self) -> anyhow::Result<Vec<Uuid>> {
        let ids = self.read("SELECT id FROM samples ORDER BY seq", &[], |mut row| Ok(row.id(0)))?;
        Ok(ids.into_iter().flatten().collect())
    }

    /// Returns the ids of the samples that a token sent, by its name, and that arrived at or after
    /// a time, in the order of their arrival.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn sent_by(&self, name: &str, since: Option<Timestamp>) -> anyhow::Result<Vec<Uuid>> {
        let query = "SELECT id FROM samples WHERE sender = $1 AND received_at_us >= $2 ORDER BY seq";
        let since = Value::Integer(since.map_or(i64::MIN, Timestamp::as_microsecond));
        let ids = self.read(query, &[text(name), since], |mut row| Ok(row.id(0)))?;
        Ok(ids.into_iter().flatten().collect())
    }

    /// Returns the name of the token that sent a sample; `None` if it is unknown.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn sender_of(&self, id: Uuid) -> anyhow::Result<Option<String>> {
        let query = "SELECT sender FROM samples WHERE id = $1 AND sender IS NOT NULL";
        Ok(self.read(query, &[text(id.to_string())], |mut row| row.text(0))?.pop())
    }

    /// Returns the samples between two positions as JSON lines, at most [`PART_BYTES`] and one line
    /// of them, and the position of the last one.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn lines_after(&self, position: i64, until: i64, most: usize) -> anyhow::Result<(Vec<String>, i64)> {
        let filter = Filter { limit: Some(most), ..Filter::default() };
        let (lines, end) = self.page_lines(&filter, position, Page { end: until, next: None }, PART_BYTES)?;
        // A sample outside the limits would break every reader.
        Ok((lines.into_iter().filter(|line| parse_line(line).is_ok()).collect(), end))
    }

    /// Returns the position of the latest sample, or 0 if the store is empty.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn end(&self) -> anyhow::Result<i64> {
        self.integer("SELECT coalesce(max(seq), 0) FROM samples")
    }

    /// Returns the position of a sample in order of arrival.
    ///
    /// # Errors
    /// The ID is unknown.
    pub fn position(&self, id: Uuid) -> anyhow::Result<i64> {
        let unknown = || unusable(format!("there is no sample with the id {id} to continue after"));
        self.find(id)?.ok_or_else(unknown)
    }

    fn find(&self, id: Uuid) -> anyhow::Result<Option<i64>> {
        let query = "SELECT seq FROM samples WHERE id = $1";
        Ok(self.read(query, &[text(id.to_string())], |row| row.integer(0))?.pop())
    }

    fn read<T>(
        &self,
        query: &str,
        parameters: &[Value],
        of_row: impl Fn(Row) -> failure::Outcome<T>,
    ) -> anyhow::Result<Vec<T>> {
        let rows = self.database.query(query, parameters);
        let values = rows.and_then(|rows| rows.into_iter().map(of_row).collect());
        values.map_err(|failure| self.explain(&failure))
    }

    fn integer(&self, query: &str) -> anyhow::Result<i64> {
        self.database.integer(query).map_err(|failure| self.explain(&failure))
    }

    fn explain(&self, failure: &Failure) -> anyhow::Error {
        sentence(&self.location, failure)
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
                self.location,
                if unusable.len() == 1 { "its reason" } else { "the reason of the first" },
                id.map_or_else(|| "ID".to_owned(), |id| id.to_string()),
            ));
        }
        samples
    }

    fn write<T>(&mut self, change: impl FnOnce(&Transaction<'_>) -> failure::Outcome<T>) -> anyhow::Result<T> {
        // The change may remove runs.
        self.numbers = runs::Numbers::default();
        let location = &self.location;
        self.database.write(change).map_err(|failure| sentence(location, &failure))
    }
}

/// Returns a stored time; a value outside the limits becomes the nearest one.
fn moment(microsecond: i64) -> Timestamp {
    let limit = if microsecond < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(microsecond).unwrap_or(limit)
}

fn remove(transaction: &Transaction<'_>, positions: &[i64], who: &str) -> failure::Outcome<usize> {
    let (mut removed, mut runs) = (0, BTreeSet::new());
    for position in positions {
        let of_position = [Value::Integer(*position)];
        for mut row in transaction.query("DELETE FROM samples WHERE seq = $1 RETURNING run, id", &of_position)? {
            audit::record(transaction, who, &format!("removed the sample {}", row.text(1)?))?;
            removed += 1;
            runs.extend(row.maybe_integer(0).ok().flatten());
        }
    }
    runs::count_again(transaction, &runs)?;
    Ok(removed)
}

fn insert(
    transaction: &Transaction<'_>,
    requests: &[&[Encoded]],
    numbers: &mut runs::Numbers,
) -> failure::Outcome<Vec<Inserted>> {
    numbers.refresh(transaction)?;
    let mut added = runs::Added::default();
    let samples: Vec<&Encoded> = requests.iter().copied().flatten().collect();
    let runs = numbers.of_runs(transaction, &Vec::from_iter(samples.iter().map(|sample| &sample.run)))?;
    let with_runs: Vec<(&Encoded, i64)> =
        samples.iter().zip(&runs).map(|(sample, run)| (*sample, run.number)).collect();
    let positions = transaction.add_samples(&with_runs)?;
    let is_known = |(_, position): &(&&Encoded, &Option<i64>)| position.is_none();
    let known: HashSet<&str> =
        samples.iter().zip(&positions).filter(is_known).map(|(sample, _)| sample.id.as_str()).collect();
    let known = Known::read(transaction, &Vec::from_iter(known))?;
    let mut outcomes = samples.iter().zip(&runs).zip(positions);
    let inserted = requests.iter().map(|samples| {
        let mut inserted = Inserted::default();
        for (index, ((new, run), position)) in outcomes.by_ref().take(samples.len()).enumerate() {
            if let Some(position) = position {
                inserted.new += 1;
                added.count(run, position, new.secs);
                continue;
            }
            match known.has(&new.id, &new.line) {
                true => inserted.known += 1,
                false => inserted.conflicts.push(index),
            }
        }
        inserted
    });
    let inserted = inserted.collect();
    added.store(transaction)?;
    Ok(inserted)
}

/// Returns the id in a stored line, whether or not the sample is valid.
pub fn id_of(line: &str) -> Option<Uuid> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    value.get("id")?.as_str()?.parse().ok()
}

fn line(sample: &Sample) -> failure::Outcome<String> {
    Ok(serde_json::to_string(sample)?)
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
