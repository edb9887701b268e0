//! Whole jobs beside what the runs before them predicted.

use std::collections::BTreeMap;

use foreglow_model::{CheckedRun, Interval, Nearest, checked_run, format_time, median};
use foreglow_shared::{CoreSplit, Outcome, Sample, Timestamp, Uuid, format_count, format_duration};
use serde::Serialize;

use super::{SCHEMA, range};
use crate::output::Format;
use crate::split::with_total;
use crate::table::{aligned, csv_of, narrowing_table};

/// How earlier predictions of whole jobs would have held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HindsightAnswer {
    schema: u32,
    /// All whole jobs, and those of each kind of earlier runs.
    held: Vec<Held>,
    runs: Vec<Run>,
}

/// A whole job that was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Run {
    sample: Uuid,
    job: String,
    started_at: Timestamp,
    #[serde(flatten)]
    split: CoreSplit,
    from: &'static str,
    predicted_secs: f64,
    interval: Option<Interval>,
    completion_time_secs: f64,
    error_percent: f64,
    is_held: Option<bool>,
}

/// Errors and coverage of some of the whole jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Held {
    /// What the earlier runs were; `all` for all whole jobs.
    from: &'static str,
    runs: usize,
    median_error_percent: f64,
    /// Intervals that held the time.
    held: usize,
    /// Intervals.
    intervals: usize,
}

impl Run {
    fn of(checked: &CheckedRun) -> Self {
        let CheckedRun { sample, job, started_at, split, completion_time_secs, predicted_secs, interval, from } =
            checked.clone();
        let (error_percent, is_held) = (100.0 * checked.error(), checked.holds());
        let from = name(from);
        Self {
            sample,
            job,
            started_at,
            split,
            from,
            predicted_secs,
            interval,
            completion_time_secs,
            error_percent,
            is_held,
        }
    }
}

/// Returns the name of a kind of earlier runs.
fn name(from: Nearest) -> &'static str {
    match from {
        Nearest::Hundredth => "up to 2 % of the work",
        Nearest::Tenth => "2 to 20 % of the work",
        Nearest::Half => "over 20 % of the work",
        Nearest::OtherConfiguration => "whole jobs on others",
        Nearest::SameConfiguration => "whole jobs on the same",
    }
}

impl Held {
    fn of(from: &'static str, runs: &[&CheckedRun]) -> Self {
        let errors: Vec<f64> = runs.iter().map(|run| 100.0 * run.error().abs()).collect();
        let held: Vec<bool> = runs.iter().filter_map(|run| run.holds()).collect();
        Self {
            from,
            runs: runs.len(),
            median_error_percent: if errors.is_empty() { 0.0 } else { median(&errors) },
            held: held.iter().filter(|held| **held).count(),
            intervals: held.len(),
        }
    }
}

/// Most whole jobs of which a note says what was predicted.
const MOST_NOTED: usize = 3;

/// Returns notes that say, of whole jobs that were just run, what the runs before them predicted;
/// `samples` are all runs of the same place. The last notes are of the newest jobs.
pub fn predicted_before(new: &[Sample], samples: &[Sample]) -> Vec<String> {
    let is_whole = |sample: &&Sample| sample.sampling_rate >= 1.0 && sample.outcome == Outcome::Completed;
    let wholes: Vec<&Sample> = new.iter().filter(is_whole).collect();
    let newest = &wholes[wholes.len().saturating_sub(MOST_NOTED)..];
    newest.iter().filter_map(|whole| checked_run(whole, samples)).map(|run| Run::of(&run).sentence()).collect()
}

impl HindsightAnswer {
    /// Creates the answer from whole jobs and their predictions.
    pub fn new(checked: &[CheckedRun]) -> Self {
        let mut kinds: BTreeMap<Nearest, Vec<&CheckedRun>> = BTreeMap::new();
        for run in checked {
            kinds.entry(run.from).or_default().push(run);
        }
        let all = Held::of("all", &checked.iter().collect::<Vec<_>>());
        let of_kinds = kinds.iter().map(|(kind, runs)| Held::of(name(*kind), runs));
        Self {
            schema: SCHEMA,
            held: std::iter::once(all).chain(of_kinds).collect(),
            runs: checked.iter().map(Run::of).collect(),
        }
    }

    /// Renders the answer.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn table(&self) -> String {
        if self.runs.is_empty() {
            return "No whole job can be checked: that needs a completed run of a whole job (sampling rate 1) that \
                    started after two runs of the same job on the same machine type.\n"
                .to_owned();
        }
        let columns = aligned(["E × C", "<predicted from", "predicted", "<90 % interval", "took", "off", "<"]);
        let mut jobs: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !jobs.contains(&run.job.as_str()) {
                jobs.push(&run.job);
            }
        }
        let mut text = String::new();
        for job in jobs {
            let rows: Vec<Vec<String>> = self.runs.iter().filter(|run| run.job == job).map(Run::cells).collect();
            text.push_str(&format!("{job}\n\n{}\n", narrowing_table(&columns, &["predicted from"], &rows)));
        }
        for held in &self.held {
            text.push_str(&held.describe());
        }
        text
    }

    fn csv(&self) -> String {
        let columns = "sample,job,started_at,executors,cores_per_executor,from,predicted_secs,\
            lower_secs=interval.lower_secs,upper_secs=interval.upper_secs,completion_time_secs,error_percent,is_held";
        csv_of(&with_total(columns, self.runs.iter().map(|run| run.split)), &self.runs)
    }
}

impl Run {
    /// Says what was predicted and what came.
    fn sentence(&self) -> String {
        let interval = self.interval.as_ref().map_or_else(String::new, |interval| format!(" ({})", range(interval)));
        let outside = if self.is_held == Some(false) { ", outside of the interval" } else { "" };
        format!(
            "{} on {}: predicted {}{interval} from the runs before it, took {}{outside}",
            self.job,
            self.split,
            format_time(Some(self.predicted_secs), self.interval.as_ref()),
            format_duration(self.completion_time_secs),
        )
    }

    fn cells(&self) -> Vec<String> {
        let held = match self.is_held {
            Some(true) => "",
            Some(false) => "outside",
            None => "no interval",
        };
        vec![
            self.split.short(),
            self.from.to_owned(),
            format_time(Some(self.predicted_secs), self.interval.as_ref()),
            self.interval.as_ref().map_or_else(String::new, range),
            format_duration(self.completion_time_secs),
            format!("{:+.1} %", self.error_percent),
            held.to_owned(),
        ]
    }
}

impl Held {
    fn describe(&self) -> String {
        let jobs = format_count(self.runs, "whole job");
        let from = if self.from == "all" { String::new() } else { format!(", from {}", self.from) };
        let held = match self.intervals {
            0 => "no interval".to_owned(),
            intervals => format!("{} of {intervals} in the 90 % interval", self.held),
        };
        format!("{jobs}{from}: median error {:.1} %, {held}.\n", self.median_error_percent)
    }
}
