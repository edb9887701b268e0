//! What a transaction of either database does.

use std::collections::{BTreeSet, HashMap};

use super::encoded::{Encoded, RunKey};
use super::failure::Outcome;
use super::figures::{AddedToJob, Sums};
use super::row::{Row, Value};

/// A transaction that writes. At most one writes at a time over all collectors, so that the
/// positions of samples become visible in order.
pub(super) trait Writes {
    /// Makes a change, and returns the number of rows.
    fn execute(&self, sql: &str, parameters: &[Value]) -> Outcome<usize>;

    fn query(&self, sql: &str, parameters: &[Value]) -> Outcome<Vec<Row>>;

    /// Runs several statements without parameters.
    fn execute_batch(&self, sql: &str) -> Outcome<()>;

    /// Stores the samples with unknown ids in their order, each with the number of its run; returns
    /// the position of each that was stored.
    fn add_samples(&self, samples: &[(&Encoded, i64)]) -> Outcome<Vec<Option<i64>>>;

    /// Returns the ids and lines of the samples that were stored with these ids.
    fn lines_of(&self, ids: &[&str]) -> Outcome<Vec<(String, String)>>;

    /// Returns the numbers of these distinct runs, each given with its job. Runs that the database
    /// lacks get new numbers, in order.
    fn numbers_of(&self, runs: &[(&RunKey, &str)]) -> Outcome<Vec<i64>>;

    /// Adds the jobs, fingerprint and context of each, that the database lacks.
    fn make_jobs(&self, jobs: &[(&str, &str)]) -> Outcome<()>;

    /// Returns the contexts of these jobs, with the job of each.
    fn contexts_of(&self, jobs: &[&str]) -> Outcome<Vec<(String, String)>>;

    /// Adds numbers of new samples to those of their jobs; fails with [`Failure::NoSuchRun`] if the
    /// database lacks one of these.
    fn add_to_jobs(&self, added: &[AddedToJob]) -> Outcome<()>;

    /// Adds the figures of new samples to those of their runs; fails with [`Failure::NoSuchRun`] if
    /// the database lacks one of these.
    fn add_to_runs(&self, added: &[(i64, &Sums)]) -> Outcome<()>;

    /// Returns a number that changes when the numbers of runs may have changed. If it stays the
    /// same although runs were removed, [`add_to_runs`](Self::add_to_runs) fails.
    fn version(&self) -> Outcome<i64>;

    /// Returns the figures of these runs from their samples; runs without samples are omitted.
    fn figures_of(&self, runs: &BTreeSet<i64>) -> Outcome<HashMap<i64, Sums>>;

    fn commit(self: Box<Self>) -> Outcome<()>;

    fn roll_back(self: Box<Self>) {}
}

/// A transaction of either database.
pub(super) type Transaction<'a> = dyn Writes + 'a;
