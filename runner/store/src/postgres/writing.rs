//! Writing transactions, one at a time over all collectors.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

use foreglow_shared::Timestamp;
use tokio_postgres::types::ToSql;

use super::CHANNEL;
use super::session::{Session, is_disconnected};
use super::values::storable;
use crate::Encoded;
use crate::encoded::RunKey;
use crate::failure::{Failure, Outcome};
use crate::figures::{AddedToJob, Sums};
use crate::newest::{MOST_DIGITS, MOST_EQUAL, Newest};
use crate::row::{Row, Value, collected};
use crate::transaction::Writes;

/// Lock of the writers of a database: `FGLW`. Without it, a sample could become visible after one
/// with a later position, and readers that continue after that position would miss it.
const LOCK: i64 = 0x4647_4c57;

type Bound<'a> = &'a (dyn ToSql + Sync);

/// A transaction that holds the lock for writers.
#[derive(Debug)]
pub(crate) struct ServerTransaction<'a> {
    session: &'a Session,
    /// Whether to notify other collectors.
    has_news: Cell<bool>,
}

impl<'a> ServerTransaction<'a> {
    /// Begins a transaction, after those of other sessions have ended.
    pub(crate) fn begin(session: &'a mut Session) -> Outcome<Self> {
        match begin(session) {
            // The connection was lost since the last use, such as by a restart of the server.
            Err(failure) if is_disconnected(&failure) => begin(session)?,
            begun => begun?,
        }
        Ok(Self { session, has_news: Cell::new(false) })
    }

