//! `sacct --parsable2`: jobs and their steps, a line each.

use std::collections::BTreeMap;

use foreglow_exit::unusable;
use foreglow_shared::{Outcome, Timestamp};

use super::{BYTES_PER_MIB, Finished, OWN_RUN, mebibytes};
use crate::SLURM_NAME;

/// Required columns; others are ignored.
const COLUMNS: [&str; 8] = ["JobID", "JobName", "State", "ElapsedRaw", "Start", "AllocCPUS", "NTasks", "AllocTRES"];

type Record<'a> = BTreeMap<&'a str, &'a str>;

/// The needed form, for a text that `sacct` wrote in another one.
const OTHER_FORM: &str = "it is the output of sacct in another form, or without its first line; write it with `sacct \
                          --parsable2 --format=JobID,JobName,State,ElapsedRaw,Start,AllocCPUS,NTasks,AllocTRES,\
                          Constraints`";

/// Returns the needed form, if a text is the table or the JSON of `sacct`, or lacks its header.
pub(super) fn other_form(text: &str) -> Option<&'static str> {
    let first = text.lines().next().unwrap_or_default();
    let is_table = first.split_whitespace().next() == Some("JobID");
    let is_json = text.starts_with('{')
        && serde_json::from_str(text).is_ok_and(|value: serde_json::Value| value["jobs"][0]["job_id"].is_number());
    let lacks_header = first.contains('|') && first.split('|').any(|cell| outcome(cell).is_some());
    (is_table || is_json || lacks_header).then_some(OTHER_FORM)
}

/// Returns the finished jobs, and the reasons why others are omitted.
pub(super) fn jobs(text: &str) -> anyhow::Result<(Vec<Finished>, Vec<String>)> {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('|').collect();
    let missing: Vec<&str> = COLUMNS.into_iter().filter(|column| !header.contains(column)).collect();
    if !missing.is_empty() {
        return Err(unusable(format!(
            "the output of sacct lacks {}; write it with `sacct --parsable2 --format={},Constraints`",
            missing.join(", "),
            COLUMNS.join(",")
        )));
    }
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let row: Record<'_> = header.iter().copied().zip(line.split('|')).collect();
        // sacct does not escape the separator, which moves all later values to other columns.
        match line.split('|').count() > header.len() {
            true => notes.push(format!("job {} has a `|` in its name or another column", get(&row, "JobID"))),
            false => rows.push(row),
        }
    }
    let mut jobs = Vec::new();
    for (place, job) in rows.iter().enumerate().filter(|(_, row)| !get(row, "JobID").contains('.')) {
        let id = get(job, "JobID");
        // The first step is that of `srun`; the time of the job includes the start of its script. A
        // job that was requeued is listed once for each start, followed by the steps of that start.
        let own = rows[place + 1..].iter().take_while(|row| get(row, "JobID") != id);
        let step = own.into_iter().find(|row| get(row, "JobID") == format!("{id}.0"));
        match finished(id, job, step) {
            Ok(job) => jobs.push(job),
            Err(reason) => notes.push(format!("job {id} {reason}")),
        }
    }
    Ok((jobs, notes))
}

/// Returns the outcome of a state; `None` if it is not a final state. A state may have an addition:
/// `CANCELLED by 1000`.
fn outcome(state: &str) -> Option<Outcome> {
    Some(match state.split(' ').next().unwrap_or_default() {
        "COMPLETED" => Outcome::Completed,
        "TIMEOUT" | "DEADLINE" => Outcome::TimedOut,
        "OUT_OF_MEMORY" => Outcome::OutOfMemory,
        "FAILED" | "NODE_FAIL" | "BOOT_FAIL" | "CANCELLED" | "PREEMPTED" => Outcome::Failed,
        _ => return None,
    })
}

