//! Samples of equal runs together: how many there are, and how long they took.
//!
//! The figures are kept with each write, so that a million samples answer as fast as a thousand.

use std::collections::{BTreeMap, BTreeSet};

use foreglow_shared::{Sample, parse_line};
use rusqlite::{OptionalExtension as _, Transaction, params};

use super::Store;
use super::failure::sentence;

/// Samples that an upgrade reads at a time.
const BATCH: i64 = 1_000;

/// Equal runs: of the same job, setting, engine, machine and outcome. Texts are JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs {
    /// Position in the list.
    pub number: i64,
    /// The job.
    pub workload: String,
    /// The cluster configuration.
    pub configuration: String,
    /// Share of the images that was processed.
    pub sampling_rate: f64,
    /// Engine that ran the executors.
    pub engine: String,
    /// How the runs ended.
    pub outcome: String,
    /// The machine.
    pub host: String,
    /// Number of samples.
    pub samples: u64,
    /// Completion times; `None` if none is known.
    pub times: Option<Times>,
}

/// Completion times of equal runs, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Arithmetic mean.
    pub mean_secs: f64,
    /// Shortest.
    pub least_secs: f64,
    /// Longest.
    pub most_secs: f64,
}

/// Selection of runs. The default selects all.
#[derive(Clone, Debug, Default)]
pub struct RunsFilter {
    /// Name of the CNN.
    pub model: Option<String>,
    /// How the runs ended.
    pub outcome: Option<String>,
    /// Only runs after this position.
    pub after: i64,
    /// Maximum number.
    pub limit: usize,
}

/// What samples of one write add to their runs.
#[derive(Debug, Default)]
pub(super) struct Added {
    numbers: BTreeMap<[String; 6], i64>,
    of_run: BTreeMap<i64, Sums>,
}

#[derive(Clone, Copy, Debug)]
struct Sums {
    samples: i64,
    timed: i64,
    sum: f64,
    least: Option<f64>,
    most: Option<f64>,
}

