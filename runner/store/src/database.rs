//! Interface of the store to a database, SQLite or PostgreSQL.
//!
//! Callers use SQL that both support, with the parameters `$1`, `$2` and so on. The differences
//! (tables, inserts of many samples, connections) are in `sqlite` and `postgres`.

use std::collections::{BTreeSet, HashMap};

use super::encoded::RunKey;
use super::failure::{Failure, Outcome};
use super::figures::{AddedToJob, Sums};
use super::row::{Row, Value};
use super::{Encoded, postgres, sqlite};

/// An open database.
#[derive(Debug)]
pub(super) enum Database {
    File(sqlite::File),
    Server(Box<postgres::Session>),
}

/// A transaction that writes. At most one writes at a time over all collectors, so that the
/// positions of samples become visible in order.
pub(super) trait Writes {
    /// Makes a change, and returns the number of rows.
    fn execute(&self, sql: &str, parameters: &[Value]) -> Outcome<usize>;

    fn query(&self, sql: &str, parameters: &[Value]) -> Outcome<Vec<Row>>;

    /// Runs several statements without parameters.
    fn execute_batch(&self, sql: &str) -> Outcome<()>;

    /// Stores the samples with unknown ids in their order, each with the number of its run; returns
    /// the position of each that was stored.
    fn add_samples(&self, samples: &[(&Encoded, i64)]) -> Outcome<Vec<Option<i64>>>;

    /// Returns the ids and lines of the samples that were stored with these ids.
    fn lines_of(&self, ids: &[&str]) -> Outcome<Vec<(String, String)>>;

    /// Returns the numbers of these distinct runs, each given with its job. Runs that the database
    /// lacks get new numbers, in order.
    fn numbers_of(&self, runs: &[(&RunKey, &str)]) -> Outcome<Vec<i64>>;

    /// Adds the jobs, fingerprint and context of each, that the database lacks.
    fn make_jobs(&self, jobs: &[(&str, &str)]) -> Outcome<()>;

    /// Adds numbers of new samples to those of their jobs; fails with [`Failure::NoSuchRun`] if the
    /// database lacks one of these.
    fn add_to_jobs(&self, added: &[AddedToJob]) -> Outcome<()>;

    /// Adds the figures of new samples to those of their runs; fails with [`Failure::NoSuchRun`] if
    /// the database lacks one of these.
    fn add_to_runs(&self, added: &[(i64, &Sums)]) -> Outcome<()>;

    /// Returns a number that changes when the numbers of runs may have changed. If it stays the
    /// same although runs were removed, [`add_to_runs`](Self::add_to_runs) fails.
    fn version(&self) -> Outcome<i64>;

    /// Returns the figures of these runs from their samples; runs without samples are omitted.
    fn figures_of(&self, runs: &BTreeSet<i64>) -> Outcome<HashMap<i64, Sums>>;

    fn commit(self: Box<Self>) -> Outcome<()>;

    fn roll_back(self: Box<Self>) {}
}

/// A transaction of either database.
pub(super) type Transaction<'a> = dyn Writes + 'a;

impl Database {
    /// Returns all rows of an answer.
    pub(super) fn query(&self, sql: &str, parameters: &[Value]) -> Outcome<Vec<Row>> {
        let mut rows = Vec::new();
        self.each(sql, parameters, &mut |row| {
            rows.push(row);
            Ok(true)
        })?;
        Ok(rows)
    }

    /// Visits the rows of an answer one at a time, until `visit` returns `false`.
    pub(super) fn each(
        &self,
        sql: &str,
        parameters: &[Value],
        visit: &mut dyn FnMut(Row) -> Outcome<bool>,
    ) -> Outcome<()> {
        match self {
            Self::File(file) => file.each(sql, parameters, visit),
            Self::Server(session) => session.each(sql, parameters, visit),
        }
    }

    /// Returns the first column of the only row of an answer.
    pub(super) fn integer(&self, sql: &str) -> Outcome<i64> {
        self.query(sql, &[])?.first().map_or(Err(Failure::Unexpected(Value::Null)), |row| row.integer(0))
    }

    /// Makes changes; an error undoes all of them.
    pub(super) fn write<T>(&mut self, change: impl FnOnce(&Transaction<'_>) -> Outcome<T>) -> Outcome<T> {
        let transaction = self.begin()?;
        match change(&*transaction) {
            Ok(value) => transaction.commit().map(|()| value),
            Err(failure) => {
                transaction.roll_back();
                Err(failure)
            }
        }
    }

    /// Begins a writing transaction, after the others have ended.
    pub(super) fn begin(&mut self) -> Outcome<Box<Transaction<'_>>> {
        match self {
            Self::File(file) => Ok(Box::new(file.begin()?)),
            Self::Server(session) => Ok(Box::new(postgres::Writing::begin(session)?)),
        }
    }

    /// Finds a file that was removed or replaced, or that has lost its write-ahead log.
    pub(super) fn look(&mut self) -> Outcome<()> {
        match self {
            Self::File(file) => file.look(),
            Self::Server(_) => Ok(()),
        }
    }

    /// Returns another connection, which only reads and waits for no writer.
    pub(super) fn reader(&self) -> Outcome<Self> {
        match self {
            Self::File(file) => file.reader().map(Self::File),
            Self::Server(session) => session.another().map(|session| Self::Server(Box::new(session))),
        }
    }

    /// Returns the size on the disk, bytes.
    pub(super) fn size_bytes(&self) -> Outcome<u64> {
        match self {
            Self::File(file) => Ok(file.size_bytes()),
            Self::Server(_) => self.integer("SELECT pg_database_size(current_database())").map(i64::unsigned_abs),
        }
    }
}
