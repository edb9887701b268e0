//! Upkeep of the store: write probe, size, and removal of old samples.

use foreglow_shared::{Timestamp, format_count};

use super::Store;
use super::audit::record;
use super::row::Value;
use super::runs::count_again;

impl Store {
    /// Checks that a sample could be stored now.
    ///
    /// # Errors
    /// The store was removed, is locked by another program, is read-only, or does not answer.
    pub fn probe(&mut self) -> anyhow::Result<()> {
        let outcome = self.database.begin().and_then(|transaction| {
            // Deletes no row, but needs everything that a write needs.
            let outcome = transaction.execute("DELETE FROM audit WHERE seq = 0", &[]);
            transaction.roll_back();
            outcome.map(drop)
        });
        outcome.map_err(|failure| self.explain(&failure))
    }

    /// Finds a file that was removed or replaced, or that has lost its write-ahead log.
    ///
    /// # Errors
    /// The file or its log has gone.
    pub fn look(&mut self) -> anyhow::Result<()> {
        let outcome = self.database.look();
        outcome.map_err(|failure| self.explain(&failure))
    }

    /// Returns the size of the store on the disk, bytes.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn size_bytes(&self) -> anyhow::Result<u64> {
        self.database.size_bytes().map_err(|failure| self.explain(&failure))
    }

    /// Returns the number of samples.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn count(&self) -> anyhow::Result<u64> {
        self.integer("SELECT CAST(coalesce(sum(samples), 0) AS BIGINT) FROM jobs").map(i64::unsigned_abs)
    }

    /// Removes at most this number of samples of runs that were submitted before a time, with a
    /// line in the audit log; returns their number.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn remove_before(&mut self, before: Timestamp, most: usize, who: &str) -> anyhow::Result<usize> {
        self.write(|transaction| {
            let removed = transaction.query(
                "DELETE FROM samples WHERE seq IN
                     (SELECT seq FROM samples WHERE started_at_us < $1 ORDER BY started_at_us LIMIT $2)
                 RETURNING run",
                &[Value::Integer(before.as_microsecond()), Value::Integer(i64::try_from(most).unwrap_or(i64::MAX))],
            )?;
            let runs = removed.iter().filter_map(|row| row.maybe_integer(0).transpose());
            count_again(transaction, &runs.collect::<Result<_, _>>()?)?;
            let removed = removed.len();
            if removed > 0 {
                record(transaction, who, &format!("removed {} from before {before}", format_count(removed, "sample")))?;
            }
            Ok(removed)
        })
    }
}
