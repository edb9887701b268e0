//! Whether the store is still there and can be written, and removal of old samples.

use std::path::Path;

use foreglow_exit::unusable;
use foreglow_shared::{Timestamp, format_count};
use rusqlite::{TransactionBehavior, params};

use super::Store;
use super::audit::record;
use super::failure::sentence;
use super::runs::count_again;

/// Identity of a file, which a file of the same name does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl Identity {
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::metadata(path).ok().map(|file| Self(file.dev(), file.ino()))
    }

    #[cfg(not(unix))]
    pub(super) fn of(path: &Path) -> Option<Self> {
        path.exists().then_some(Self(0, 0))
    }
}

impl Store {
    /// Checks that the file was neither removed nor replaced since it was opened. SQLite would go
    /// on writing to the removed file, and everything would be lost at the end.
    ///
    /// # Errors
    /// The file is another one, or missing.
    pub fn check_in_place(&self) -> anyhow::Result<()> {
        if Identity::of(&self.path) == self.identity {
            return Ok(());
        }
        Err(unusable(format!(
            "the store {} was removed or replaced while it was open, and nothing was stored; put the file back, or \
             start again to use the new one",
            self.path.display()
        )))
    }

    /// Checks that the store can be written.
    ///
    /// # Errors
    /// It was removed, is locked by another program, or is read-only.
    pub fn probe(&mut self) -> anyhow::Result<()> {
        self.check_in_place()?;
        let path = &self.path;
        self.connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(rusqlite::Transaction::rollback)
            .map_err(|error| sentence(path, &error))
    }

    /// Returns the number of samples.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn count(&self) -> anyhow::Result<u64> {
        self.connection
            .query_row("SELECT coalesce(sum(samples), 0) FROM workloads", [], |row| row.get::<_, i64>(0))
            .map(i64::unsigned_abs)
            .map_err(|error| sentence(&self.path, &error))
    }

    /// Removes at most this number of samples of runs that were submitted before a time, with a
    /// line in the record; returns their number.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn remove_before(&mut self, before: Timestamp, most: usize, who: &str) -> anyhow::Result<usize> {
        self.write(|transaction| {
            let mut remove = transaction.prepare_cached(
                "DELETE FROM samples WHERE seq IN
                     (SELECT seq FROM samples WHERE started_at_us < ?1 ORDER BY started_at_us LIMIT ?2)
                 RETURNING run",
            )?;
            let of_batch = params![before.as_microsecond(), i64::try_from(most).unwrap_or(i64::MAX)];
            let runs: Vec<Option<i64>> =
                remove.query_map(of_batch, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            let removed = runs.len();
            count_again(transaction, &runs.into_iter().flatten().collect())?;
            if removed > 0 {
                record(transaction, who, &format!("removed {} from before {before}", format_count(removed, "sample")))?;
            }
            Ok(removed)
        })
    }
}
