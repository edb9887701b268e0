//! Foreglow's own runs: the built-in example with one repeat of each small sample, tested on the
//! whole jobs.

use std::collections::BTreeMap;

use anyhow::Context as _;
use foreglow_model::Repeats;
use foreglow_shared::{Job, Observation, group_by_context, read_samples};

use crate::chance::Chance;
use crate::protocol::{Part, Places, Protocol, Set, Source};
use crate::trial::{JobTrial, Trial};

/// The example's jobs, by CNN and mode.
pub const JOBS: [(&str, &str); 4] =
    [("resnet18", "inference"), ("mobilenet_v2", "inference"), ("resnet18", "training"), ("mobilenet_v2", "training")];
/// Number of draws of one repeat per cell.
const DRAWS: u64 = 50;

pub const SET: Set = Set { name: "Own runs", is_development: true, source: Source::Project };

/// Returns one protocol per job.
pub fn protocols() -> Vec<Protocol> {
    let protocol = |(model, mode): (&'static str, &'static str)| Protocol {
        set: SET,
        name: format!("{model} {mode}, one repeat of 1 % and 10 % → whole job"),
        parts: Box::new(move |places| Ok(vec![part(places, model, mode)?])),
        slowed_trials: DRAWS as usize,
        quick_trials: 12,
        is_costly: false,
        limit_secs: None,
    };
    JOBS.into_iter().map(protocol).collect()
}

/// Returns the runs of a CNN in one mode.
///
/// # Errors
/// The example cannot be read, or lacks the job.
pub fn job(places: &Places, model: &str, mode: &str) -> anyhow::Result<Job> {
    let file = places.project.join("web/assets/example.jsonl");
    let bytes = std::fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let jobs = group_by_context(&read_samples(&bytes)?);
    let is_meant = |job: &Job| {
        let workload = &job.context.workload;
        workload.model == model && serde_json::to_value(workload.mode).is_ok_and(|value| value == mode)
    };
    jobs.into_iter().find(is_meant).with_context(|| format!("the example has no {model} {mode}"))
}

fn part(places: &Places, model: &str, mode: &str) -> anyhow::Result<Part> {
    let job = job(places, model, mode)?;
    let (samples, whole): (Vec<Observation>, Vec<Observation>) =
        job.observations.iter().partition(|run| run.sampling_rate < 1.0);
    let mut cells: BTreeMap<Cell, Vec<Observation>> = BTreeMap::new();
    for run in samples {
        cells.entry(cell(&run)).or_default().push(run);
    }
    let trial = |draw: u64| {
        let mut chance = Chance::new(&[1, draw]);
        let observations = cells.values().map(|cell| cell[chance.place(cell.len())]).collect();
        let job = Job { observations, ..job.clone() };
        Trial::Job(JobTrial { job, test: whole.clone(), repeats: Repeats::Median })
    };
    Ok(Part { command: Vec::new(), trials: (0..DRAWS).map(trial).collect() })
}

/// Executors, cores and the sampling rate.
type Cell = (u32, u32, u64);

/// Returns the setting of a run.
pub fn cell(run: &Observation) -> Cell {
    (run.executors, run.cores_per_executor, run.sampling_rate.to_bits())
}
