//! Groups of equal runs, with their number of samples and completion times.
//!
//! Each write updates the figures, so that the time of an answer does not grow with the number of
//! samples.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foreglow_shared::Context;

use super::Store;
use super::encoded::RunKey;
use super::failure::{Failure, Outcome};
use super::figures::{AddedToJob, Sums};
use super::newest::Newest;
use super::row::{Row, Value, maybe_text, text};
use super::transaction::Transaction;
use crate::token::{Hash, hex};

/// Limit on the size of a list of runs or jobs.
pub(super) const MOST_BYTES: usize = 8 << 20;
/// Limit on the size of the keys of runs whose numbers are cached between writes.
const MOST_KEY_BYTES: usize = 8 << 20;
/// Limit on the size of the keys in one query for the numbers of runs.
const LOOK_UP_BYTES: usize = 1 << 20;

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
    /// Outcome of the runs.
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
    /// Fingerprint of the job.
    pub job: Option<String>,
    /// Outcome of the runs.
    pub outcome: Option<String>,
    /// Only runs after this position.
    pub after: i64,
    /// Maximum number.
    pub limit: usize,
}

/// A page of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunsPage {
    /// The runs, in the order of their first sample.
    pub runs: Vec<Runs>,
    /// Whether there are further runs.
    pub has_more: bool,
}

/// Number of a run, and fingerprint of its job.
#[derive(Clone, Debug)]
pub(super) struct RunOfJob {
    pub(super) number: i64,
    pub(super) job: Arc<str>,
}

/// Cache of the numbers of runs between the writes of a connection, because a query for each run
/// takes longer than adding its samples.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    of_key: HashMap<RunKey, RunOfJob>,
    key_bytes: usize,
    /// Version of the database that has these runs.
    version: Option<i64>,
}

/// Increments of runs by the samples of one write, with the jobs of these runs.
#[derive(Debug, Default)]
pub(super) struct Added(BTreeMap<i64, (Arc<str>, Sums)>);

impl Numbers {
    /// Clears the cache if another connection may have renumbered the runs.
    pub(super) fn refresh(&mut self, transaction: &Transaction<'_>) -> Outcome<()> {
        let version = Some(transaction.version()?);
        if version != self.version {
            *self = Self { version, ..Self::default() };
        }
        Ok(())
    }

    /// Returns the run of each key. A run without stored samples gets a new number.
    pub(super) fn of_runs(&mut self, transaction: &Transaction<'_>, keys: &[&RunKey]) -> Outcome<Vec<RunOfJob>> {
        let mut is_unknown = HashSet::new();
        let unknown: Vec<&RunKey> =
            (keys.iter().copied()).filter(|key| !self.of_key.contains_key(*key) && is_unknown.insert(*key)).collect();
        let mut found = HashMap::with_capacity(unknown.len());
        let mut rest = unknown.as_slice();
        while !rest.is_empty() {
            let sizes = rest.iter().scan(0, |bytes, key| {
                let before = *bytes;
                *bytes += key.size_bytes();
                Some(before)
            });
            let (part, others) = rest.split_at(sizes.take_while(|before| *before < LOOK_UP_BYTES).count());
            found.extend(part.iter().copied().zip(look_up(transaction, part)?));
            rest = others;
        }
        let run = |key: &&RunKey| self.of_key.get(*key).or_else(|| found.get(key)).cloned();
        let of_keys = keys.iter().map(|key| run(key).ok_or(Failure::Unexpected(Value::Null))).collect();
        found.into_iter().for_each(|(key, run)| self.keep(key, run));
        of_keys
    }

    /// Caches the number of a run; clears the cache first if it is too large.
    fn keep(&mut self, key: &RunKey, run: RunOfJob) {
        if self.key_bytes + key.size_bytes() > MOST_KEY_BYTES {
            self.of_key.clear();
            self.key_bytes = 0;
        }
        self.key_bytes += key.size_bytes();
        self.of_key.insert(key.clone(), run);
    }
}

/// Reads or assigns the numbers of runs, and their jobs.
fn look_up(transaction: &Transaction<'_>, unknown: &[&RunKey]) -> Outcome<Vec<RunOfJob>> {
    let contexts: Vec<Context> = unknown.iter().map(|key| key.context()).collect::<Result<_, _>>()?;
    let jobs = jobs_of(transaction, &contexts)?;
    let keys: Vec<(&RunKey, &str)> = unknown.iter().zip(&jobs).map(|(key, job)| (*key, &**job)).collect();
    let numbers = transaction.numbers_of(&keys)?;
    Ok(numbers.into_iter().zip(jobs).map(|(number, job)| RunOfJob { number, job }).collect())
}

/// Returns the job of each context, and makes those that are missing. A job has the fingerprint of
/// its context. Two contexts can be made to have the same one: the later job then has a longer key,
/// so that no run counts for the job of another context.
fn jobs_of(transaction: &Transaction<'_>, contexts: &[Context]) -> Outcome<Vec<Arc<str>>> {
    let mut short = BTreeMap::new();
    for context in contexts {
        short.entry(context.fingerprint()).or_insert(context);
    }
    make_jobs(transaction, &short)?;
    let names = Vec::from_iter(short.keys().map(String::as_str));
    let stored: BTreeMap<String, String> = transaction.contexts_of(&names)?.into_iter().collect();
    let (mut jobs, mut long) = (Vec::with_capacity(contexts.len()), BTreeMap::new());
    for context in contexts {
        let mut job = context.fingerprint();
        if !stored.get(&job).is_some_and(|stored| is_of(stored, context)) {
            job.push('-');
            job.push_str(&hex(&Hash::of(&context.key()).0));
            long.insert(job.clone(), context);
        }
        jobs.push(job.into());
    }
    make_jobs(transaction, &long)?;
    Ok(jobs)
}

