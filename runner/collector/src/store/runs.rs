//! Samples of equal runs together: how many there are, and how long they took.
//!
//! The figures are kept with each write, so that a million samples answer as fast as a thousand.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use foreglow_shared::parse_line;

use super::Store;
use super::database::{Failure, Outcome, Row, Transaction, Value, maybe_text, text};
use super::encoded::RunKey;

/// Samples that an upgrade reads at a time.
const BATCH: i64 = 1_000;
/// Size of the keys of runs whose numbers are kept between writes.
const MOST_KEY_BYTES: usize = 8 << 20;

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

/// Numbers of known runs. They are kept between the writes of a connection, because a query for
/// each run takes longer than adding its samples.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    of_key: HashMap<RunKey, i64>,
    key_bytes: usize,
    /// Version of the database that has these runs.
    version: Option<i64>,
}

/// What samples of one write add to their runs, with the workloads of these.
#[derive(Debug, Default)]
pub(super) struct Added(BTreeMap<i64, (String, Sums)>);

/// Figures of the samples of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) samples: i64,
    pub(super) timed: i64,
    pub(super) sum: f64,
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
}

impl Sums {
    pub(super) fn count(&mut self, secs: Option<f64>) {
        self.samples += 1;
        if let Some(secs) = secs {
            self.timed += 1;
            self.sum += secs;
            self.least = Some(self.least.map_or(secs, |least| least.min(secs)));
            self.most = Some(self.most.map_or(secs, |most| most.max(secs)));
        }
    }
}

impl Numbers {
    /// Forgets the runs if another connection may have renumbered them.
    pub(super) fn refresh(&mut self, transaction: &Transaction<'_>) -> Outcome<()> {
        let version = Some(transaction.version()?);
        if version != self.version {
            *self = Self { version, ..Self::default() };
        }
        Ok(())
    }

    /// Returns the number of the run of each key. A run without stored samples gets a new one.
    pub(super) fn of_runs(&mut self, transaction: &Transaction<'_>, keys: &[&RunKey]) -> Outcome<Vec<i64>> {
        let mut is_unknown = HashSet::new();
        let unknown: Vec<&RunKey> =
            (keys.iter().copied()).filter(|key| !self.of_key.contains_key(*key) && is_unknown.insert(*key)).collect();
        let numbers = if unknown.is_empty() { Vec::new() } else { transaction.numbers_of(&unknown)? };
        for (key, number) in unknown.iter().zip(&numbers) {
            self.key_bytes += key.size_bytes();
            self.of_key.insert((*key).clone(), *number);
        }
        let number = |key: &&RunKey| self.of_key.get(*key).copied().ok_or(Failure::Unexpected(Value::Null));
        let of_keys = keys.iter().map(number).collect();
        if self.key_bytes > MOST_KEY_BYTES {
            self.of_key.clear();
            self.key_bytes = 0;
        }
        of_keys
    }
}

impl Added {
    /// Counts a new sample.
    pub(super) fn count(&mut self, run: i64, key: &RunKey, secs: Option<f64>) {
        self.0.entry(run).or_insert_with(|| (key.workload.clone(), Sums::default())).1.count(secs);
    }

    pub(super) fn store(&self, transaction: &Transaction<'_>) -> Outcome<()> {
        let mut of_workload: BTreeMap<&str, i64> = BTreeMap::new();
        for (workload, sums) in self.0.values() {
            *of_workload.entry(workload).or_default() += sums.samples;
        }
        transaction.add_to_workloads(&Vec::from_iter(of_workload))?;
        transaction.add_to_runs(&Vec::from_iter(self.0.iter().map(|(run, (_, sums))| (*run, *sums))))
    }
}

fn parameters(run: i64, sums: &Sums) -> [Value; 6] {
    let [run, samples, timed] = [run, sums.samples, sums.timed].map(Value::Integer);
    [run, samples, timed, Value::Real(sums.sum), sums.least.into(), sums.most.into()]
}