impl Added {
    /// Returns the run of a sample.
    pub(super) fn run_of(&mut self, transaction: &Transaction<'_>, sample: &Sample) -> rusqlite::Result<i64> {
        let json = |value: serde_json::Result<String>| {
            value.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
        };
        let key = [
            json(serde_json::to_string(&sample.workload))?,
            json(serde_json::to_string(&sample.configuration))?,
            sample.sampling_rate.to_string(),
            sample.engine.as_str().to_owned(),
            sample.outcome.as_str().to_owned(),
            json(serde_json::to_string(&sample.host))?,
        ];
        if let Some(number) = self.numbers.get(&key) {
            return Ok(*number);
        }
        let [workload, configuration, _, engine, outcome, host] = &key;
        let of_run = params![workload, configuration, sample.sampling_rate, engine, outcome, host];
        let mut find = transaction.prepare_cached(
            "SELECT number FROM runs WHERE workload = ?1 AND configuration = ?2 AND sampling_rate = ?3 AND engine = ?4
                 AND outcome = ?5 AND host = ?6",
        )?;
        let number = match find.query_row(of_run, |row| row.get(0)).optional()? {
            Some(number) => number,
            None => {
                let mut add = transaction.prepare_cached(
                    "INSERT INTO runs (workload, configuration, sampling_rate, engine, outcome, host, model)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?;
                let model = &sample.workload.model;
                add.insert(params![workload, configuration, sample.sampling_rate, engine, outcome, host, model])?
            }
        };
        self.numbers.insert(key, number);
        Ok(number)
    }

    /// Counts a new sample.
    pub(super) fn count(&mut self, run: i64, secs: Option<f64>) {
        let sums = self.of_run.entry(run).or_insert(Sums { samples: 0, timed: 0, sum: 0.0, least: None, most: None });
        sums.samples += 1;
        if let Some(secs) = secs {
            sums.timed += 1;
            sums.sum += secs;
            sums.least = Some(sums.least.map_or(secs, |least| least.min(secs)));
            sums.most = Some(sums.most.map_or(secs, |most| most.max(secs)));
        }
    }

    pub(super) fn store(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let mut of_workload: BTreeMap<&str, i64> = BTreeMap::new();
        for ([workload, ..], number) in &self.numbers {
            let samples = self.of_run.get(number).map_or(0, |sums| sums.samples);
            *of_workload.entry(workload).or_default() += samples;
        }
        let mut add = transaction.prepare_cached(
            "INSERT INTO workloads (workload, samples) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET samples = samples + ?2",
        )?;
        for (workload, samples) in of_workload.into_iter().filter(|(_, samples)| *samples > 0) {
            add.execute(params![workload, samples])?;
        }
        let mut update = transaction.prepare_cached(
            "UPDATE runs SET samples = samples + ?2, timed = timed + ?3, sum_secs = sum_secs + ?4,
                 least_secs = coalesce(min(least_secs, ?5), least_secs, ?5),
                 most_secs = coalesce(max(most_secs, ?6), most_secs, ?6)
             WHERE number = ?1",
        )?;
        self.of_run.iter().try_for_each(|(run, Sums { samples, timed, sum, least, most })| {
            update.execute(params![run, samples, timed, sum, least, most]).map(drop)
        })
    }
}

/// Counts runs again from their samples, after some were removed.
pub(super) fn count_again(transaction: &Transaction<'_>, runs: &BTreeSet<i64>) -> rusqlite::Result<()> {
    let mut workload_of = transaction.prepare_cached("SELECT workload FROM runs WHERE number = ?1")?;
    let workloads: BTreeSet<String> =
        runs.iter().map(|run| workload_of.query_row([run], |row| row.get(0))).collect::<rusqlite::Result<_>>()?;
    let mut update = transaction.prepare_cached(
        "UPDATE runs SET (samples, timed, sum_secs, least_secs, most_secs) =
             (SELECT count(*), count(secs), coalesce(sum(secs), 0), min(secs), max(secs) FROM samples WHERE run = ?1)
         WHERE number = ?1",
    )?;
    let mut remove = transaction.prepare_cached("DELETE FROM runs WHERE number = ?1 AND samples = 0")?;
    for run in runs {
        update.execute([run])?;
        remove.execute([run])?;
    }
    let mut update = transaction.prepare_cached(
        "UPDATE workloads SET samples = (SELECT coalesce(sum(samples), 0) FROM runs WHERE workload = ?1)
         WHERE workload = ?1",
    )?;
    let mut remove = transaction.prepare_cached("DELETE FROM workloads WHERE workload = ?1 AND samples = 0")?;
    for workload in &workloads {
        update.execute([workload])?;
        remove.execute([workload])?;
    }
    Ok(())
}

/// Assigns the samples of a store of an earlier version to their runs.
pub(super) fn assign_all(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut read = transaction.prepare("SELECT seq, line FROM samples WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
    let mut write = transaction.prepare("UPDATE samples SET run = ?2, secs = ?3 WHERE seq = ?1")?;
    let mut after = 0_i64;
    loop {
        let rows: Vec<(i64, String)> = read
            .query_map(params![after, BATCH], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = *last;
        let mut added = Added::default();
        // Samples outside the limits belong to no run, as no answer has them.
        for (seq, sample) in rows.iter().filter_map(|(seq, line)| Some((seq, parse_line(line).ok()?))) {
            let run = added.run_of(transaction, &sample)?;
            write.execute(params![seq, run, sample.completion_time_secs])?;
            added.count(run, sample.completion_time_secs);
        }
        added.store(transaction)?;
    }
}

impl Store {
    /// Returns runs with their figures, in the order of their first sample.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn runs(&self, filter: &RunsFilter) -> anyhow::Result<Vec<Runs>> {
        let query =
            "SELECT number, workload, configuration, sampling_rate, engine, outcome, host, samples, timed, sum_secs,
                 least_secs, most_secs
             FROM runs
             WHERE samples > 0 AND number > ?1 AND (?2 IS NULL OR model = ?2) AND (?3 IS NULL OR outcome = ?3)
             ORDER BY number LIMIT ?4";
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        let runs = |row: &rusqlite::Row<'_>| {
            let timed: i64 = row.get(8)?;
            let times = Times {
                mean_secs: row.get::<_, f64>(9)? / timed as f64,
                least_secs: row.get::<_, Option<f64>>(10)?.unwrap_or(f64::NAN),
                most_secs: row.get::<_, Option<f64>>(11)?.unwrap_or(f64::NAN),
            };
            Ok(Runs {
                number: row.get(0)?,
                workload: row.get(1)?,
                configuration: row.get(2)?,
                sampling_rate: row.get(3)?,
                engine: row.get(4)?,
                outcome: row.get(5)?,
                host: row.get(6)?,
                samples: row.get::<_, i64>(7)?.unsigned_abs(),
                times: (timed > 0).then_some(times),
            })
        };
        self.connection
            .prepare_cached(query)
            .and_then(|mut statement| {
                statement.query_map(params![filter.after, filter.model, filter.outcome, limit], runs)?.collect()
            })
            .map_err(|error| sentence(&self.path, &error))
    }
}
