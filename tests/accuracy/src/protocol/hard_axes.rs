//! Questions that runs of small samples or few workers hardly determine: simulated jobs whose
//! start-up depends on the configuration, and training on more GPUs than measured.

use foreglow_model::{Column, Dataset, Features, Repeats, Roles, Term};
use foreglow_shared::{Mode, Observation};

use crate::chance::Chance;
use crate::protocol::simulated::{configurations, observation, runs};
use crate::protocol::splits::{Splits, TablePart};
use crate::protocol::{Part, Protocol, Set, Source};
use crate::table::Spec;
use crate::trial::{JobTrial, TableTrial, Trial};

const START_UP: Set = Set { name: "Simulated start-up", is_development: true, source: Source::Project };
const WORKERS: Set = Set { name: "Simulated workers", is_development: true, source: Source::Project };
const TENSORFLOW: Set = Set { name: "TensorFlow 2017, 1 to 8 GPUs", is_development: true, source: Source::Shared };
const GAVEL: Set = Set { name: "Gavel, 1 to 8 GPUs", is_development: true, source: Source::Shared };

const DRAWS: u64 = 20;
/// Parallel work of the whole job, seconds.
const WORK: f64 = 116.0;

/// A start-up of `constant` seconds plus `divided` seconds divided by the executors or the cores.
#[derive(Clone, Copy)]
struct StartUp {
    constant: f64,
    divided: f64,
    by_executors: bool,
}

/// How a job scales with its workers, at most 8.
#[derive(Clone, Copy)]
enum Scaling {
    /// Replicas that average gradients around a ring, on nodes of this size.
    Ring { node: f64 },
    /// Cores, of which the last four are hardware threads of the first four.
    HyperThreads,
}

impl Scaling {
    /// Returns the name of the workers.
    fn workers(self) -> &'static str {
        match self {
            Self::Ring { .. } => "gpus",
            Self::HyperThreads => "cores",
        }
    }
}

