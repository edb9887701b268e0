//! The example that comes with the page, as the command line reads it.

use std::path::PathBuf;

use anyhow::Context as _;
use foreglow_shared::{Context, Job, Sample, group_by_context, parse_line, read_samples};

/// What the page shows first of it.
const FIRST: &str = "resnet18";

/// The file.
pub fn example() -> PathBuf {
    crate::workspace_dir().join("web/assets/example.jsonl")
}

/// Its jobs, as the command line numbers them from 1 (`--context`).
///
/// # Errors
/// The file is missing or holds something else.
pub fn example_jobs() -> anyhow::Result<Vec<Job>> {
    Ok(group_by_context(&read_samples(&std::fs::read(example())?)?))
}

/// The job that the page shows first.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its number on the command line.
    pub number: String,
    /// What was measured.
    pub job: Job,
    /// Its lines of the file.
    pub lines: Vec<String>,
    /// Its samples, in the same order.
    pub samples: Vec<Sample>,
}

/// That job with its samples.
///
/// # Errors
/// As [`example_jobs`].
pub fn example_shown() -> anyhow::Result<Shown> {
    let jobs = example_jobs()?;
    let place = jobs.iter().position(|job| job.context.workload.model == FIRST);
    let place = place.with_context(|| format!("the example has no {FIRST}"))?;
    let (number, job) = ((place + 1).to_string(), jobs[place].clone());
    let mut shown = Shown { number, job, lines: Vec::new(), samples: Vec::new() };
    for line in std::fs::read_to_string(example())?.lines() {
        let sample = parse_line(line)?;
        if Context::of(&sample) == shown.job.context {
            shown.lines.push(line.to_owned());
            shown.samples.push(sample);
        }
    }
    Ok(shown)
}
