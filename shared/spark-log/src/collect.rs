//! Adds events to an [`Application`].

use crate::application::{Application, Executor, JobEnd, Loss, ResourceProfile, SparkJob, Stage, TaskFailure};
use crate::event::{self, Measured, StageInfo, TaskEnd};
use crate::kind::Kind;
use foreglow_shared::LABEL_PREFIX;

/// Limit on task indices: a larger one counts as damage, so that it cannot cause a huge allocation.
const MAX_TASKS: u32 = 1 << 24;

/// Limit on the length of a property; longer ones, such as class paths, are dropped.
const MAX_PROPERTY: usize = 4096;

/// Local properties that Spark gives the jobs of a stream: Structured Streaming's and DStreams'.
const STREAM_PROPERTIES: [&str; 2] = ["sql.streaming.queryId", "spark.streaming.internal.batchTime"];

/// Parses one event and adds it.
///
/// # Errors
/// The line is not JSON, or the event lacks a required field.
pub(crate) fn take(application: &mut Application, kind: Kind, line: &str) -> Result<(), serde_json::Error> {
    match kind {
        Kind::TaskEnd => take_task(application, &serde_json::from_str(line)?),
        Kind::LogStart => {
            let event: event::LogStart = serde_json::from_str(line)?;
            application.spark_version = Some(event.spark_version);
        }
        Kind::ApplicationStart => {
            let event: event::ApplicationStart = serde_json::from_str(line)?;
            application.id = event.id;
            application.name = event.name;
            application.started_ms = Some(event.at_ms);
            application.starts = application.starts.saturating_add(1);
        }
        Kind::ApplicationEnd => {
            let event: event::ApplicationEnd = serde_json::from_str(line)?;
            application.ended_ms = Some(event.at_ms);
            application.losses_before_end = application.damage.losses();
        }
        Kind::EnvironmentUpdate => {
            let event: event::EnvironmentUpdate = serde_json::from_str(line)?;
            let kept = |name: &str, value: &str| name.starts_with("spark.") && value.len() <= MAX_PROPERTY;
            application.properties.extend(event.properties.into_iter().filter(|(name, value)| kept(name, value)));
        }
        Kind::ResourceProfileAdded => take_profile(application, &serde_json::from_str(line)?),
        Kind::ExecutorAdded => take_executor(application, serde_json::from_str(line)?),
        Kind::ExecutorRemoved => {
            let event: event::ExecutorRemoved = serde_json::from_str(line)?;
            let loss = Loss { at_ms: event.at_ms, reason: event.reason };
            let there = application.executors.iter_mut().rev().find(|executor| executor.id == event.id);
            if let Some(executor) = there.filter(|executor| executor.loss.is_none()) {
                executor.loss = Some(loss);
            }
        }
        Kind::JobStart => take_job_start(application, serde_json::from_str(line)?),
        Kind::JobEnd => {
            let event: event::JobEnd<'_> = serde_json::from_str(line)?;
            let failure = (event.result.result != "JobSucceeded").then(|| {
                let message = event.result.exception.and_then(|exception| exception.message);
                message.unwrap_or_else(|| event.result.result.into_owned())
            });
            let losses_before = application.damage.losses();
            let end = event.at_ms.map(|at_ms| JobEnd { at_ms, failure, losses_before });
            application.jobs.entry(event.id).or_default().end = end;
        }
        Kind::StageExecutorMetrics => {
            let event: event::StageExecutorMetrics = serde_json::from_str(line)?;
            // The driver's own heap is no memory of an executor, unless the driver runs the tasks.
            let runs_tasks = application.executors.iter().any(|executor| executor.id == event.executor);
            if let Some(stage) = application.stages.get_mut(&event.stage).filter(|_| runs_tasks) {
                rise(&mut stage.totals.peak_heap_bytes, measured(event.metrics.heap_bytes).filter(|bytes| *bytes > 0));
            }
        }
        Kind::StageSubmitted | Kind::StageCompleted => {
            let event: event::StageEvent = serde_json::from_str(line)?;
            take_stage(application, event.info);
        }
    }
    Ok(())
}

fn take_profile(application: &mut Application, event: &event::ResourceProfileAdded) {
    // The cast saturates; Spark writes whole, non-negative amounts.
    let executor = |name: &str| event.executor.get(name).map(|request| request.amount as u64);
    let profile = ResourceProfile {
        cores: executor("cores").and_then(|cores| u32::try_from(cores).ok()),
        memory_mib: executor("memory"),
        overhead_mib: executor("memoryOverhead"),
        task_cpus: event.task.get("cpus").map(|request| request.amount),
    };
    application.profiles.insert(event.id, profile);
}

fn take_executor(application: &mut Application, event: event::ExecutorAdded) {
    let event::ExecutorInfo { host, cores, resources, profile } = event.info;
    let resources = resources.into_iter().map(|(name, resource)| (name, resource.addresses)).collect();
    let executor = Executor { id: event.id, host, cores, resources, profile, added_ms: event.at_ms, loss: None };
    application.executors.push(executor);
}

