//! `sacct --parsable2`: jobs and their steps, a line each.

use std::collections::{BTreeMap, BTreeSet};

use foreglow_shared::{Outcome, Timestamp, format_duration};

use super::{BYTES_PER_MIB, Finished, OWN_RUN, Records, mebibytes, refused};
use crate::{Given, Import, ImportError, Importer, Input};

/// Prefix of the names of Slurm's jobs that run `foreglow collect`.
pub const SLURM_NAME: &str = "foreglow-";

/// Required columns; others are ignored.
const COLUMNS: [&str; 8] = ["JobID", "JobName", "State", "ElapsedRaw", "Start", "AllocCPUS", "NTasks", "AllocTRES"];

/// The step that is the batch script.
const BATCH: &str = "batch";
/// Share of the time of the work up to which other work is a helper of it.
const NEGLIGIBLE: f64 = 0.1;

/// One line, by column.
type Record<'a> = BTreeMap<&'a str, &'a str>;

/// Records of Slurm.
pub struct Slurm;

impl Importer for Slurm {
    fn sniff(&self, start: &str) -> bool {
        is_parsable(start) || is_other_form(start)
    }

    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        let bytes = input.bytes()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_start();
        if !is_parsable(text) {
            return Err(refused(format!(
                "it is the output of sacct in another form, or without its first line; write it with `sacct --parsable2 \
                 --format={},Constraints`",
                COLUMNS.join(",")
            )));
        }
        records(text, given.step.as_deref())?.samples(given)
    }
}

/// Whether a text has the header of `sacct --parsable2`.
fn is_parsable(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.split('|').any(|cell| cell == "JobID" || cell == "JobIDRaw"))
}

/// Whether a text is the table or the JSON of `sacct`, has another delimiter, or lacks its header.
fn is_other_form(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let mut words = first.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let is_table = words.next() == Some("JobID") && words.any(|word| word == "JobName" || word == "State");
    let is_json = text.starts_with('{') && text.contains("\"jobs\"") && text.contains("\"job_id\"");
    let lacks_header = first.contains('|') && first.split('|').any(|cell| outcome(cell).is_some());
    is_table || is_json || lacks_header
}

/// Returns the finished jobs, and the reasons why others are omitted.
fn records(text: &str, asked: Option<&str>) -> Result<Records, ImportError> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('|').collect();
    let missing: Vec<&str> = COLUMNS.into_iter().filter(|column| !header.contains(column)).collect();
    if !missing.is_empty() {
        return Err(refused(format!(
            "the output of sacct lacks {}; write it with `sacct --parsable2 --format={},Constraints`",
            missing.join(", "),
            COLUMNS.join(",")
        )));
    }
    let mut records = Records::default();
    let mut rows = Vec::new();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let row: Record<'_> = header.iter().copied().zip(line.split('|')).collect();
        // sacct does not escape the separator, which moves all later values to other columns.
        match line.split('|').count() > header.len() {
            true => records.notes.push(format!("job {} has a `|` in its name or another column", get(&row, "JobID"))),
            false => rows.push(row),
        }
    }
    records.notes.extend(heterogeneous(&rows));
    let jobs = rows.iter().enumerate().filter(|(_, row)| !get(row, "JobID").contains(['.', '+']));
    for (place, job) in jobs {
        let name = format!("job {}", get(job, "JobID"));
        match finished(&name, job, &steps(&rows, place), asked) {
            Ok((job, note)) => {
                records.notes.extend(note.map(|note| format!("{name}: {note}")));
                records.jobs.push(job);
            }
            Err(reason) => records.notes.push(format!("{name} {reason}")),
        }
    }
    Ok(records)
}

/// Returns a remark about each heterogeneous job, whose components are numbered `80+0`, `80+1`.
fn heterogeneous(rows: &[Record<'_>]) -> BTreeSet<String> {
    let jobs = rows.iter().filter_map(|row| get(row, "JobID").split_once('+'));
    jobs.map(|(id, _)| {
        format!(
            "job {id} is heterogeneous: its components have different resources, and a sample has one configuration"
        )
    })
    .collect()
}

/// A step of a job: its name after the job's id, and its line.
type Step<'r, 'a> = (&'a str, &'r Record<'a>);

/// Returns the steps of the job at `place`. A job that was requeued is listed once for each start,
/// followed by the steps of that start.
fn steps<'r, 'a>(rows: &'r [Record<'a>], place: usize) -> Vec<Step<'r, 'a>> {
    let id = get(&rows[place], "JobID");
    let is_start = |row: &&Record<'a>| get(row, "JobID") == id;
    let own: Vec<&Record<'a>> = match rows.iter().filter(is_start).count() {
        1 => rows.iter().collect(),
        _ => rows[place + 1..].iter().take_while(|row| !is_start(row)).collect(),
    };
    let began = start(get(&rows[place], "Start"));
    let is_earlier = |row: &Record<'a>| start(get(row, "Start")).zip(began).is_some_and(|(step, job)| step < job);
    let step = |row: &'r Record<'a>| Some((get(row, "JobID").strip_prefix(id)?.strip_prefix('.')?, row));
    own.into_iter().filter(|row| !is_earlier(row)).filter_map(step).collect()
}

