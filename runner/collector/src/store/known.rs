//! New samples with known ids: duplicates, conflicts, and replacements of damaged samples.

use std::collections::{BTreeSet, HashMap};

use super::Encoded;
use super::audit::record;
use super::database::Transaction;
use super::failure::Outcome;
use super::row::{Value, text};
use super::runs::count_again;
use super::stored::StoredSample;

/// Name in the audit log for replacements of damaged samples.
const WHO: &str = "collector";

/// Stored samples by id, and the runs whose samples were replaced.
#[derive(Debug, Default)]
pub(super) struct Known {
    samples: HashMap<String, StoredSample>,
    runs: BTreeSet<i64>,
}

/// Result for a sample with a known id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// The store has the same sample.
    Same,
    /// The store has another sample with this id and keeps it.
    Other,
    /// It replaced a damaged sample.
    Replaced,
}

impl Known {
    /// Reads the stored samples with these ids.
    pub(super) fn read(transaction: &Transaction<'_>, ids: &[&str]) -> Outcome<Self> {
        let rows = if ids.is_empty() { Vec::new() } else { transaction.rows_of(ids)? };
        let samples = rows.into_iter().map(|(id, row)| Ok((id, StoredSample::read(row)?)));
        Ok(Self { samples: samples.collect::<Outcome<_>>()?, runs: BTreeSet::new() })
    }

    /// Compares a sample with the stored one. The next valid sample with the id of a damaged one
    /// replaces it at the same position.
    pub(super) fn settle(&mut self, transaction: &Transaction<'_>, new: &Encoded, run: i64) -> Outcome<Settled> {
        // Every known id has a row, which this transaction may have added.
        let Some(stored) = self.samples.get(&new.id) else { return Ok(Settled::Other) };
        match &stored.line {
            Some(line) if !is_same(line, &new.line) => return Ok(Settled::Other),
            Some(_) if stored.has_columns_of(new) => return Ok(Settled::Same),
            _ => {}
        }
        self.runs.extend(stored.run.into_iter().chain([run]));
        transaction.match_indexes(stored.seq)?;
        replace(transaction, stored.seq, new, run)?;
        record(transaction, WHO, &format!("replaced the damaged sample {} by one that was sent", new.id))?;
        self.samples.insert(new.id.clone(), StoredSample::of(new, stored.seq, run));
        Ok(Settled::Replaced)
    }

    /// Recomputes the figures of the runs of replaced samples, after all new samples of the
    /// transaction.
    pub(super) fn count_again(&self, transaction: &Transaction<'_>) -> Outcome<()> {
        count_again(transaction, &self.runs)
    }
}

fn replace(transaction: &Transaction<'_>, position: i64, new: &Encoded, run: i64) -> Outcome<()> {
    let update = "UPDATE samples SET id = $1, model = $2, mode = $3, engine = $4, outcome = $5, started_at_us = $6,
             line = $7, checksum = $8, run = $9, secs = $10
         WHERE seq = $11";
    let parameters = [
        text(new.id.as_str()),
        text(new.run.model.as_str()),
        text(new.mode),
        text(new.run.engine),
        text(new.run.outcome),
        Value::Integer(new.started_at_us),
        text(new.line.as_str()),
        Value::Integer(new.checksum),
        Value::Integer(run),
        new.secs.into(),
        Value::Integer(position),
    ];
    transaction.execute(update, &parameters).map(drop)
}

/// Returns whether two lines have the same content, in any order of fields.
fn is_same(stored: &str, line: &str) -> bool {
    let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    stored == line || value(stored).is_some_and(|stored| Some(stored) == value(line))
}