fn take_job_start(application: &mut Application, event: event::JobStart) {
    let mut properties = event.properties.unwrap_or_default();
    let mut stages = event.stages;
    stages.extend(event.infos.iter().map(|info| info.id));
    stages.sort();
    stages.dedup();
    let job = SparkJob {
        submitted_ms: event.at_ms,
        end: application.jobs.get_mut(&event.id).and_then(|job| job.end.take()),
        stages,
        description: properties.remove("spark.job.description"),
        is_of_stream: STREAM_PROPERTIES.iter().any(|name| properties.contains_key(*name)),
        labels: properties.into_iter().filter(|(name, _)| name.starts_with(LABEL_PREFIX)).collect(),
    };
    application.untimed_jobs += u64::from(job.submitted_ms.is_none());
    application.jobs.insert(event.id, job);
    for info in event.infos {
        // A stage known from an earlier job may be skipped in this one, so the first entry is kept.
        application.stages.entry(info.id).or_insert_with(|| Stage {
            name: info.name,
            parents: info.parents,
            tasks: Some(info.tasks),
            profile: info.profile,
            is_barrier: info.rdds.iter().any(|rdd| rdd.is_barrier),
            ..Stage::default()
        });
    }
}

fn take_stage(application: &mut Application, info: StageInfo) {
    let stage = application.stages.entry(info.id).or_default();
    stage.name = info.name;
    stage.parents = info.parents;
    stage.profile = info.profile;
    stage.is_barrier = info.rdds.iter().any(|rdd| rdd.is_barrier);
    // Later attempts may rerun only the tasks whose output was lost.
    stage.tasks = stage.tasks.max(Some(info.tasks));
    stage.last_attempt = stage.last_attempt.max(info.attempt);
    stage.submitted_ms = earlier(stage.submitted_ms, info.submitted_ms);
    if info.completed_ms.is_some() {
        stage.completed_ms = stage.completed_ms.max(info.completed_ms);
        stage.failure = info.failure;
    }
    for accumulable in info.accumulables {
        let value = accumulable.value.as_ref().and_then(whole_number);
        if let (Some(name), Some(value)) = (accumulable.name.filter(|name| name.starts_with("foreglow.")), value) {
            stage.accumulators.insert(name, value);
        }
    }
}

fn whole_number(value: &serde_json::Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

fn earlier(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
}

fn take_task(application: &mut Application, event: &TaskEnd<'_>) {
    let TaskEnd { reason, info, metrics, executor_metrics, .. } = event;
    if !application.executors.iter().any(|executor| executor.id == info.executor) {
        application.unregistered.insert(info.executor.clone().into_owned());
    }
    let stage = application.stages.entry(event.stage).or_default();
    stage.first_launch_ms = earlier(stage.first_launch_ms, Some(info.launched_ms));
    stage.last_finish_ms = stage.last_finish_ms.max(Some(info.finished_ms));
    let totals = &mut stage.totals;
    let is_killed = info.is_killed || matches!(&*reason.reason, "TaskKilled" | "TaskCommitDenied");
    match &*reason.reason {
        "Success" => totals.succeeded = totals.succeeded.saturating_add(1),
        _ if is_killed => totals.killed = totals.killed.saturating_add(1),
        _ => {
            totals.failed = totals.failed.saturating_add(1);
            totals.failure.get_or_insert_with(|| TaskFailure {
                index: info.index,
                executor: info.executor.clone().into_owned(),
                reason: sentence(reason),
            });
        }
    }
    if let Some(metrics) = metrics {
        add(&mut totals.run_ms, metrics.run_ms);
        add(&mut totals.cpu_ns, metrics.cpu_ns);
        add(&mut totals.gc_ms, metrics.gc_ms);
        add(&mut totals.spilled_bytes, measured(metrics.spilled_bytes));
        rise(&mut totals.peak_execution_bytes, measured(metrics.peak_execution_bytes));
        if let Some(input) = &metrics.input {
            add(&mut totals.read_bytes, measured(input.bytes));
            add(&mut totals.read_rows, measured(input.rows));
        }
    }
    let heap_bytes = executor_metrics.as_ref().and_then(|metrics| measured(metrics.heap_bytes));
    rise(&mut totals.peak_heap_bytes, heap_bytes.filter(|bytes| *bytes > 0));
    let slot_ms = info.finished_ms.checked_sub(info.launched_ms).and_then(|ms| u32::try_from(ms).ok());
    let Some(slot_ms) = slot_ms.filter(|ms| *ms != Stage::UNKNOWN) else {
        application.damage.backward_tasks += 1;
        return;
    };
    // A killed speculative copy held its slot in parallel with the attempt that succeeded, not
    // before it.
    if !is_killed && info.index < MAX_TASKS {
        let index = info.index as usize;
        if stage.task_ms.len() <= index {
            stage.task_ms.resize(index + 1, Stage::UNKNOWN);
        }
        let before = stage.task_ms[index];
        stage.task_ms[index] =
            if before == Stage::UNKNOWN { slot_ms } else { before.saturating_add(slot_ms).min(Stage::UNKNOWN - 1) };
    }
}

fn add(sum: &mut Option<u64>, part: Option<u64>) {
    if let Some(part) = part {
        *sum = Some(sum.unwrap_or(0).saturating_add(part));
    }
}

fn measured(number: Option<Measured>) -> Option<u64> {
    number?.value()
}

fn rise(most: &mut Option<u64>, other: Option<u64>) {
    *most = (*most).max(other);
}

fn sentence(reason: &event::Reason<'_>) -> String {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().trim().to_owned();
    let details =
        [&reason.class, &reason.description, &reason.message, &reason.loss].into_iter().filter_map(Option::as_deref);
    let parts = std::iter::once(reason.reason.as_ref()).chain(details).map(first_line);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}
