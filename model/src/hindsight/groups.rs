//! How often the predictions of whole jobs held: in all, by what they were made from, and by job.

use std::collections::BTreeMap;

use foreglow_shared::format_count;
use serde::Serialize;

use super::{CheckedRun, PredictedFrom};
use crate::median;

/// Errors and coverage of the predictions of some whole jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedGroup {
    /// Number of whole jobs.
    pub runs: usize,
    /// Median of the absolute errors, percent; 0 without whole jobs.
    pub median_error_percent: f64,
    /// Intervals that held the time.
    pub held: usize,
    /// Intervals.
    pub intervals: usize,
}

/// Errors and coverage of the predictions of whole jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedGroups {
    /// All whole jobs.
    pub all: CheckedGroup,
    /// Those of each source of predictions.
    pub by_source: Vec<(PredictedFrom, CheckedGroup)>,
    /// Those of each job, by its title, in the order of their first runs.
    pub by_job: Vec<(String, CheckedGroup)>,
}

impl CheckedGroup {
    fn of(runs: &[&CheckedRun]) -> Self {
        let errors: Vec<f64> = runs.iter().map(|run| 100.0 * run.error().abs()).collect();
        let held: Vec<bool> = runs.iter().filter_map(|run| run.holds()).collect();
        Self {
            runs: runs.len(),
            median_error_percent: if errors.is_empty() { 0.0 } else { median(&errors) },
            held: held.iter().filter(|held| **held).count(),
            intervals: held.len(),
        }
    }

    /// Describes the group, with what its predictions were made from, or which job it is of.
    fn describe(&self, of: &str) -> String {
        let jobs = format_count(self.runs, "whole job");
        let held = match self.intervals {
            0 => "no interval".to_owned(),
            intervals => format!("{} of {intervals} in the 90 % interval", self.held),
        };
        format!("{jobs}{of}: median error {:.1} %, {held}.", self.median_error_percent)
    }
}

impl CheckedGroups {
    /// Groups the whole jobs.
    pub fn of(checked: &[CheckedRun]) -> Self {
        let mut by_source: BTreeMap<PredictedFrom, Vec<&CheckedRun>> = BTreeMap::new();
        let mut by_job: Vec<(String, Vec<&CheckedRun>)> = Vec::new();
        for run in checked {
            by_source.entry(run.from).or_default().push(run);
            match by_job.iter_mut().find(|(job, _)| *job == run.job) {
                Some((_, runs)) => runs.push(run),
                None => by_job.push((run.job.clone(), vec![run])),
            }
        }
        Self {
            all: CheckedGroup::of(&checked.iter().collect::<Vec<_>>()),
            by_source: by_source.into_iter().map(|(from, runs)| (from, CheckedGroup::of(&runs))).collect(),
            by_job: by_job.into_iter().map(|(job, runs)| (job, CheckedGroup::of(&runs))).collect(),
        }
    }

    /// Returns a sentence for each group; a single job is the group of all.
    pub fn sentences(&self) -> Vec<String> {
        let by_source = self.by_source.iter().map(|(from, group)| group.describe(&format!(", from {}", from.name())));
        let by_job = self.by_job.iter().filter(|_| self.by_job.len() > 1);
        let by_job = by_job.map(|(job, group)| group.describe(&format!(" of {job}")));
        std::iter::once(self.all.describe("")).chain(by_source).chain(by_job).collect()
    }
}