/// Returns the step that did the work of a job, and a remark if it had other work: the step that
/// was asked for, or the one of `srun` that took at least half of the job's time, beside which the
/// others are [`NEGLIGIBLE`]. A script without `srun` is itself the work.
fn work<'r, 'a>(
    job: &Record<'a>,
    steps: &[Step<'r, 'a>],
    asked: Option<&str>,
) -> Result<(Step<'r, 'a>, Option<String>), String> {
    let named = |step: &Step<'_, '_>| {
        format!("{} ({}, {})", step.0, get(step.1, "JobName"), format_duration(secs(step.1).unwrap_or(0.0)))
    };
    let list = |steps: &[&Step<'_, '_>]| steps.iter().map(|step| named(step)).collect::<Vec<_>>().join(", ");
    if let Some(asked) = asked {
        let found = steps.iter().find(|(name, _)| *name == asked);
        let all = || list(&steps.iter().collect::<Vec<_>>());
        return found.map(|step| (*step, None)).ok_or_else(|| format!("has no step {asked}; its steps are {}", all()));
    }
    let of_srun: Vec<&Step<'_, '_>> =
        steps.iter().filter(|(name, _)| name.bytes().all(|byte| byte.is_ascii_digit())).collect();
    if of_srun.is_empty() {
        return script(job, steps);
    }
    let job_secs = secs(job).unwrap_or(0.0);
    let is_work = |step: &&&Step<'_, '_>| {
        let is_long = secs(step.1).is_some_and(|secs| secs >= job_secs / 2.0);
        let mut others = of_srun.iter().filter(|other| other.0 != step.0);
        is_long && others.all(|other| is_negligible(other.1, step.1))
    };
    let Some(step) = of_srun.iter().find(is_work) else {
        return Err(format!(
            "took {}, and which step of srun did its work is unclear: {}; choose one with --step, or the whole script with \
             --step {BATCH}",
            format_duration(job_secs),
            list(&of_srun)
        ));
    };
    let rest_secs = job_secs - secs(step.1).unwrap_or(0.0);
    let note = match of_srun.len() {
        1 if rest_secs <= NEGLIGIBLE * job_secs || get(step.1, "State") != "COMPLETED" => None,
        1 => Some(format!(
            "its step {} is imported, without the {} of the job outside of it; --step {BATCH} imports the whole script",
            named(step),
            format_duration(rest_secs)
        )),
        count => Some(format!("of its {count} steps of srun, {} is imported; --step chooses another", named(step))),
    };
    Ok((**step, note))
}

/// Whether a step is short beside another, in time and in time of its processors.
fn is_negligible(step: &Record<'_>, beside: &Record<'_>) -> bool {
    let times = |row: &Record<'_>| {
        let secs = secs(row).unwrap_or(0.0);
        [secs, secs * get(row, "AllocCPUS").parse().unwrap_or(1.0)]
    };
    times(step).into_iter().zip(times(beside)).all(|(step, beside)| step <= NEGLIGIBLE * beside)
}

/// Returns the batch script of a job without `srun`, and the remark that it counts as the work.
fn script<'r, 'a>(job: &Record<'a>, steps: &[Step<'r, 'a>]) -> Result<(Step<'r, 'a>, Option<String>), String> {
    if steps.is_empty() {
        return Err("has no steps in the file; write it without the option -X (--allocations) of sacct".to_owned());
    }
    let batch = steps.iter().find(|(name, _)| *name == BATCH).ok_or("has no step of srun")?;
    let note = match nodes(job) {
        2.. => format!(
            "it has no step of srun, so that its batch script counts as the work, with one executor on each of its {} \
             nodes",
            nodes(job)
        ),
        _ => "it has no step of srun, so that its batch script counts as one executor with all processors".to_owned(),
    };
    Ok((*batch, Some(note)))
}

/// Returns the outcome of a state; `None` if it is not a final state. A state may have an addition:
/// `CANCELLED by 1000`.
fn outcome(state: &str) -> Option<Outcome> {
    Some(match state.split([' ', '+']).next().unwrap_or_default() {
        "COMPLETED" => Outcome::Completed,
        "TIMEOUT" | "DEADLINE" => Outcome::TimedOut,
        "OUT_OF_MEMORY" => Outcome::OutOfMemory,
        "FAILED" | "NODE_FAIL" | "BOOT_FAIL" | "CANCELLED" | "PREEMPTED" => Outcome::Failed,
        _ => return None,
    })
}