fn finished(id: &str, job: &Record<'_>, step: Option<&Record<'_>>) -> Result<Finished, &'static str> {
    const NOT_ENDED: &str = "has not ended";
    outcome(get(job, "State")).ok_or(NOT_ENDED)?;
    let step = step.ok_or("has no step of srun")?;
    if get(job, "JobName").starts_with(SLURM_NAME) || get(step, "JobName") == "foreglow" {
        return Err(OWN_RUN);
    }
    // A job completes despite a failed step if its script continues after `srun`. The reason for a
    // cancelled step is only in the state of the job.
    let state = match (get(step, "State"), get(job, "State")) {
        (own, job @ ("TIMEOUT" | "DEADLINE" | "PREEMPTED")) if own.starts_with("CANCELLED") => job,
        (own, _) => own,
    };
    let outcome = outcome(state).ok_or(NOT_ENDED)?;
    let number = |column: &str| get(step, column).parse::<u32>().ok().filter(|number| *number > 0);
    let tasks = number("NTasks").ok_or("has no number of tasks")?;
    let cores = number("AllocCPUS").ok_or("has no number of processors")?;
    let resources: BTreeMap<&str, &str> =
        get(step, "AllocTRES").split(',').filter_map(|resource| resource.split_once('=')).collect();
    let count = gpus(&resources);
    let has_parts = resources.keys().any(|name| name.starts_with("gres/mps") || name.starts_with("gres/shard"));
    let machine = job.get("Constraints").map(|machine| machine.trim()).filter(|machine| !machine.is_empty());
    Ok(Finished {
        name: format!("job {id}"),
        identity: format!("slurm {id} {}", get(job, "Start")),
        outcome,
        reason: (outcome != Outcome::Completed).then(|| format!("state in Slurm: {state}")),
        secs: get(step, "ElapsedRaw").parse().ok().filter(|secs| *secs > 0.0).ok_or("has no duration")?,
        started_at: start(get(step, "Start")).ok_or("has no start")?,
        executors: tasks,
        cores_per_executor: cores / tasks,
        memory_per_executor_mib: resources.get("mem").and_then(|mem| mebibytes(mem, unit_bytes)).map(|mib| mib / tasks),
        has_gpu: count > 0 || has_parts,
        shares_gpus: has_parts || (count > 0 && count < tasks),
        machine: machine.map(str::to_owned),
    })
}

/// Returns the number of GPUs: the total, or else the sum over their types.
fn gpus(resources: &BTreeMap<&str, &str>) -> u32 {
    let count = |text: &&str| text.parse().unwrap_or(1_u32);
    let of_types = || resources.iter().filter(|(name, _)| name.starts_with("gres/gpu:")).map(|(_, text)| count(text));
    resources.get("gres/gpu").map_or_else(|| of_types().fold(0, u32::saturating_add), count)
}

/// Returns the bytes of a unit, which are binary in Slurm.
fn unit_bytes(unit: &str) -> Option<f64> {
    Some(match unit {
        "" => 1.0,
        "K" => 1024.0,
        "M" => BYTES_PER_MIB,
        "G" => 1024.0 * BYTES_PER_MIB,
        "T" => 1024.0 * 1024.0 * BYTES_PER_MIB,
        _ => return None,
    })
}

fn get<'a>(row: &Record<'a>, column: &str) -> &'a str {
    row.get(column).copied().unwrap_or_default()
}

/// Reads a time of sacct, which has no time zone unless `SLURM_TIME_FORMAT` asks for one; the
/// cluster's own is unknown, and only the order of runs depends on it.
fn start(text: &str) -> Option<Timestamp> {
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_of_memory_are_binary() {
        let mib = |text: &str| mebibytes(text, unit_bytes);
        assert_eq!(["4G", "4096M", "1.5G", "1T"].map(mib), [Some(4096), Some(4096), Some(1536), Some(1_048_576)]);
        assert_eq!(["", "x", "4Q", "-1G"].map(mib), [None; 4]);
    }
}
