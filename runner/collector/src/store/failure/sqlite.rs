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
pub(in crate::store) fn sentence(path: &Path, error: &rusqlite::Error) -> anyhow::Error {
    let store = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            unusable(format!("{store} is not a Foreglow store; name another file with --store"))
        }
        Some(ErrorCode::DatabaseCorrupt) => anyhow::Error::new(Damaged(format!(
            "the store {store} is damaged ({error}); restore it from a copy, or name another file with --store"
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
