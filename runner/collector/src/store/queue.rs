//! Samples that wait for a collector, or that it has rejected.

use foreglow_shared::{Sample, Uuid};
use rusqlite::params;

use super::failure::sentence;
use super::{Store, line};

/// Number of samples that are kept for a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Address of the collector.
    pub collector: String,
    /// Samples that the next upload sends.
    pub waiting: u64,
    /// Samples that the collector has rejected.
    pub rejected: u64,
}

/// A sample that a collector has rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Address of the collector.
    pub collector: String,
    /// Id of the sample.
    pub id: String,
    /// Reason.
    pub reason: String,
}

impl Store {
    /// Keeps samples for the collector at `url`, separately from the store's own samples, so that a
    /// collector that uses the same store still sees them as new. Rejected ones stay rejected.
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
        let query = "SELECT line FROM pending WHERE collector = ?1 AND rejection IS NULL ORDER BY seq";
        Ok(self.parse(&self.lines(query, params![url])?))
    }

    /// Returns the collectors that samples are kept for, in the order of their addresses.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn waiting(&self) -> anyhow::Result<Vec<Waiting>> {
        let query = "SELECT collector, sum(rejection IS NULL), sum(rejection IS NOT NULL)
             FROM pending GROUP BY collector ORDER BY collector";
        let row = |row: &rusqlite::Row<'_>| {
            let count = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
            Ok(Waiting { collector: row.get(0)?, waiting: count(1)?, rejected: count(2)? })
        };
        self.connection
            .prepare(query)
            .and_then(|mut statement| statement.query_map([], row)?.collect())
            .map_err(|error| sentence(&self.path, &error))
    }

    /// Returns the rejected samples, by collector and in order of arrival.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn rejected(&self) -> anyhow::Result<Vec<Rejected>> {
        let query = "SELECT collector, id, rejection FROM pending WHERE rejection IS NOT NULL ORDER BY collector, seq";
        let row =
            |row: &rusqlite::Row<'_>| Ok(Rejected { collector: row.get(0)?, id: row.get(1)?, reason: row.get(2)? });
        self.connection
            .prepare(query)
            .and_then(|mut statement| statement.query_map([], row)?.collect())
            .map_err(|error| sentence(&self.path, &error))
    }

    /// Lets the samples that the collector at `url` has rejected wait again; returns their number.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn send_again(&mut self, url: &str) -> anyhow::Result<usize> {
        let query = "UPDATE pending SET rejection = NULL WHERE collector = ?1 AND rejection IS NOT NULL";
        self.write(|transaction| transaction.execute(query, params![url]))
    }

    /// Records what the collector at `url` has done with samples: those it has are forgotten, those
    /// it has rejected are kept with the reason.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn settle(&mut self, url: &str, accepted: &[Uuid], rejected: &[(Uuid, String)]) -> anyhow::Result<()> {
        self.write(|transaction| {
            let mut sent = transaction.prepare("DELETE FROM pending WHERE collector = ?1 AND id = ?2")?;
            accepted.iter().try_for_each(|id| sent.execute(params![url, id.to_string()]).map(drop))?;
            let mut mark = transaction.prepare("UPDATE pending SET rejection = ?3 WHERE collector = ?1 AND id = ?2")?;
            rejected.iter().try_for_each(|(id, reason)| mark.execute(params![url, id.to_string(), reason]).map(drop))
        })
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

    /// Discards the samples that are kept for the collector at `url`, or only those that it has
    /// rejected, and returns their number. The store keeps its own samples.
    ///
    /// # Errors
    /// As [`Store::insert`].
    pub fn discard(&mut self, url: &str, only_rejected: bool) -> anyhow::Result<usize> {
        let query = "DELETE FROM pending WHERE collector = ?1 AND (rejection IS NOT NULL OR NOT ?2)";
        self.write(|transaction| transaction.execute(query, params![url, only_rejected]))
    }
}
