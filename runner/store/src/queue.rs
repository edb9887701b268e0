//! Samples waiting for a collector or rejected by it.

use foreglow_shared::{Sample, Uuid};

use super::row::{Value, text};
use super::{Store, line};

/// Numbers of samples queued for a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Address of the collector.
    pub collector: String,
    /// Samples that the next upload will send.
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
    /// Queues samples for the collector at `url`, separately from the store's own samples, so that
    /// they are still new for a collector that uses the same store. Rejected ones stay rejected.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn keep_for(&mut self, url: &str, samples: &[Sample]) -> anyhow::Result<()> {
        self.keep(url, samples, "DO NOTHING")
    }

    /// Queues samples for the collector at `url`, and replaces queued or rejected ones with the
    /// same ids.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn keep_in_place(&mut self, url: &str, samples: &[Sample]) -> anyhow::Result<()> {
        self.keep(url, samples, "(collector, id) DO UPDATE SET line = excluded.line, rejection = NULL")
    }

    fn keep(&mut self, url: &str, samples: &[Sample], on_conflict: &str) -> anyhow::Result<()> {
        let keep = format!("INSERT INTO pending (collector, id, line) VALUES ($1, $2, $3) ON CONFLICT {on_conflict}");
        self.write(|transaction| {
            samples.iter().try_for_each(|sample| {
                let of_sample = [text(url), text(sample.id.to_string()), text(line(sample)?)];
                transaction.execute(&keep, &of_sample).map(drop)
            })
        })
    }

    /// Returns the samples that wait for the collector at `url`, in order of arrival.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn waiting_for(&self, url: &str) -> anyhow::Result<Vec<Sample>> {
        let query = "SELECT line FROM pending WHERE collector = $1 AND rejection IS NULL ORDER BY seq";
        Ok(self.parse(&self.read(query, &[text(url)], |mut row| row.text(0))?))
    }

    /// Returns the collectors with queued or rejected samples, in the order of their addresses.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn waiting(&self) -> anyhow::Result<Vec<Waiting>> {
        let query = "SELECT collector, count(*) - count(rejection), count(rejection)
             FROM pending GROUP BY collector ORDER BY collector";
        self.read(query, &[], |mut row| {
            let count = |column: usize| row.integer(column).map(i64::unsigned_abs);
            let (waiting, rejected) = (count(1)?, count(2)?);
            Ok(Waiting { collector: row.text(0)?, waiting, rejected })
        })
    }

    /// Returns the rejected samples, by collector and in order of arrival.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn rejected(&self) -> anyhow::Result<Vec<Rejected>> {
        let query = "SELECT collector, id, rejection FROM pending WHERE rejection IS NOT NULL ORDER BY collector, seq";
        self.read(query, &[], |mut row| {
            Ok(Rejected { collector: row.text(0)?, id: row.text(1)?, reason: row.text(2)? })
        })
    }

    /// Queues the samples again that the collector at `url` rejected; returns their number.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn send_again(&mut self, url: &str) -> anyhow::Result<usize> {
        let query = "UPDATE pending SET rejection = NULL WHERE collector = $1 AND rejection IS NOT NULL";
        self.write(|transaction| transaction.execute(query, &[text(url)]))
    }

    /// Records the result of an upload to the collector at `url`: accepted samples leave the queue,
    /// rejected ones stay with the reason.
    ///
    /// # Errors
    /// As for [`Store::insert`].
    pub fn settle(&mut self, url: &str, accepted: &[Uuid], rejected: &[(Uuid, String)]) -> anyhow::Result<()> {
        self.write(|transaction| {
            let sent = "DELETE FROM pending WHERE collector = $1 AND id = $2";
            accepted
                .iter()
                .try_for_each(|id| transaction.execute(sent, &[text(url), text(id.to_string())]).map(drop))?;
            let mark = "UPDATE pending SET rejection = $3 WHERE collector = $1 AND id = $2";
            rejected.iter().try_for_each(|(id, reason)| {
                transaction.execute(mark, &[text(url), text(id.to_string()), text(reason)]).map(drop)
            })
        })
    }

    /// Reassigns the samples that wait for the collector at `from` to the one at `to`; returns
    /// their number. With the same collector nothing changes.
    ///
    /// # Errors
    /// As [`Store::insert`].
    pub fn redirect(&mut self, from: &str, to: &str) -> anyhow::Result<usize> {
        if from == to {
            return Ok(0);
        }
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO pending (collector, id, line)
                 SELECT CAST($2 AS TEXT), id, line FROM pending WHERE collector = $1 ORDER BY seq
                 ON CONFLICT DO NOTHING",
                &[text(from), text(to)],
            )?;
            transaction.execute("DELETE FROM pending WHERE collector = $1", &[text(from)])
        })
    }

    /// Discards the samples queued for the collector at `url`, or only the rejected ones, and
    /// returns their number. The store keeps its own samples.
    ///
    /// # Errors
    /// As [`Store::insert`].
    pub fn discard(&mut self, url: &str, only_rejected: bool) -> anyhow::Result<usize> {
        let query = "DELETE FROM pending WHERE collector = $1 AND (rejection IS NOT NULL OR $2 = 0)";
        let only_rejected = Value::Integer(only_rejected.into());
        self.write(|transaction| transaction.execute(query, &[text(url), only_rejected]))
    }
}
