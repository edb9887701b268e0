//! What ran, from the event log, against what was asked.

use foreglow_shared::Resources;
use foreglow_shared::event_log::{Application, Executor, Job, MEASURED, TaskTotals};

/// Stands before the words of our own in Spark's.
const OUR_FAILURE: &str = "foreglow.ExecutorFailed: ";

/// The timed job of that number in an application, from 0; `None` while the log does not have its end.
pub fn timed_job(application: &Application, number: usize) -> Option<&Job> {
    let is_timed = |job: &&Job| job.description.as_deref() == Some(MEASURED);
    application.jobs.values().filter(is_timed).nth(number).filter(|job| job.end.is_some())
}

/// The completion time of a job, seconds: from its submission to its end.
///
/// # Errors
/// Something else ran than was asked, or not all of it: the sentence says what.
pub fn completion_time(application: &Application, job: &Job, asked: Resources, partitions: u64) -> Result<f64, String> {
    let (Some(start_ms), Some(end)) = (job.submitted_ms, &job.end) else {
        return Err("the event log does not say when the job began".to_owned());
    };
    if let Some(failure) = &end.failure {
        return Err(format!("the job failed: {}", sentence(failure)));
    }
    check_executors(application, start_ms, end.at_ms, asked)?;
    let tasks = tasks(application, job);
    if tasks.failed > 0 || tasks.killed > 0 {
        let why = tasks.failure.map_or_else(|| "no reason is known".to_owned(), |failure| sentence(&failure.reason));
        let again = tasks.failed + tasks.killed;
        return Err(format!("tasks that failed and ran again: {again} of {partitions}; the first: {why}"));
    }
    if u64::from(tasks.succeeded) != partitions {
        let succeeded = tasks.succeeded;
        return Err(format!("the job has {partitions} partitions, and the event log {succeeded} tasks that succeeded"));
    }
    let ms = end.at_ms - start_ms;
    if ms <= 0 {
        return Err(format!("the job ended {ms} ms after its start; the clock of the driver's machine was set"));
    }
    Ok(ms as f64 / 1000.0)
}

/// Every executor was there from the first task to the last, and of the size that was asked for.
fn check_executors(application: &Application, start_ms: i64, end_ms: i64, asked: Resources) -> Result<(), String> {
    let there: Vec<&Executor> = application.executors_at(start_ms).filter(|executor| executor.id != "driver").collect();
    let lost = application.executors.iter().find_map(|executor| {
        let loss = executor.loss.as_ref().filter(|loss| (start_ms..=end_ms).contains(&loss.at_ms))?;
        Some(format!("executor {} was lost during the run: {}", executor.id, first_line(&loss.reason)))
    });
    if let Some(lost) = lost {
        return Err(lost);
    }
    let cores: Vec<u32> = there.iter().map(|executor| executor.cores).collect();
    let Resources { executors, cores_per_executor, memory_per_executor_mib, .. } = asked;
    if cores.len() != executors as usize || cores.iter().any(|cores| *cores != cores_per_executor) {
        let (count, ran) = (cores.len(), cores.iter().map(u32::to_string).collect::<Vec<_>>().join(", "));
        return Err(format!(
            "{executors} executors of {cores_per_executor} cores were asked for, and {count} ran (cores: {ran})"
        ));
    }
    match application.executor_memory_mib() {
        Some(memory) if memory != u64::from(memory_per_executor_mib) => Err(format!(
            "executors of {memory_per_executor_mib} MiB were asked for, and those that ran have {memory} MiB"
        )),
        _ => Ok(()),
    }
}

fn tasks(application: &Application, job: &Job) -> TaskTotals {
    let stages = job.stages.iter().filter_map(|stage| application.stages.get(stage));
    stages.fold(TaskTotals::default(), |sum, stage| TaskTotals {
        succeeded: sum.succeeded + stage.totals.succeeded,
        failed: sum.failed + stage.totals.failed,
        killed: sum.killed + stage.totals.killed,
        failure: sum.failure.or_else(|| stage.totals.failure.clone()),
        ..sum
    })
}

/// Spark's words about a failure: those of our own executor where they are in them, or else the first line.
pub fn sentence(words: &str) -> String {
    let ours = words.rsplit_once(OUR_FAILURE).map_or(words, |(_, ours)| ours);
    let line = first_line(ours);
    // A report of the protocol.
    let report = serde_json::from_str::<crate::executor::protocol::Report>(line);
    match report {
        Ok(crate::executor::protocol::Report::Failed { reason, .. }) => reason,
        _ => line.to_owned(),
    }
}

fn first_line(words: &str) -> &str {
    words.lines().next().unwrap_or_default().trim()
}
