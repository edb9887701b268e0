//! The example of the page, read like the command line does.

use std::path::PathBuf;

use anyhow::Context as _;
use foreglow_shared::{Context, Job, Sample, group_by_context, parse_line, read_samples};
use serde_json::Value;

/// The CNN of the job that the page shows first.
const FIRST: &str = "resnet18";

/// Path of the example.
pub fn example() -> PathBuf {
    crate::workspace_dir().join("web/assets/example.jsonl")
}

/// The example's jobs, in the order in which the command line numbers them from 1 (`--context`).
///
/// # Errors
/// The file is missing or invalid.
pub fn example_jobs() -> anyhow::Result<Vec<Job>> {
    Ok(group_by_context(&read_samples(&std::fs::read(example())?)?))
}

/// The job that the page shows first.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its number on the command line.
    pub number: String,
    /// The job.
    pub job: Job,
    /// Its lines of the file.
    pub lines: Vec<String>,
    /// Its samples, in the same order.
    pub samples: Vec<Sample>,
}

/// Reads the job that the page shows first, with its samples.
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

/// Images of the study's data set, which the page's first example asks about.
pub const STUDY_IMAGES: u64 = 200_000;

/// The samples of the page's first example, as JSON Lines of a job over [`STUDY_IMAGES`]: a run has
/// the same images, and thus a smaller share of them.
///
/// # Errors
/// A file is missing or invalid.
pub fn study_lines() -> anyhow::Result<String> {
    let mut lines = String::new();
    for entry in std::fs::read_dir(crate::workspace_dir().join("bench/paper/samples"))? {
        let path = entry?.path();
        if !path.is_file() {
            continue;
        }
        for line in std::fs::read_to_string(path)?.lines() {
            let mut sample: Value = serde_json::from_str(line)?;
            let images = sample["workload"]["images"].as_u64().context("a sample has a number of images")?;
            let rate = sample["sampling_rate"].as_f64().context("a sample has a sampling rate")?;
            sample["sampling_rate"] = (rate * (images as f64 / STUDY_IMAGES as f64)).into();
            sample["workload"]["images"] = STUDY_IMAGES.into();
            lines.push_str(&format!("{sample}\n"));
        }
    }
    Ok(lines)
}
