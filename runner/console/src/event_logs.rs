//! Event logs of Spark in the place of samples.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use foreglow_event_log::{Log, LogFiles, find, read};
use foreglow_exit::{Temporary, unusable};
use foreglow_import::is_event_log;
use foreglow_shared::{Context, JobGroup, LabelError, Labels, Outcome, Sample, group_by_definition};
use foreglow_spark_log::{NoSample, Run};

use crate::answer::{LogBasis, LoggedUse, PlanAnswer};
use crate::ask::{Source, alone};
use crate::compare::MachineArgs;
use crate::progress::note;
use crate::question::QuestionArgs;
use crate::split::TotalsOfCores;

/// One run of a log.
struct Found {
    /// The run, with its simulated times.
    sample: Sample,
    used: LoggedUse,
}

/// Plans an application from the event logs that a user names in the place of samples; `None` if
/// none of the files is an event log. The work is that of `machines`, or else the largest of the
/// logs.
///
/// # Errors
/// A file is not an event log and another is, no log has a completed run, the logs are of several
/// applications, an option needs runs of a CNN, or the question is invalid.
pub fn plan_logs(
    source: &Source,
    question: &QuestionArgs,
    totals: &TotalsOfCores,
    machines: &MachineArgs,
) -> anyhow::Result<Option<PlanAnswer>> {
    if source.files.is_empty() {
        return Ok(None);
    }
    let folder = Temporary::folder()?;
    let Some(logs) = logs(&source.files, folder.path())? else { return Ok(None) };
    check_options(machines, question, totals)?;
    let (group, basis) = logged_job(source, &logs, machines)?;
    let planned = machines.plan(question, totals, group, None)?;
    Ok(Some(planned.answer()?.with_logs(basis)))
}

/// Returns the runs of a job, and what they used.
fn logged_job(source: &Source, logs: &[LogFiles], machines: &MachineArgs) -> anyhow::Result<(JobGroup, LogBasis)> {
    let logs: Vec<Log> = logs.iter().map(read).collect::<anyhow::Result<_>>()?;
    logs.iter().for_each(|log| log.notes.iter().for_each(|of_log| note(&format!("{}: {of_log}", log.name))));
    let given = given(source, &logs);
    let machine = machine(&machines.machines)?;
    let mut found: Vec<Found> = Vec::new();
    let mut problems: Vec<String> = Vec::new();
    for log in &logs {
        match runs(log, &given, machine) {
            Ok(of_log) => {
                let (runs, left_out): (Vec<_>, Vec<_>) = of_log.into_iter().partition(Result::is_ok);
                found.extend(runs.into_iter().flatten());
                problems.extend(left_out.into_iter().filter_map(Result::err));
            }
            Err(sentence) => problems.push(sentence),
        }
    }
    if found.is_empty() {
        return Err(unusable(problems.first().cloned().unwrap_or_else(|| "the logs have no runs".to_owned())));
    }
    problems.iter().for_each(|problem| note(&format!("left out: {problem}")));
    let mut seen = BTreeSet::new();
    found.retain(|one| seen.insert(one.sample.id));
    found.sort_by_key(|one| one.sample.started_at);
    let samples: Vec<Sample> = found.iter().map(|one| one.sample.clone()).collect();
    let mut group = pick(source, &samples)?;
    found.retain(|one| group.jobs.iter().any(|job| job.context == Context::of(&one.sample)));
    machines.set_work(&mut group);
    Ok((group, LogBasis::new(found.into_iter().map(|one| one.used).collect())))
}

/// Selects the job of all logs with one unit of work; several applications are refused.
fn pick(source: &Source, samples: &[Sample]) -> anyhow::Result<JobGroup> {
    // Without the choice of a name that no log has of its own.
    let model = source.model.clone().filter(|model| samples.iter().any(|sample| sample.workload.model == *model));
    let source = Source { model, ..source.clone() };
    let names: BTreeSet<&str> = samples.iter().map(|sample| sample.workload.model.as_str()).collect();
    let several = group_by_definition(samples).len() > 1;
    if several && names.len() > 1 && source.model.is_none() && source.context.is_none() {
        return Err(unusable(format!(
            "the logs are of several applications: {}; choose one with --model NAME, or give all of them one name with \
             a --model that none has",
            names.into_iter().collect::<Vec<_>>().join(", ")
        )));
    }
    match source.context {
        Some(_) => source.pick(samples).map(alone),
        None => source.group(samples, &|_| true),
    }
}