fn make_jobs(transaction: &Transaction<'_>, jobs: &BTreeMap<String, &Context>) -> Outcome<()> {
    let contexts: Vec<String> = jobs.values().map(serde_json::to_string).collect::<Result<_, _>>()?;
    transaction.make_jobs(&Vec::from_iter(jobs.keys().map(String::as_str).zip(contexts.iter().map(String::as_str))))
}

/// Whether a stored context is this one. The order of its optional fields has no meaning.
fn is_of(stored: &str, context: &Context) -> bool {
    serde_json::from_str::<Context>(stored).is_ok_and(|stored| stored.key() == context.key())
}

impl Added {
    /// Counts the new sample at a position.
    pub(super) fn count(&mut self, run: &RunOfJob, position: i64, secs: Option<f64>) {
        let of_run = self.0.entry(run.number).or_insert_with(|| (Arc::clone(&run.job), Sums::default()));
        of_run.1.count(position, secs);
    }

    pub(super) fn store(&self, transaction: &Transaction<'_>) -> Outcome<()> {
        let mut of_jobs: BTreeMap<&Arc<str>, AddedToJob> = BTreeMap::new();
        for (job, sums) in self.0.values() {
            let new = || AddedToJob { job: Arc::clone(job), samples: 0, latest: 0 };
            let of_job = of_jobs.entry(job).or_insert_with(new);
            of_job.samples += sums.samples;
            of_job.latest = of_job.latest.max(sums.newest.latest());
        }
        transaction.add_to_jobs(&Vec::from_iter(of_jobs.into_values()))?;
        transaction.add_to_runs(&Vec::from_iter(self.0.iter().map(|(run, (_, sums))| (*run, sums))))
    }
}

/// Recomputes the figures of runs from their samples, after some were removed.
pub(super) fn count_again(transaction: &Transaction<'_>, runs: &BTreeSet<i64>) -> Outcome<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let mut figures = transaction.figures_of(runs)?;
    let mut jobs = BTreeSet::new();
    for number in runs {
        let run = [Value::Integer(*number)];
        for mut row in transaction.query("SELECT job FROM runs WHERE number = $1", &run)? {
            jobs.insert(row.text(0)?);
        }
        let Sums { samples, timed, sum, least, most, newest } = figures.remove(number).unwrap_or_default();
        let [samples, timed] = [samples, timed].map(Value::Integer);
        let [run_number] = run.clone();
        transaction.execute(
            "UPDATE runs SET samples = $2, timed = $3, sum_secs = $4, least_secs = $5, most_secs = $6, newest = $7
             WHERE number = $1",
            &[run_number, samples, timed, Value::Real(sum), least.into(), most.into(), text(newest.text())],
        )?;
        transaction.execute("DELETE FROM runs WHERE number = $1 AND samples = 0", &run)?;
    }
    jobs.into_iter().try_for_each(|job| count_job(transaction, &job))
}

/// Recomputes the figures of a job from its runs. The job stays while it has runs, because a writer
/// may have them in its cache.
fn count_job(transaction: &Transaction<'_>, job: &str) -> Outcome<()> {
    let of_job = [text(job)];
    let (mut samples, mut latest) = (0, 0);
    for mut row in transaction.query("SELECT samples, newest FROM runs WHERE job = $1", &of_job)? {
        samples += row.integer(0)?;
        latest = latest.max(Newest::parse(&row.text(1)?)?.latest());
    }
    let update = "UPDATE jobs SET samples = $2, latest = $3 WHERE job = $1";
    transaction.execute(update, &[text(job), Value::Integer(samples), Value::Integer(latest)])?;
    let remove = "DELETE FROM jobs WHERE job = $1 AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.job = jobs.job)";
    transaction.execute(remove, &of_job).map(drop)
}

impl Store {
    /// Returns runs with their figures: at most the limit of the filter, and few enough for an
    /// answer in memory.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn runs(&self, filter: &RunsFilter) -> anyhow::Result<RunsPage> {
        let mut parameters = vec![
            Value::Integer(filter.after),
            maybe_text(filter.model.as_deref()),
            maybe_text(filter.outcome.as_deref()),
            Value::Integer(i64::try_from(filter.limit.saturating_add(1)).unwrap_or(i64::MAX)),
        ];
        parameters.extend(filter.job.as_deref().map(text));
        // Added only with a job, so that the index by job is used.
        let of_job = if filter.job.is_some() { "AND job = $5" } else { "" };
        let query = format!(
            "SELECT number, workload, configuration, sampling_rate, engine, outcome, host, samples, timed, sum_secs,
                 least_secs, most_secs
             FROM runs
             WHERE samples > 0 AND number > $1 AND (CAST($2 AS TEXT) IS NULL OR model = $2)
                 AND (CAST($3 AS TEXT) IS NULL OR outcome = $3) {of_job}
             ORDER BY number LIMIT $4"
        );
        let (mut page, mut bytes) = (RunsPage::default(), 0);
        let read = self.database.each(&query, &parameters, &mut |row| {
            let runs = runs(row)?;
            bytes += runs.workload.len() + runs.configuration.len() + runs.host.len();
            page.has_more = page.runs.len() == filter.limit || (bytes > MOST_BYTES && !page.runs.is_empty());
            if !page.has_more {
                page.runs.push(runs);
            }
            Ok(!page.has_more)
        });
        read.map_err(|failure| self.explain(&failure))?;
        Ok(page)
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