    /// Returns the rows of a prepared query.
    fn rows(&self, sql: &str, parameters: &[Bound<'_>]) -> Outcome<Vec<tokio_postgres::Row>> {
        self.session.with_client(|connected| {
            let statement = self.session.prepared(connected, sql)?;
            self.session.wait(connected.client().query(&statement, parameters))
        })
    }

    /// Makes a prepared change, and returns the number of rows.
    fn change(&self, sql: &str, parameters: &[Bound<'_>]) -> Outcome<u64> {
        self.session.with_client(|connected| {
            let statement = self.session.prepared(connected, sql)?;
            self.session.wait(connected.client().execute(&statement, parameters))
        })
    }

    /// Makes a change of as many rows; fails if one of them is missing.
    fn change_each(&self, rows: usize, sql: &str, parameters: &[Bound<'_>]) -> Outcome<()> {
        if self.change(sql, parameters)? == rows as u64 { Ok(()) } else { Err(Failure::NoSuchRun) }
    }

    fn find_runs(&self, runs: &[(&RunKey, &str)]) -> Outcome<Vec<Option<i64>>> {
        let keys = Keys::of(runs);
        let rows = self.rows(FIND_RUNS, &keys.parameters())?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    fn make_runs(&self, runs: &[(&RunKey, &str)]) -> Outcome<()> {
        let keys = Keys::of(runs);
        let models: Vec<String> = runs.iter().map(|(run, _)| storable(&run.model)).collect();
        let jobs: Vec<&str> = runs.iter().map(|(_, job)| *job).collect();
        let mut parameters = keys.parameters().to_vec();
        parameters.extend([&models as Bound<'_>, &jobs]);
        self.change(MAKE_RUNS, &parameters).map(drop)
    }
}

impl Writes for ServerTransaction<'_> {
    fn execute(&self, sql: &str, parameters: &[Value]) -> Outcome<usize> {
        self.session.execute(sql, parameters)
    }

    fn query(&self, sql: &str, parameters: &[Value]) -> Outcome<Vec<Row>> {
        collected(|visit| self.session.each_once(sql, parameters, visit))
    }

    fn execute_batch(&self, sql: &str) -> Outcome<()> {
        self.session.execute_batch(sql)
    }

    /// Adds all samples with one statement.
    fn add_samples(&self, samples: &[(&Encoded, i64)]) -> Outcome<Vec<Option<i64>>> {
        let models = column(samples, |new| storable(&new.run.model));
        let secs = column(samples, |new| new.secs);
        let (ids, lines) = (column(samples, |new| new.id.as_str()), column(samples, |new| new.line.as_str()));
        let modes = column(samples, |new| new.mode);
        let (engines, outcomes) = (column(samples, |new| new.run.engine), column(samples, |new| new.run.outcome));
        let starts = column(samples, |new| new.started_at_us);
        let runs: Vec<i64> = samples.iter().map(|(_, run)| *run).collect();
        let senders = column(samples, |new| new.sender.as_deref());
        let now = Timestamp::now().as_microsecond();
        let parameters: [Bound<'_>; 11] =
            [&ids, &models, &modes, &engines, &outcomes, &starts, &lines, &runs, &secs, &senders, &now];
        let rows = self.rows(ADD, &parameters)?;
        self.has_news.set(self.has_news.get() || !rows.is_empty());
        let mut added: HashMap<&str, i64> = HashMap::with_capacity(rows.len());
        for row in &rows {
            added.insert(row.try_get(0)?, row.try_get(1)?);
        }
        // A later sample with the same id is not new.
        Ok(samples.iter().map(|(new, _)| added.remove(new.id.as_str())).collect())
    }

    /// Returns the file number of the table of runs, which changes when a backup is restored. The
    /// server never reuses the number of a run, so a removed run does not change other numbers.
    fn version(&self) -> Outcome<i64> {
        let rows = self.query("SELECT CAST(pg_relation_filenode('runs') AS BIGINT)", &[])?;
        rows.first().map_or(Err(Failure::Unexpected(Value::Null)), |row| row.integer(0))
    }

    /// Returns the numbers of all runs with one query, and adds new runs with one statement.
    fn numbers_of(&self, runs: &[(&RunKey, &str)]) -> Outcome<Vec<i64>> {
        let found = self.find_runs(runs)?;
        let new: Vec<(&RunKey, &str)> =
            runs.iter().zip(&found).filter(|(_, number)| number.is_none()).map(|(run, _)| *run).collect();
        let mut of_new = Vec::new().into_iter();
        if !new.is_empty() {
            self.make_runs(&new)?;
            of_new = self.find_runs(&new)?.into_iter();
        }
        let mut number = |known: Option<i64>| known.or_else(|| of_new.next().flatten());
        found.into_iter().map(|known| number(known).ok_or(Failure::Unexpected(Value::Null))).collect()
    }

    fn make_jobs(&self, jobs: &[(&str, &str)]) -> Outcome<()> {
        let fingerprints: Vec<&str> = jobs.iter().map(|(job, _)| *job).collect();
        let contexts: Vec<&str> = jobs.iter().map(|(_, context)| *context).collect();
        self.change(MAKE_JOBS, &[&fingerprints, &contexts]).map(drop)
    }

    fn contexts_of(&self, jobs: &[&str]) -> Outcome<Vec<(String, String)>> {
        let rows = self.rows("SELECT job, context FROM jobs WHERE job = ANY ($1)", &[&jobs])?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    fn add_to_jobs(&self, added: &[AddedToJob]) -> Outcome<()> {
        let jobs: Vec<&str> = added.iter().map(|added| &*added.job).collect();
        let samples: Vec<i64> = added.iter().map(|added| added.samples).collect();
        let latest: Vec<i64> = added.iter().map(|added| added.latest).collect();
        self.change_each(added.len(), ADD_TO_JOBS, &[&jobs, &samples, &latest])
    }

    fn add_to_runs(&self, added: &[(i64, &Sums)]) -> Outcome<()> {
        let numbers: Vec<i64> = added.iter().map(|(run, _)| *run).collect();
        let samples: Vec<i64> = added.iter().map(|(_, sums)| sums.samples).collect();
        let timed: Vec<i64> = added.iter().map(|(_, sums)| sums.timed).collect();
        let totals: Vec<f64> = added.iter().map(|(_, sums)| sums.sum).collect();
        let least: Vec<Option<f64>> = added.iter().map(|(_, sums)| sums.least).collect();
        let most: Vec<Option<f64>> = added.iter().map(|(_, sums)| sums.most).collect();
        let newest: Vec<String> = added.iter().map(|(_, sums)| sums.newest.text()).collect();
        let parameters: [Bound<'_>; 8] = [&numbers, &samples, &timed, &totals, &least, &most, &newest, &MOST_DIGITS];
        self.change_each(added.len(), ADD_TO_RUNS, &parameters)
    }

    fn lines_of(&self, ids: &[&str]) -> Outcome<Vec<(String, String)>> {
        let find = "SELECT id, line FROM samples WHERE id = ANY ($1)";
        let rows = self.rows(find, &[&ids])?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    fn figures_of(&self, runs: &BTreeSet<i64>) -> Outcome<HashMap<i64, Sums>> {
        let query = "SELECT count(*), count(secs), coalesce(sum(secs), 0), min(secs), max(secs) FROM samples
             WHERE run = $1";
        let newest_of = "SELECT seq FROM samples WHERE run = $1 ORDER BY seq DESC LIMIT $2";
        let mut figures = HashMap::with_capacity(runs.len());
        for run in runs {
            let mut newest = Newest::default();
            let most = i64::try_from(MOST_EQUAL).unwrap_or(i64::MAX);
            for row in self.query(newest_of, &[Value::Integer(*run), Value::Integer(most)])? {
                newest.add(row.integer(0)?);
            }
            for row in self.query(query, &[Value::Integer(*run)])? {
                let sums = Sums {
                    samples: row.integer(0)?,
                    timed: row.integer(1)?,
                    sum: row.real(2)?,
                    least: row.maybe_real(3)?,
                    most: row.maybe_real(4)?,
                    newest: newest.clone(),
                };
                figures.insert(*run, sums);
            }
        }
        Ok(figures)
    }

    fn commit(self: Box<Self>) -> Outcome<()> {
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

    fn roll_back(self: Box<Self>) {
        // An unreachable server rolls back by itself.
        let _ = self.session.execute_batch("ROLLBACK");
        self.session.set_writing(false);
    }
}

fn begin(session: &Session) -> Outcome<()> {
    let begun = session.execute_batch(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})"));
    session.set_writing(begun.is_ok());
    if begun.is_err() {
        // Ends the transaction that failed to get the lock.
        let _ = session.execute_batch("ROLLBACK");
    }
    begun
}

/// Columns of the keys of runs.
struct Keys<'a> {
    workloads: Vec<&'a str>,
    configurations: Vec<&'a str>,
    sampling_rates: Vec<f64>,
    engines: Vec<&'a str>,
    outcomes: Vec<&'a str>,
    hosts: Vec<&'a str>,
}

impl<'a> Keys<'a> {
    fn of(runs: &[(&'a RunKey, &str)]) -> Self {
        Self {
            workloads: runs.iter().map(|(run, _)| run.workload.as_str()).collect(),
            configurations: runs.iter().map(|(run, _)| run.configuration.as_str()).collect(),
            sampling_rates: runs.iter().map(|(run, _)| run.sampling_rate()).collect(),
            engines: runs.iter().map(|(run, _)| run.engine).collect(),
            outcomes: runs.iter().map(|(run, _)| run.outcome).collect(),
            hosts: runs.iter().map(|(run, _)| run.host.as_str()).collect(),
        }
    }

    fn parameters(&self) -> [&(dyn ToSql + Sync); 6] {
        [&self.workloads, &self.configurations, &self.sampling_rates, &self.engines, &self.outcomes, &self.hosts]
    }
}

fn column<'a, T>(samples: &[(&'a Encoded, i64)], of: impl Fn(&'a Encoded) -> T) -> Vec<T> {
    samples.iter().map(|(sample, _)| of(sample)).collect()
}

/// The positions follow the order of the arrays.
const ADD: &str = "INSERT INTO samples
        (id, model, mode, engine, outcome, started_at_us, line, run, secs, sender, received_at_us)
    SELECT id, model, mode, engine, outcome, started_at_us, line, run, secs, sender, $11
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[],
            $9::double precision[], $10::text[]) WITH ORDINALITY
        AS new (id, model, mode, engine, outcome, started_at_us, line, run, secs, sender, place)
    ORDER BY place
    ON CONFLICT (id) DO NOTHING RETURNING id, seq";

/// The number of each run, in the order of the arrays. The index is a hash index on the
/// concatenation of the three texts, because each may be longer than a B-tree entry.
const FIND_RUNS: &str = "SELECT (
        SELECT number FROM runs
        WHERE runs.workload || runs.configuration || runs.host = key.workload || key.configuration || key.host
            AND runs.workload = key.workload AND runs.configuration = key.configuration
            AND runs.sampling_rate = key.sampling_rate AND runs.engine = key.engine AND runs.outcome = key.outcome
            AND runs.host = key.host
        LIMIT 1)
    FROM unnest($1::text[], $2::text[], $3::double precision[], $4::text[], $5::text[], $6::text[]) WITH ORDINALITY
        AS key (workload, configuration, sampling_rate, engine, outcome, host, place)
    ORDER BY place";

/// The numbers follow the order of the arrays.
const MAKE_RUNS: &str = "INSERT INTO runs (workload, configuration, sampling_rate, engine, outcome, host, model, job)
    SELECT workload, configuration, sampling_rate, engine, outcome, host, model, job
    FROM unnest($1::text[], $2::text[], $3::double precision[], $4::text[], $5::text[], $6::text[], $7::text[],
            $8::text[])
        WITH ORDINALITY AS new (workload, configuration, sampling_rate, engine, outcome, host, model, job, place)
    ORDER BY place";

const MAKE_JOBS: &str = "INSERT INTO jobs (job, context)
    SELECT job, context FROM unnest($1::text[], $2::text[]) AS new (job, context)
    ON CONFLICT (job) DO NOTHING";

const ADD_TO_JOBS: &str = "UPDATE jobs SET samples = jobs.samples + new.samples,
        latest = greatest(jobs.latest, new.latest)
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS new (job, samples, latest)
    WHERE jobs.job = new.job";

/// `least` and `greatest` ignore null.
const ADD_TO_RUNS: &str = "UPDATE runs SET samples = runs.samples + new.samples, timed = runs.timed + new.timed,
        sum_secs = runs.sum_secs + new.sum_secs, least_secs = least(runs.least_secs, new.least_secs),
        most_secs = greatest(runs.most_secs, new.most_secs), newest = right(runs.newest || new.newest, $8)
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::double precision[], $5::double precision[],
            $6::double precision[], $7::text[])
        AS new (number, samples, timed, sum_secs, least_secs, most_secs, newest)
    WHERE runs.number = new.number";
