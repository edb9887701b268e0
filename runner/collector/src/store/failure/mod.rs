//! User messages for failures of a store.

use std::fmt;

use foreglow_exit::unusable;

use super::Location;
use super::database::Failure;
use super::{postgres, sqlite};

/// The store's database does not answer at the moment; the same request may succeed later.
#[derive(Debug)]
pub struct Unavailable(pub(super) String);

impl Unavailable {
    /// Returns the same error for another request.
    pub(crate) fn again(error: &anyhow::Error) -> anyhow::Error {
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
    unusable(format!(
        "the store {location} is damaged ({what}); `foreglow serve --check` says what is, restore it from a copy"
    ))
}

/// Returns the message for a failure of the store at `location`.
pub(super) fn sentence(location: &Location, failure: &Failure) -> anyhow::Error {
    match (failure, location) {
        (Failure::Sqlite(error), Location::File(path)) => sqlite::sentence(path, error),
        (Failure::Sqlite(error), Location::Database(_)) => anyhow::anyhow!("the store {location} failed: {error}"),
        (Failure::Postgres(failure), _) => postgres::sentence(location, failure),
        (Failure::Gone, _) => unusable(format!(
            "the store {location} was removed or replaced while it was open, and nothing was stored; put the file \
             back, or start again to use the new one"
        )),
        (Failure::Unexpected(value), _) => damaged(location, &format!("unexpected value {value:?}")),
        (Failure::NoSuchRun, _) => damaged(location, "a run of its samples is missing"),
        (Failure::Json(error), _) => anyhow::anyhow!("a sample cannot be written as JSON: {error}"),
    }
}
