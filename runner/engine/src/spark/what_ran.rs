//! Facts about a run from the application's event log, parsed as in `foreglow import`.

use std::path::Path;

use anyhow::Context as _;
use foreglow_shared::{Outcome, Uuid};
use foreglow_spark_log::{Application, EventLogReader, Run};

use super::stop::{Stop, failed_or_out_of_memory};

/// Label with the ID of a run.
const RUN: &str = "run";

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
