//! Interface of the store to a database, SQLite or PostgreSQL.
//!
//! Callers use SQL that both support, with the parameters `$1`, `$2` and so on. The differences
//! (tables, inserts of many samples, connections) are in `sqlite` and `postgres`.

use super::failure::{Failure, Outcome};
use super::row::{Row, Value, collected};
use super::transaction::Transaction;
use super::{postgres, sqlite};

/// An open database.
#[derive(Debug)]
pub(super) enum Database {
    File(sqlite::File),
    Server(Box<postgres::Session>),
}

impl Database {
    /// Returns all rows of an answer.
    pub(super) fn query(&self, sql: &str, parameters: &[Value]) -> Outcome<Vec<Row>> {
        collected(|visit| self.each(sql, parameters, visit))
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
            Self::Server(session) => Ok(Box::new(postgres::ServerTransaction::begin(session)?)),
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
