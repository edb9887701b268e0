//! Jobs: samples that differ only in their configuration, so that one predictor can be fitted to
//! them.

use std::collections::BTreeMap;

use foreglow_shared::{Context, Job, Uuid, parse_line};

use super::Store;
use super::failure::Outcome;
use super::newest::Newest;
use super::row::{Row, Value, text};
use super::runs::MOST_BYTES;

/// Limit on the runs of a job that are read, equal to the planner's limit.
pub const MOST_RUNS: usize = 5_000;
/// Samples per read, each of at most 64 KiB.
const BATCH: usize = 64;

/// A job and its number of samples.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedJob {
    /// Fingerprint of the context.
    pub job: String,
    /// Context of all samples, JSON.
    pub context: String,
    /// Number of samples.
    pub samples: u64,
    /// Position of the newest sample.
    pub latest: i64,
}

/// A page of jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct JobPage {
    /// The jobs with the newest samples, the newest first.
    pub jobs: Vec<ListedJob>,
    /// Whether there are further jobs.
    pub has_more: bool,
}

/// The runs of a job that a predictor is fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRuns {
    /// At most the newest [`MOST_EQUAL`](super::MOST_EQUAL) of equal runs, and [`MOST_RUNS`] in
    /// all.
    pub job: Job,
    /// Number of all runs that completed, ran out of memory or were stopped.
    pub runs: u64,
}

/// New samples of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Fingerprint of the job.
    pub job: String,
    /// Number of samples.
    pub samples: usize,
}

impl Store {
    /// Returns jobs with samples, those with the newest samples first. `before` is the position of
    /// the newest sample of the job after which the list continues.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn jobs(&self, before: Option<i64>, limit: usize) -> anyhow::Result<JobPage> {
        let query = "SELECT job, context, samples, latest FROM jobs WHERE samples > 0 AND latest < $1
             ORDER BY latest DESC LIMIT $2";
        let most = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
        let parameters = [Value::Integer(before.unwrap_or(i64::MAX)), Value::Integer(most)];
        let mut page = JobPage { jobs: Vec::new(), has_more: false };
        let mut bytes = 0;
        self.each(query, &parameters, &mut |row| {
            let job = listed(row)?;
            bytes += job.context.len();
            page.has_more = page.jobs.len() == limit || (bytes > MOST_BYTES && !page.jobs.is_empty());
            if !page.has_more {
                page.jobs.push(job);
            }
            Ok(!page.has_more)
        })?;
        Ok(page)
    }

    /// Returns the runs of the job with this fingerprint; `None` if it is unknown.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn job(&self, fingerprint: &str) -> anyhow::Result<Option<JobRuns>> {
        let of_job = [text(fingerprint)];
        let query = "SELECT job, context, samples, latest FROM jobs WHERE job = $1 AND samples > 0";
        let Some(found) = self.read(query, &of_job, listed)?.pop() else { return Ok(None) };
        let mut job = Job::of_runs(serde_json::from_str::<Context>(&found.context)?, Vec::new());
        // Failed runs are excluded, because other failures do not depend on the configuration.
        let query = "SELECT samples, newest FROM runs WHERE job = $1 AND samples > 0 AND outcome <> 'failed'";
        let (mut newest, mut runs) = (Vec::new(), 0);
        self.each(query, &of_job, &mut |mut row| {
            runs += row.integer(0)?.unsigned_abs();
            newest.push(Newest::parse(&row.text(1)?)?);
            Ok(true)
        })?;
        for part in positions(&newest).chunks(BATCH) {
            for line in self.lines_at(part)? {
                // Skips samples outside the limits, from an earlier version.
                if let Ok(sample) = parse_line(&line) {
                    job.add(&sample);
                }
            }
        }
        job.sort_runs();
        Ok(Some(JobRuns { job, runs }))
    }

    /// Returns the id of the newest sample; `None` if the store is empty, or the id is damaged.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn last_id(&self) -> anyhow::Result<Option<String>> {
        let ids = self.read("SELECT id FROM samples ORDER BY seq DESC LIMIT 1", &[], |mut row| Ok(row.id(0)))?;
        Ok(ids.into_iter().flatten().next().map(|id| id.to_string()))
    }

    /// Returns the jobs of the samples between two positions, with the position of the last of
    /// these, and the last id that is not damaged.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn arrived_after(
        &self,
        position: i64,
        until: i64,
        most: usize,
    ) -> anyhow::Result<(Vec<Arrived>, i64, Option<Uuid>)> {
        let query = "SELECT samples.seq, samples.id, runs.job FROM samples JOIN runs ON runs.number = samples.run
             WHERE samples.seq > $1 AND samples.seq <= $2 ORDER BY samples.seq LIMIT $3";
        let most = Value::Integer(i64::try_from(most).unwrap_or(i64::MAX));
        let (mut counts, mut end, mut last) = (BTreeMap::<String, usize>::new(), position, None);
        self.each(query, &[Value::Integer(position), Value::Integer(until), most], &mut |mut row| {
            (end, last) = (row.integer(0)?, row.id(1).or(last));
            *counts.entry(row.text(2)?).or_default() += 1;
            Ok(true)
        })?;
        Ok((counts.into_iter().map(|(job, samples)| Arrived { job, samples }).collect(), end, last))
    }

    /// Returns the samples at at most [`BATCH`] positions.
    fn lines_at(&self, positions: &[i64]) -> anyhow::Result<Vec<String>> {
        let places: Vec<String> = (1..=BATCH).map(|place| format!("${place}")).collect();
        let query = format!("SELECT line FROM samples WHERE seq IN ({})", places.join(", "));
        // No sample has the position 0.
        let positions = positions.iter().copied().chain(std::iter::repeat(0)).take(BATCH);
        self.read(&query, &Vec::from_iter(positions.map(Value::Integer)), |mut row| row.text(0))
    }

    fn each(
        &self,
        query: &str,
        parameters: &[Value],
        visit: &mut dyn FnMut(Row) -> Outcome<bool>,
    ) -> anyhow::Result<()> {
        self.database.each(query, parameters, visit).map_err(|failure| self.explain(&failure))
    }
}

/// Returns the positions of the samples to read, with the same number for each run if it has
/// enough.
fn positions(newest: &[Newest]) -> Vec<i64> {
    let count = |most: usize| newest.iter().map(|newest| newest.len().min(most)).sum::<usize>();
    let most = (1..=super::MOST_EQUAL).rev().find(|most| count(*most) <= MOST_RUNS).unwrap_or(1);
    let mut positions: Vec<i64> = newest.iter().flat_map(|newest| newest.newest_first().take(most)).collect();
    positions.sort_unstable_by(|a, b| b.cmp(a));
    positions.truncate(MOST_RUNS);
    positions.reverse();
    positions
}

fn listed(mut row: Row) -> Outcome<ListedJob> {
    let (samples, latest) = (row.integer(2)?.unsigned_abs(), row.integer(3)?);
    Ok(ListedJob { job: row.text(0)?, context: row.text(1)?, samples, latest })
}