fn finished(
    name: &str,
    job: &Record<'_>,
    steps: &[Step<'_, '_>],
    asked: Option<&str>,
) -> Result<(Finished, Option<String>), String> {
    const NOT_ENDED: &str = "has not ended";
    outcome(get(job, "State")).ok_or(NOT_ENDED)?;
    if get(job, "JobName").starts_with(SLURM_NAME) || steps.iter().any(|(_, row)| get(row, "JobName") == "foreglow") {
        return Err(OWN_RUN.to_owned());
    }
    let durations = std::iter::once(job).chain(steps.iter().map(|(_, row)| *row)).map(|row| get(row, "ElapsedRaw"));
    if let Some(text) = durations.filter(|text| !text.is_empty()).find(|text| text.parse::<u64>().is_err()) {
        return Err(format!("has {text:?} for ElapsedRaw, which must be whole seconds as `sacct` writes them"));
    }
    let ((step_name, step), note) = work(job, steps, asked)?;
    // A job completes despite a failed step if its script continues after `srun`. The reason for a
    // cancelled step is only in the state of the job.
    let state = match (get(step, "State"), get(job, "State")) {
        (own, job @ ("TIMEOUT" | "DEADLINE" | "PREEMPTED")) if own.starts_with("CANCELLED") => job,
        (own, _) => own,
    };
    let outcome = outcome(state).ok_or(NOT_ENDED)?;
    let number = |column: &str| get(step, column).parse::<u32>().ok().filter(|number| *number > 0);
    let tasks = number("NTasks").ok_or("has no number of tasks (NTasks)")?;
    let cores = number("AllocCPUS").ok_or("has no number of processors (AllocCPUS)")?;
    let shared = |count: u32, what: &str| match count % tasks {
        0 => Ok(count / tasks),
        _ => Err(format!("has {count} {what} for {tasks} tasks (NTasks), which is no whole number each")),
    };
    let cores_per_executor = shared(cores, "processors (AllocCPUS)")?;
    let mut resources = resources(step);
    let mut node_count = nodes(step);
    let mut executors = tasks;
    if step_name == BATCH {
        // Older versions of Slurm record GPUs only for the job.
        resources.extend(self::resources(job).into_iter().filter(|(name, _)| name.starts_with("gres/")));
        // The script itself is on the first node, and its record has the resources of that one.
        node_count = nodes(job);
        executors = tasks.saturating_mul(node_count);
    }
    let count = gpus(&resources);
    let has_parts = resources.keys().any(|name| name.starts_with("gres/mps") || name.starts_with("gres/shard"));
    let machine = job.get("Constraints").map(|machine| machine.trim()).filter(|machine| !machine.is_empty());
    let finished = Finished {
        name: name.to_owned(),
        identity: format!("slurm {} {}", get(job, "JobID"), get(job, "Start")),
        outcome,
        reason: (outcome != Outcome::Completed).then(|| format!("state in Slurm: {state}")),
        secs: secs(step).ok_or("has no duration (ElapsedRaw)")?,
        started_at: start(get(step, "Start")).ok_or("has no start (Start)")?,
        executors,
        cores_per_executor,
        memory_per_executor_mib: resources.get("mem").and_then(|mem| mebibytes(mem, unit_bytes)).map(|mib| mib / tasks),
        memory_field: "mem in AllocTRES",
        gpus_per_executor: match count {
            _ if has_parts || count < executors => 0,
            _ if count.is_multiple_of(executors) => count / executors,
            _ => {
                return Err(format!(
                    "has {count} GPUs (gres/gpu in AllocTRES) for {executors} processes, which is no whole number each"
                ));
            }
        },
        nodes: Some(node_count),
        has_gpu: count > 0 || has_parts,
        gpu_type: resources.keys().find_map(|name| name.strip_prefix("gres/gpu:")).map(str::to_owned),
        shares_gpus: has_parts || (count > 0 && count < executors),
        machine: machine.map(str::to_owned),
    };
    Ok((finished, note))
}

fn resources<'a>(row: &Record<'a>) -> BTreeMap<&'a str, &'a str> {
    get(row, "AllocTRES").split(',').filter_map(|resource| resource.split_once('=')).collect()
}

/// Returns the number of nodes, from 1.
fn nodes(row: &Record<'_>) -> u32 {
    resources(row).get("node").and_then(|nodes| nodes.parse().ok()).unwrap_or(1).max(1)
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

fn secs(row: &Record<'_>) -> Option<f64> {
    get(row, "ElapsedRaw").parse().ok().filter(|secs| *secs > 0.0)
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
