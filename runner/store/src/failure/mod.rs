//! Failures of a store, and the user messages for them.

pub(super) mod postgres;
pub(super) mod sqlite;

use std::fmt;

use foreglow_exit::Damaged;
use rusqlite::types::Value;

use self::postgres::ServerFailure;
use super::Location;

/// Failure of a database operation.
#[derive(Debug)]
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    Postgres(ServerFailure),
    /// The file was removed or replaced since it was opened.
    Gone,
    /// The write-ahead log of the file was removed or replaced.
    LogGone,
    /// The run of this number was removed from the database.
    NoSuchRun,
    /// A value of a row is not of the type that was stored.
    Unexpected(Value),
    /// A sample has no JSON.
    Json(serde_json::Error),
}

pub(super) type Outcome<T> = Result<T, Failure>;

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

/// The store's database does not answer at the moment; the same request may succeed later.
#[derive(Debug)]
pub struct Unavailable(String);

impl Unavailable {
    /// Returns the same error for another request.
    pub fn again(error: &anyhow::Error) -> anyhow::Error {
        anyhow::Error::new(Self(format!("{error:#}")))
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}

/// Returns the message for a damaged store.
pub(super) fn damaged(location: &Location, what: &str) -> anyhow::Error {
    anyhow::Error::new(Damaged(format!(
        "the store {location} is damaged ({what}); `foreglow serve --check` says what is damaged; restore it from a copy"
    )))
}

/// Returns the message for a failure of the store at `location`.
pub(super) fn sentence(location: &Location, failure: &Failure) -> anyhow::Error {
    match (failure, location) {
        // It was a database when it was opened.
        (Failure::Sqlite(error), Location::File(_))
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) =>
        {
            damaged(location, &error.to_string())
        }
        (Failure::Sqlite(error), Location::File(path)) => sqlite::sentence(path, error),
        (Failure::Sqlite(error), Location::Database(_)) => anyhow::anyhow!("the store {location} failed: {error}"),
        (Failure::Postgres(failure), _) => postgres::sentence(location, failure),
        (Failure::Gone, _) => anyhow::Error::new(Unavailable(format!(
            "the store {location} was removed or replaced while it was open, and nothing was stored; put the file \
             back, or start again to use the new one"
        ))),
        (Failure::LogGone, _) => anyhow::Error::new(Damaged(format!(
            "the write-ahead log of the store {location} was removed or replaced while it was open, and nothing was \
             stored; start again"
        ))),
        (Failure::Unexpected(value), _) => damaged(location, &format!("unexpected value {value:?}")),
        (Failure::NoSuchRun, _) => damaged(location, "a run of its samples is missing"),
        (Failure::Json(error), _) => anyhow::anyhow!("a sample cannot be written as JSON: {error}"),
    }
}
