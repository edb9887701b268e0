//! Whole jobs beside what was planned, or what the runs before them predicted.

use foreglow_model::{CheckedGroup, CheckedGroups, CheckedRun, Interval, checked_run, format_time};
use foreglow_shared::{CoreSplit, Outcome, Sample, Timestamp, Uuid, format_duration};
use serde::Serialize;

use super::{SCHEMA, range};
use crate::output::Format;
use crate::split::with_total;
use crate::table::{aligned, csv_of, narrowing_table};

/// How predictions of whole jobs held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HindsightAnswer {
    schema: u32,
    /// All whole jobs, and those of each source of predictions.
    held: Vec<Held>,
    /// The whole jobs of each job.
    jobs: Vec<HeldJob>,
    runs: Vec<Run>,
    #[serde(skip)]
    sentences: Vec<String>,
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
    /// When the plan was made; absent unless its prediction was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned_at: Option<Timestamp>,
    predicted_secs: f64,
    interval: Option<Interval>,
    completion_time_secs: f64,
    error_percent: f64,
    is_held: Option<bool>,
}

/// Errors and coverage of the whole jobs with one source of predictions.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Held {
    /// What the predictions were made from; `all` for all whole jobs.
    from: &'static str,
    #[serde(flatten)]
    group: CheckedGroup,
}

/// Errors and coverage of the whole jobs of one job.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct HeldJob {
    job: String,
    #[serde(flatten)]
    group: CheckedGroup,
}

impl Run {
    fn of(checked: &CheckedRun) -> Self {
        let (error_percent, is_held) = (100.0 * checked.error(), checked.holds());
        let CheckedRun {
            sample,
            job,
            started_at,
            split,
            completion_time_secs,
            predicted_secs,
            interval,
            from,
            planned_at,
        } = checked.clone();
        Self {
            sample,
            job,
            started_at,
            split,
            from: from.name(),
            planned_at,
            predicted_secs,
            interval,
            completion_time_secs,
            error_percent,
            is_held,
        }
    }
}

/// Most whole jobs of which a note says what was predicted.
const MOST_NOTED: usize = 3;

/// Returns notes that say, of whole jobs that were just run, what their kept plans or the runs
/// before them predicted; `samples` are all runs of the same place. The last notes are of the
/// newest jobs.
pub fn predicted_before(new: &[Sample], samples: &[Sample]) -> Vec<String> {
    let is_whole = |sample: &&Sample| sample.sampling_rate >= 1.0 && sample.outcome == Outcome::Completed;
    let wholes: Vec<&Sample> = new.iter().filter(is_whole).collect();
    let newest = &wholes[wholes.len().saturating_sub(MOST_NOTED)..];
    newest.iter().filter_map(|whole| checked_run(whole, samples)).map(|run| Run::of(&run).sentence()).collect()
}

impl HindsightAnswer {
    /// Creates the answer from whole jobs and their predictions.
    pub fn new(checked: &[CheckedRun]) -> Self {
        let groups = CheckedGroups::of(checked);
        let sentences = groups.sentences();
        let by_source = groups.by_source.into_iter().map(|(from, group)| Held { from: from.name(), group });
        Self {
            schema: SCHEMA,
            held: std::iter::once(Held { from: "all", group: groups.all }).chain(by_source).collect(),
            jobs: groups.by_job.into_iter().map(|(job, group)| HeldJob { job, group }).collect(),
            sentences,
            runs: checked.iter().map(Run::of).collect(),
        }
    }

    /// Renders the answer.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn table(&self) -> String {
        if self.runs.is_empty() {
            return "No whole job can be checked: that needs a completed run of a whole job (sampling rate 1) that was \
                    planned with `foreglow plan --keep` or exported, or that started after two runs of the same job \
                    on the same machine type.\n"
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
        self.sentences.iter().for_each(|sentence| text.push_str(&format!("{sentence}\n")));
        text
    }

    fn csv(&self) -> String {
        let columns = "sample,job,started_at,executors,cores_per_executor,from,predicted_secs,\
            lower_secs=interval.lower_secs,upper_secs=interval.upper_secs,completion_time_secs,error_percent,is_held,planned_at";
        csv_of(&with_total(columns, self.runs.iter().map(|run| run.split)), &self.runs)
    }
}

impl Run {
    /// Says what was predicted and what came.
    fn sentence(&self) -> String {
        let interval = self.interval.as_ref().map_or_else(String::new, |interval| format!(" ({})", range(interval)));
        let from = if self.planned_at.is_some() { "" } else { " from the runs before it" };
        let outside = if self.is_held == Some(false) { ", outside of the interval" } else { "" };
        format!(
            "{} on {}: predicted {}{interval}{from}, took {}{outside}",
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