/// Returns every protocol.
pub fn protocols() -> Vec<Protocol> {
    let start_up = |constant, divided, by_executors| StartUp { constant, divided, by_executors };
    let simulated = [
        ("5 s + 5 s/E, 1 % noise", start_up(5.0, 5.0, true), 0.01),
        ("22 s/E, 1 % noise", start_up(0.0, 22.0, true), 0.01),
        ("22 s/C, 1 % noise", start_up(0.0, 22.0, false), 0.01),
        ("22 s, 1 % noise", start_up(22.0, 0.0, true), 0.01),
        ("22 s, 5 % noise", start_up(22.0, 0.0, true), 0.05),
        ("60 s, 5 % noise", start_up(60.0, 0.0, true), 0.05),
    ];
    let mut protocols = Vec::new();
    for (name, law, noise) in simulated {
        let rates: &[&'static [f64]] =
            if noise > 0.02 { &[&[0.01, 0.1]] } else { &[&[0.01, 0.03, 0.1], &[0.03, 0.05, 0.1]] };
        for rates in rates {
            let percent: Vec<String> = rates.iter().map(|rate| (100.0 * rate).round().to_string()).collect();
            protocols.push(Protocol {
                slowed_trials: 0,
                quick_trials: 5,
                ..of_draws(START_UP, format!("{name}: {} % → whole job", percent.join(", ")), move || {
                    [false, true]
                        .map(|is_job| (0..DRAWS).map(|draw| whole_jobs(law, noise, rates, draw, is_job)).collect())
                        .into()
                })
            });
        }
    }
    let scaling = [
        ("ring, 8 GPUs in a node", Scaling::Ring { node: 8.0 }),
        ("ring, 4 GPUs in a node", Scaling::Ring { node: 4.0 }),
        ("hyper-threads", Scaling::HyperThreads),
    ];
    for (name, law) in scaling {
        let workers = law.workers();
        for counts in [&[1.0, 2.0][..], &[1.0, 2.0, 4.0]] {
            let most = counts[counts.len() - 1];
            protocols.push(Protocol {
                slowed_trials: 0,
                quick_trials: 5,
                ..of_draws(WORKERS, format!("{name}: 1 to {most} → 8 {workers}"), move || {
                    vec![(0..DRAWS).map(|draw| more_workers(law, counts, draw)).collect()]
                })
            });
        }
    }
    for (counts, name) in [(&[1, 2][..], "1 and 2"), (&[1, 2, 4], "1, 2 and 4")] {
        let name = format!("training, samples on {name} GPUs → whole job on 8");
        let trials = move || (0..2 * DRAWS).map(|draw| samples_on_gpus(counts, draw)).collect();
        protocols.push(of_draws(WORKERS, name, move || vec![trials()]));
    }
    protocols.extend(public());
    protocols
}

fn of_draws(set: Set, name: String, trials: impl Fn() -> Vec<anyhow::Result<Vec<Trial>>> + Sync + 'static) -> Protocol {
    Protocol {
        set,
        name,
        parts: Box::new(move |_| {
            trials().into_iter().map(|trials| Ok(Part { command: Vec::new(), trials: trials? })).collect()
        }),
        slowed_trials: 0,
        quick_trials: 5,
        is_costly: false,
        limit_secs: None,
    }
}

/// Samples of a 3 × 3 grid, tested on the whole jobs: as runs of a job, or as a table in which only
/// the executors are known to be workers.
fn whole_jobs(start_up: StartUp, noise: f64, rates: &[f64], draw: u64, is_job: bool) -> anyhow::Result<Trial> {
    let mut chance = Chance::new(&[21, draw, (1000.0 * (start_up.constant + noise)) as u64]);
    let mut run = |(executors, cores): (u32, u32), rate: f64| {
        let (e, c) = (f64::from(executors), f64::from(cores));
        let fixed = start_up.constant + start_up.divided / if start_up.by_executors { e } else { c };
        let secs = (fixed + WORK * rate / (e * c)) * libm::exp(noise * chance.normal());
        observation((executors, cores), rate, secs)
    };
    let mut fit = Vec::new();
    for configuration in configurations() {
        fit.extend(rates.iter().map(|rate| run(configuration, *rate)));
    }
    let test: Vec<Observation> = configurations().into_iter().map(|configuration| run(configuration, 1.0)).collect();
    if is_job {
        return Ok(Trial::Job(JobTrial { job: runs(fit), test, repeats: Repeats::Median }));
    }
    let table = |runs: &[Observation]| -> anyhow::Result<Dataset> {
        let column =
            |name: &str, value: fn(&Observation) -> f64| Column::numeric(name, runs.iter().map(value).collect(), None);
        let features = Features::new(vec![
            column("E", |run| f64::from(run.executors)),
            column("C", |run| f64::from(run.cores_per_executor)),
            column("SR", |run| run.sampling_rate),
        ])?;
        let secs = runs.iter().map(|run| run.completion_time_secs).collect();
        Ok(Dataset::new(features, secs, vec![false; runs.len()])?)
    };
    let roles = Roles { machines: Some(Term::new("E")), data_size: Some(Term::new("SR")), ..Roles::default() };
    Ok(Trial::Table(TableTrial { fit: table(&fit)?, test: table(&test)?, repeats: Repeats::Median, roles }))
}

/// Six jobs on few workers, tested on eight.
fn more_workers(law: Scaling, counts: &[f64], draw: u64) -> anyhow::Result<Trial> {
    let mut chance = Chance::new(&[22, draw, counts.len() as u64]);
    let node = chance.between(0.1, 0.6);
    let column = law.workers();
    let (mut fit, mut test) = (Vec::new(), Vec::new());
    for job in 0..6 {
        let compute = libm::exp(chance.between(0.0, 3.0));
        let share = chance.between(0.02, 0.5);
        for workers in counts.iter().chain(&[8.0]) {
            let secs = match law {
                Scaling::Ring { node: size } => {
                    let step = if *workers > size { node } else { 0.0 };
                    compute * (1.0 + (share + step) * (workers - 1.0) / workers) / workers
                }
                Scaling::HyperThreads => {
                    let cores = workers.min(4.0) + 0.3 * (workers - 4.0).max(0.0);
                    compute * (0.2 * share + (1.0 - 0.2 * share) / cores)
                }
            };
            let row = (job, *workers, secs * libm::exp(0.02 * chance.normal()));
            if *workers < 8.0 { fit.push(row) } else { test.push(row) }
        }
    }
    let table = |rows: &[(i32, f64, f64)]| -> anyhow::Result<Dataset> {
        let features = Features::new(vec![
            Column::category("job", rows.iter().map(|row| format!("job {}", row.0))),
            Column::numeric(column, rows.iter().map(|row| row.1).collect(), None),
        ])?;
        Ok(Dataset::new(features, rows.iter().map(|row| row.2).collect(), vec![false; rows.len()])?)
    };
    let roles = Roles { machines: Some(Term::new(column)), ..Roles::default() };
    Ok(Trial::Table(TableTrial { fit: table(&fit)?, test: table(&test)?, repeats: Repeats::Median, roles }))
}

/// A training job on few GPUs: samples of three sizes, tested on the whole job on 8 GPUs.
fn samples_on_gpus(counts: &[u32], draw: u64) -> anyhow::Result<Trial> {
    let mut chance = Chance::new(&[23, draw, counts.len() as u64]);
    let (start_up, compute) = (chance.between(2.0, 20.0), libm::exp(chance.between(5.0, 8.0)));
    let share = chance.between(0.02, 0.5);
    let mut run = |gpus: u32, sampling_rate: f64| {
        let w = f64::from(gpus);
        let secs = start_up + sampling_rate * compute * (1.0 + share * (w - 1.0) / w) / w;
        observation((gpus, 1), sampling_rate, secs * libm::exp(0.02 * chance.normal()))
    };
    let fit = counts.iter().flat_map(|gpus| [0.01, 0.03, 0.1].map(|rate| (*gpus, rate)));
    let fit: Vec<Observation> = fit.map(|(gpus, rate)| run(gpus, rate)).collect();
    let mut job = runs(fit);
    job.context.workload.mode = Mode::Training;
    job.context.accelerator = Some("a GPU".to_owned());
    Ok(Trial::Job(JobTrial { job, test: vec![run(8, 1.0)], repeats: Repeats::Median }))
}

/// Public measurements: more GPUs, and a new type of GPU.
fn public() -> Vec<Protocol> {
    let part = |file: &str, target, features: &[&'static str], only: &[&str], splits| TablePart {
        spec: Spec {
            file: format!("gpu_scaling/{file}"),
            target,
            features: features.to_vec(),
            only: only.iter().map(|condition| (*condition).to_owned()).collect(),
            ..Spec::default()
        },
        splits,
        roles: Roles { machines: Some(Term::new("gpus")), batch_size: Some(Term::new("batch")), ..Roles::default() },
        ..TablePart::default()
    };
    let tensorflow = |splits| {
        let features = ["platform", "data", "model", "batch", "gpus"];
        part("tensorflow_2017.csv", "t", &features, &["gpus<=8"], splits)
    };
    // The models that were measured on several GPUs, on GPUs of one node.
    let only = [
        "gpu!=k80_unconsolidated",
        "gpu!=p100_unconsolidated",
        "gpu!=v100_unconsolidated",
        "model!=A3C",
        "model!=CycleGAN",
        "model!=Recommendation",
    ];
    let gavel = |splits| part("gavel.csv", "s_per_1000", &["gpu", "model", "batch", "gpus"], &only, splits);
    let new_gpu = |own| Splits::NewValue { column: "gpu", own, draws: 3 };
    let beside_one = |own| {
        let only = [&only[..], &["gpu!=p100"]].concat();
        part("gavel.csv", "s_per_1000", &["gpu", "model", "batch", "gpus"], &only, new_gpu(own))
    };
    let more = |most: u32, asked: u32| Splits::conditions(&[&format!("gpus<={most}")], &[&format!("gpus={asked}")]);
    let questions = [
        (TENSORFLOW, "1 and 2 GPUs → 8", tensorflow(more(2, 8))),
        (TENSORFLOW, "1, 2 and 4 GPUs → 8", tensorflow(more(4, 8))),
        (GAVEL, "1 and 2 GPUs → 4", gavel(more(2, 4))),
        (GAVEL, "1 and 2 GPUs → 8", gavel(more(2, 8))),
        (GAVEL, "1 to 4 GPUs → 8", gavel(more(4, 8))),
        (GAVEL, "new GPU type, 3 own runs", gavel(new_gpu(3))),
        (GAVEL, "new GPU type, 1 own run", gavel(new_gpu(1))),
        (GAVEL, "new GPU type, no own run", gavel(new_gpu(0))),
        (GAVEL, "new GPU type beside one other, 3 own runs", beside_one(3)),
        (GAVEL, "new GPU type beside one other, 1 own run", beside_one(1)),
    ];
    questions.into_iter().map(|(set, name, part)| Protocol::of_tables(set, name, vec![part])).collect()
}