/// Returns the logs that the files are; `None` if none of them is an event log.
///
/// # Errors
/// A file is not an event log and another is.
fn logs(files: &[PathBuf], folder: &Path) -> anyhow::Result<Option<Vec<LogFiles>>> {
    let is_url =
        |file: &PathBuf| file.to_str().is_some_and(|text| text.starts_with("http:") || text.starts_with("https:"));
    // A pipe can be read only once, and samples need it.
    let is_readable = |file: &PathBuf| is_url(file) || file.is_file() || file.is_dir();
    if !files.iter().all(is_readable) {
        return Ok(None);
    }
    let (mut logs, mut others) = (Vec::new(), Vec::new());
    let mut errors = Vec::new();
    for found in find(files, &[], folder) {
        match found {
            Ok(log) if starts_as_log(&log) => logs.push(log),
            Ok(other) => others.push(other),
            Err(error) => errors.push(error),
        }
    }
    let is_named = |log: &&LogFiles| log.files.first().is_some_and(|file| files.contains(file));
    let Some(first) = logs.first() else {
        let of_server = files.iter().any(is_url).then(|| errors.into_iter().next()).flatten();
        return of_server.map_or(Ok(None), Err);
    };
    if let Some(other) = others.iter().find(is_named) {
        return Err(unusable(format!(
            "{} is not an event log, and {} is one; give logs alone, or convert them with `foreglow import` and give \
             samples alone",
            other.name, first.name
        )));
    }
    match errors.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(Some(logs)),
    }
}

fn starts_as_log(log: &LogFiles) -> bool {
    log.input().ok().and_then(|mut input| input.start().ok()).is_some_and(|start| is_event_log(&start))
}

/// Returns what the user says of all runs: the name of the application, unless it chooses among the
/// names of the logs.
fn given(source: &Source, logs: &[Log]) -> Labels {
    let mut given = Labels::default();
    let Some(model) = &source.model else { return given };
    let has_name = |log: &Log| {
        let of_runs = log.application.runs().ok().into_iter().flatten();
        let labelled = of_runs.into_iter().any(|run| run.labels().get("model") == Some(model));
        labelled || log.application.name.as_ref() == Some(model)
    };
    if !logs.iter().any(has_name) {
        given.set("model", model.clone());
    }
    given
}

/// Returns the machine type on which the user says that the logs ran.
///
/// # Errors
/// There are several.
fn machine(machines: &[String]) -> anyhow::Result<Option<&str>> {
    match machines {
        [] => Ok(None),
        [machine] => Ok(Some(machine)),
        _ => Err(unusable(
            "event logs do not name the machine type on which they ran, so its times on several are unknown; name that \
             one alone with --machines",
        )),
    }
}

/// Returns the runs of a log, and why others are left out.
///
/// # Errors
/// The log has no runs.
fn runs(log: &Log, given: &Labels, machine: Option<&str>) -> Result<Vec<Result<Found, String>>, String> {
    let named = |sentence: String| format!("{}: {sentence}", log.name);
    let runs = log.application.runs().map_err(|error| named(error.to_string()))?;
    Ok(runs.iter().map(|run| found(run, &log.name, given, machine).map_err(named)).collect())
}

fn found(run: &Run<'_>, log: &str, given: &Labels, machine: Option<&str>) -> Result<Found, String> {
    let own = if run.labels().get("model").is_some() { &Labels::default() } else { given };
    let (mut sample, _) = run.sample(own, env!("CARGO_PKG_VERSION")).map_err(|error| match error {
        NoSample::Label(error @ LabelError::Missing(_)) => {
            format!("{error} to `foreglow import`, and plan its samples")
        }
        error => error.to_string(),
    })?;
    if let Some(reason) = run.shortfall().or_else(|| run.unequal_executors()) {
        return Err(format!("it is no completed run: {reason}"));
    }
    // Lost executors and failed attempts are part of what the simulation sees.
    (sample.outcome, sample.reason) = (Outcome::Completed, None);
    if let Some(machine) = machine {
        sample.host.machine.get_or_insert_with(|| machine.to_owned());
    }
    let amount = sample.workload.images_processed() * sample.sampling_rate;
    let unit = sample.workload.noun().to_owned();
    if sample.simulated.is_none() {
        sample.simulated = run.slot_times().map_err(|error| error.to_string())?;
    }
    let used = run.used().filter(|_| sample.simulated.is_some()).ok_or("it does not name its executors")?;
    let remark = run.ending().and_then(|ending| ending.reason);
    let used = LoggedUse::new(log.to_owned(), (amount, unit), used, remark);
    Ok(Found { sample, used })
}

/// Refuses options that need runs of a CNN.
fn check_options(machines: &MachineArgs, question: &QuestionArgs, totals: &TotalsOfCores) -> anyhow::Result<()> {
    let options = [
        ("--batch-size", machines.batch_size.is_some()),
        ("--partition-size", machines.partition_size.is_some()),
        ("--min-accuracy", question.min_accuracy.is_some()),
        ("--total-cores", totals.is_given()),
    ];
    match options.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(unusable(format!("{option} is not for event logs; leave it out"))),
        None => Ok(()),
    }
}
