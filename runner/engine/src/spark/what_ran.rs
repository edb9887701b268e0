//! Facts about a run from the application's event log, parsed as in `foreglow import`.

use std::path::Path;

use anyhow::Context as _;
use foreglow_protocol::Report;
use foreglow_shared::{Outcome, Uuid};
use foreglow_spark_log::{Application, EventLogReader, Run};

use super::run::{Stop, failed_or_out_of_memory};

/// Label with the ID of a run.
const RUN: &str = "run";
/// Prefix of the executor's own message in Spark's.
const OUR_FAILURE: &str = "foreglow.ExecutorFailed: ";

/// Reads the log of an application that is running or has ended.
///
/// # Errors
/// The log cannot be read.
pub fn read_log(log: &Path) -> anyhow::Result<Application> {
    let in_progress = log.with_added_extension("inprogress");
    let bytes = std::fs::read(&in_progress)
        .or_else(|_| std::fs::read(log))
        .with_context(|| format!("the event log {} could not be read", log.display()))?;
    let mut reader = EventLogReader::new();
    reader.push(&bytes);
    reader.finish().with_context(|| format!("{} could not be read", log.display()))
}

/// Returns the run with this ID; `None` until the log has the end of all its jobs.
pub fn timed_run(application: &Application, id: Uuid) -> Option<Run<'_>> {
    let name = id.to_string();
    let is_it = |run: &Run<'_>| run.labels().get(RUN) == Some(name.as_str()) && run.missing_jobs() == 0;
    application.runs().ok()?.into_iter().find(is_it)
}

/// Returns the completion time of a run, seconds.
///
/// # Errors
/// The run deviates from the requested configuration, or tasks were repeated.
pub fn completion_time(run: &Run<'_>) -> Result<f64, Stop> {
    let ending = run.ending().ok_or_else(|| failed_or_out_of_memory("the event log names no executor"))?;
    match ending.outcome {
        Outcome::Completed => Ok(run.completion_time_secs()),
        Outcome::OutOfMemory => Err(Stop::Ended(Outcome::OutOfMemory, None, ending.reason.unwrap_or_default())),
        _ => Err(failed_or_out_of_memory(&ending.reason.unwrap_or_default())),
    }
}

/// Shortens Spark's message about a failure to one line with the executor's own message, which is
/// on the first line or, if a barrier stage failed, on a later one.
pub fn sentence(words: &str) -> String {
    let mut lines = words.lines().map(str::trim);
    let first = lines.clone().next().unwrap_or_default();
    let Some((before, ours)) = lines.find_map(|line| line.rsplit_once(OUR_FAILURE)) else { return first.to_owned() };
    let ours = match serde_json::from_str(ours) {
        Ok(Report::Failed { reason, .. }) => reason,
        _ => ours.to_owned(),
    };
    let before = before.trim_end().trim_end_matches("ExceptionFailure:").trim_end();
    if before.is_empty() { ours } else { format!("{before} {ours}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executors_own_message_is_extracted() {
        let told = [
            (
                "Job aborted: Lost task 0.3 (TID 6) (10.0.0.1 executor 0): foreglow.ExecutorFailed: it ended (signal: 9)",
                "Job aborted: Lost task 0.3 (TID 6) (10.0.0.1 executor 0): it ended (signal: 9)",
            ),
            (r#"foreglow.ExecutorFailed: {"failed":{"partition":null,"reason":"no such CNN"}}"#, "no such CNN"),
            ("task 3: ExceptionFailure: foreglow.ExecutorFailed: it ended", "task 3: it ended"),
            ("All masters are unresponsive! Giving up.\nat x", "All masters are unresponsive! Giving up."),
            (
                "Job aborted: barrier task ResultTask(5, 0) finished unsuccessfully.\nforeglow.ExecutorFailed: it ended\nat x",
                "it ended",
            ),
        ];
        for (words, expected) in told {
            assert_eq!(sentence(words), expected);
        }
    }
}
