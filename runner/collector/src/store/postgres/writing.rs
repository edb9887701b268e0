//! Transactions that write, one at a time in all collectors.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::CHANNEL;
use super::session::Session;
use super::values::storable;
use crate::store::Encoded;
use crate::store::database::{Outcome, Row, Value};
use crate::store::runs::Sums;

/// Lock of the writers of a database: `FGLW`. Without it, a sample could become visible after one
/// that has a later position, and readers that continue after a position would never see it.
const LOCK: i64 = 0x4647_4c57;

/// A transaction that holds the lock for writers.
#[derive(Debug)]
pub(in crate::store) struct Writing<'a> {
    session: &'a Session,
    /// Whether other collectors have to hear of it.
    has_news: Cell<bool>,
}

impl<'a> Writing<'a> {
    pub(super) fn begin(session: &Session) -> Outcome<()> {
        let begun = session.execute_batch(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})"));
        session.set_writing(begun.is_ok());
        if begun.is_err() {
            // Ends the transaction that could not get the lock.
            let _ = session.execute_batch("ROLLBACK");
        }
        begun
    }

    pub(super) fn new(session: &'a Session) -> Self {
        Self { session, has_news: Cell::new(false) }
    }

    pub(in crate::store) fn execute(&self, sql: &str, parameters: &[Value]) -> Outcome<usize> {
        self.session.execute(sql, parameters)
    }

    pub(in crate::store) fn query(&self, sql: &str, parameters: &[Value]) -> Outcome<Vec<Row>> {
        let mut rows = Vec::new();
        self.session.each_once(sql, parameters, &mut |row| {
            rows.push(row);
            Ok(true)
        })?;
        Ok(rows)
    }

    pub(in crate::store) fn execute_batch(&self, sql: &str) -> Outcome<()> {
        self.session.execute_batch(sql)
    }

    /// Adds all samples with one statement.
    pub(in crate::store) fn add_samples(&self, samples: &[(&Encoded, i64)]) -> Outcome<Vec<bool>> {
        let models = column(samples, |new| storable(&new.run.model));
        let secs = column(samples, |new| new.secs);
        let (ids, lines) = (column(samples, |new| new.id.as_str()), column(samples, |new| new.line.as_str()));
        let modes = column(samples, |new| new.mode);
        let (engines, outcomes) = (column(samples, |new| new.run.engine), column(samples, |new| new.run.outcome));
        let starts = column(samples, |new| new.started_at_us);
        let checksums = column(samples, |new| new.checksum);
        let runs: Vec<i64> = samples.iter().map(|(_, run)| *run).collect();
        let rows = self.session.with_client(|connected| {
            let statement = self.session.prepared(connected, ADD)?;
            self.session.wait(connected.client().query(
                &statement,
                &[&ids, &models, &modes, &engines, &outcomes, &starts, &lines, &checksums, &runs, &secs],
            ))
        })?;
        self.has_news.set(self.has_news.get() || !rows.is_empty());
        let mut added: HashSet<&str> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        // A later sample with the same id is not new.
        Ok(samples.iter().map(|(new, _)| added.remove(new.id.as_str())).collect())
    }

    pub(in crate::store) fn lines_of(&self, ids: &[&str]) -> Outcome<HashMap<String, String>> {
        let rows = self.session.with_client(|connected| {
            let statement = self.session.prepared(connected, "SELECT id, line FROM samples WHERE id = ANY ($1)")?;
            self.session.wait(connected.client().query(&statement, &[&ids]))
        })?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    pub(in crate::store) fn figures_of(&self, runs: &BTreeSet<i64>) -> Outcome<HashMap<i64, Sums>> {
        let query = "SELECT count(*), count(secs), coalesce(sum(secs), 0), min(secs), max(secs) FROM samples
             WHERE run = $1";
        let mut figures = HashMap::with_capacity(runs.len());
        for run in runs {
            for row in self.query(query, &[Value::Integer(*run)])? {
                let sums = Sums {
                    samples: row.integer(0)?,
                    timed: row.integer(1)?,
                    sum: row.real(2)?,
                    least: row.maybe_real(3)?,
                    most: row.maybe_real(4)?,
                };
                figures.insert(*run, sums);
            }
        }
        Ok(figures)
    }

    pub(in crate::store) fn commit(self) -> Outcome<()> {
        let committed = match self.has_news.get() {
            true => self.session.execute_batch(&format!("NOTIFY {CHANNEL}; COMMIT")),
            false => self.session.execute_batch("COMMIT"),
        };
        if committed.is_err() {
            self.roll_back();
        } else {
            self.session.set_writing(false);
        }
        committed
    }

    pub(in crate::store) fn roll_back(self) {
        // A server that cannot be reached undoes everything itself.
        let _ = self.session.execute_batch("ROLLBACK");
        self.session.set_writing(false);
    }
}

fn column<'a, T>(samples: &[(&'a Encoded, i64)], of: impl Fn(&'a Encoded) -> T) -> Vec<T> {
    samples.iter().map(|(sample, _)| of(sample)).collect()
}

/// The positions follow the order of the arrays.
const ADD: &str = "INSERT INTO samples (id, model, mode, engine, outcome, started_at_us, line, checksum, run, secs)
    SELECT id, model, mode, engine, outcome, started_at_us, line, checksum, run, secs
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[],
            $9::bigint[], $10::double precision[]) WITH ORDINALITY
        AS new (id, model, mode, engine, outcome, started_at_us, line, checksum, run, secs, place)
    ORDER BY place
    ON CONFLICT (id) DO NOTHING RETURNING id";