/// Counts runs again from their samples, after some were removed.
pub(super) fn count_again(transaction: &Transaction<'_>, runs: &BTreeSet<i64>) -> Outcome<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let figures = transaction.figures_of(runs)?;
    let mut workloads = BTreeSet::new();
    for number in runs {
        let run = [Value::Integer(*number)];
        for mut row in transaction.query("SELECT workload FROM runs WHERE number = $1", &run)? {
            workloads.insert(row.text(0)?);
        }
        transaction.execute(
            "UPDATE runs SET samples = $2, timed = $3, sum_secs = $4, least_secs = $5, most_secs = $6
             WHERE number = $1",
            &parameters(*number, &figures.get(number).copied().unwrap_or_default()),
        )?;
        transaction.execute("DELETE FROM runs WHERE number = $1 AND samples = 0", &run)?;
    }
    for workload in workloads {
        let workload = [text(workload)];
        transaction.execute(
            "UPDATE workloads SET samples = (SELECT coalesce(sum(samples), 0) FROM runs WHERE workload = $1)
             WHERE workload = $1",
            &workload,
        )?;
        transaction.execute("DELETE FROM workloads WHERE workload = $1 AND samples = 0", &workload)?;
    }
    Ok(())
}

/// Assigns the samples of a store of an earlier version to their runs.
pub(super) fn assign_all(transaction: &Transaction<'_>) -> Outcome<()> {
    let read = "SELECT seq, line FROM samples WHERE seq > $1 ORDER BY seq LIMIT $2";
    let write = "UPDATE samples SET run = $2, secs = $3 WHERE seq = $1";
    let mut after = 0_i64;
    let mut numbers = Numbers::default();
    loop {
        let rows = transaction.query(read, &[Value::Integer(after), Value::Integer(BATCH)])?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.integer(0)?;
        let mut samples = Vec::with_capacity(rows.len());
        for mut row in rows {
            let seq = row.integer(0)?;
            // Samples outside the limits belong to no run, as no answer has them.
            let Ok(sample) = parse_line(&row.text(1)?) else { continue };
            samples.push((seq, RunKey::of(&sample)?, sample.completion_time_secs));
        }
        let runs = numbers.of_runs(transaction, &Vec::from_iter(samples.iter().map(|(_, key, _)| key)))?;
        let mut added = Added::default();
        for ((seq, key, secs), run) in samples.iter().zip(runs) {
            transaction.execute(write, &[Value::Integer(*seq), Value::Integer(run), (*secs).into()])?;
            added.count(run, key, *secs);
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
             WHERE samples > 0 AND number > $1 AND (CAST($2 AS TEXT) IS NULL OR model = $2)
                 AND (CAST($3 AS TEXT) IS NULL OR outcome = $3)
             ORDER BY number LIMIT $4";
        let of_filter = [
            Value::Integer(filter.after),
            maybe_text(filter.model.as_deref()),
            maybe_text(filter.outcome.as_deref()),
            Value::Integer(i64::try_from(filter.limit).unwrap_or(i64::MAX)),
        ];
        self.read(query, &of_filter, runs)
    }
}

fn runs(mut row: Row) -> Outcome<Runs> {
    let timed = row.integer(8)?;
    let times = Times {
        mean_secs: row.real(9)? / timed as f64,
        least_secs: row.maybe_real(10)?.unwrap_or(f64::NAN),
        most_secs: row.maybe_real(11)?.unwrap_or(f64::NAN),
    };
    Ok(Runs {
        number: row.integer(0)?,
        workload: row.text(1)?,
        configuration: row.text(2)?,
        sampling_rate: row.real(3)?,
        engine: row.text(4)?,
        outcome: row.text(5)?,
        host: row.text(6)?,
        samples: row.integer(7)?.unsigned_abs(),
        times: (timed > 0).then_some(times),
    })
}
