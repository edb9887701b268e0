//! User messages for failures of SQLite, with advice.

use std::path::Path;

use foreglow_exit::{Damaged, unusable};
use rusqlite::ErrorCode;

use super::{Failure, Unavailable};

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Returns the message for a failure of the store at `path`.
pub(crate) fn sentence(path: &Path, error: &rusqlite::Error) -> anyhow::Error {
    let store = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            unusable(format!("{store} is not a Foreglow store; name another file with --store"))
        }
        Some(ErrorCode::DatabaseCorrupt) => anyhow::Error::new(Damaged(format!(
            "the store {store} is damaged ({error}); restore it from a copy, or name another file with --store"
        ))),
        Some(ErrorCode::SystemIoFailure) if is_short_read(error) => anyhow::Error::new(Damaged(format!(
            "the store {store} is damaged (it is shorter than its pages); restore it from a copy"
        ))),
        Some(ErrorCode::DiskFull) => anyhow::anyhow!(
            "the disk that holds the store {store} is full, and nothing was stored; free some space and try again"
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => anyhow::anyhow!(
            "the store {store} may not be written; give a writable place with --store FILE or FOREGLOW_DATA"
        ),
        Some(ErrorCode::CannotOpen) => anyhow::anyhow!(
            "the store {store} cannot be opened; check that it is a file that you may read and write, or name another with --store"
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => anyhow::Error::new(Unavailable(format!(
            "another program has held the store {store} for too long; end it and try again"
        ))),
        Some(ErrorCode::SystemIoFailure) => anyhow::anyhow!(
            "a write to the store {store} failed ({error}), and nothing was stored; check that it has space and try \
            again"
        ),
        _ => anyhow::anyhow!("the store {store} failed: {error}"),
    }
}

/// Whether a page is missing from the file.
fn is_short_read(error: &rusqlite::Error) -> bool {
    const SHORT_READ: i32 = rusqlite::ffi::SQLITE_IOERR_SHORT_READ;
    matches!(error, rusqlite::Error::SqliteFailure(rusqlite::ffi::Error { extended_code: SHORT_READ, .. }, _))
}
