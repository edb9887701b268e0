//! Simulated 3 × 3 grids with a known law, and a straight line with one slow run.

use foreglow_model::{Column, Dataset, Features, Repeats, Roles, Term};
use foreglow_shared::{Context, Job, Observation};
use serde_json::json;

use crate::chance::Chance;
use crate::protocol::{Part, Protocol, Set, Source};
use crate::trial::{JobTrial, TableTrial, Trial};

/// Executors and cores of the grid.
const COUNTS: [u32; 3] = [1, 2, 4];
/// Sampling rates of the samples.
const RATES: [f64; 3] = [0.01, 0.03, 0.1];
/// Standard deviation of ln t.
const NOISE: f64 = 0.03;
const DRAWS: u64 = 40;

/// Laws that are typical of CNN jobs.
const AMDAHL: Set = Set { name: "Simulated 3 × 3 grids", is_development: true, source: Source::Project };
/// Other laws.
const OTHER: Set = Set { name: "Simulated 3 × 3 grids, other laws", is_development: false, source: Source::Project };
const LINE: Set = Set { name: "Line with one slow run", is_development: true, source: Source::Project };

/// Dependence of a job's time on executors, cores and images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    /// A serial part and a part divided by all cores (Amdahl, 1967).
    Amdahl,
    /// The same, plus an all-reduce of each step: proportional to the images and to log₂ E.
    Communication,
    /// Whole rounds of whole partitions.
    Rounds,
    /// Contention and coherence (Gunther's universal scalability law).
    Coherence,
    /// Executors and cores to powers below 1.
    Powers,
}

/// Returns every protocol on simulated runs.
pub fn protocols() -> Vec<Protocol> {
    let laws = [
        (AMDAHL, Law::Amdahl, "Amdahl"),
        (AMDAHL, Law::Communication, "Amdahl and communication"),
        (OTHER, Law::Rounds, "rounds of partitions"),
        (OTHER, Law::Coherence, "contention and coherence"),
        (OTHER, Law::Powers, "powers of E and C"),
    ];
    let mut protocols = Vec::new();
    for (set, law, name) in laws {
        let question = |name: String, trial: fn(Law, u64) -> Trial| Protocol {
            set,
            name,
            parts: Box::new(move |_| {
                Ok(vec![Part { command: Vec::new(), trials: (0..DRAWS).map(|draw| trial(law, draw)).collect() }])
            }),
            slowed_trials: DRAWS as usize,
            quick_trials: 10,
            is_costly: false,
            limit_secs: None,
        };
        protocols.push(question(format!("{name}: 1, 3 and 10 % → whole job"), from_samples));
        protocols.push(question(format!("{name}: whole jobs, 2 of 9 configurations left out"), left_out));
    }
    for factor in [1.0, 1.2, 1.5, 2.0, 3.0, 10.0] {
        protocols.push(Protocol {
            set: LINE,
            name: format!("one run at 30 % slowed ×{factor}"),
            parts: Box::new(move |_| Ok(vec![Part { command: Vec::new(), trials: vec![line(factor)?] }])),
            slowed_trials: 0,
            quick_trials: 1,
            is_costly: false,
            limit_secs: None,
        });
    }
    protocols
}

/// A job with the parameters of its law.
pub(super) struct Simulated {
    law: Law,
    fixed_secs: f64,
    secs: f64,
    serial: f64,
    communication: f64,
    partitions: f64,
    powers: (f64, f64),
}

impl Simulated {
    pub(super) fn draw(law: Law, chance: &mut Chance) -> Self {
        Self {
            law,
            fixed_secs: libm::exp(chance.between(-2.5, 1.0)),
            secs: libm::exp(chance.between(4.0, 8.0)),
            serial: chance.between(0.0, 0.15),
            communication: chance.between(0.0, 0.05),
            partitions: chance.between(200.0, 2_000.0).round(),
            powers: (chance.between(0.7, 1.0), chance.between(0.55, 1.0)),
        }
    }

    fn secs(&self, executors: u32, cores: u32, rate: f64) -> f64 {
        let (e, c) = (f64::from(executors), f64::from(cores));
        let (threads, work) = (e * c, self.secs * rate);
        let amdahl = work * (self.serial + (1.0 - self.serial) / threads);
        self.fixed_secs
            + match self.law {
                Law::Amdahl => amdahl,
                Law::Communication => amdahl + work * self.communication * libm::log2(e),
                Law::Rounds => {
                    let rounds = ((self.partitions * rate).ceil() / threads).ceil();
                    self.secs / self.partitions * rounds * libm::pow(c, 1.0 - self.powers.1)
                }
                Law::Coherence => {
                    let slowdown =
                        1.0 + self.serial * (threads - 1.0) + 0.1 * self.communication * threads * (threads - 1.0);
                    work * slowdown / threads
                }
                Law::Powers => work / (libm::pow(e, self.powers.0) * libm::pow(c, self.powers.1)),
            }
    }

    pub(super) fn run(
        &self,
        (executors, cores_per_executor): (u32, u32),
        sampling_rate: f64,
        chance: &mut Chance,
    ) -> Observation {
        let secs = self.secs(executors, cores_per_executor, sampling_rate) * libm::exp(NOISE * chance.normal());
        observation((executors, cores_per_executor), sampling_rate, secs)
    }
}

/// Returns a run of a simulated job.
pub(super) fn observation((executors, cores_per_executor): (u32, u32), sampling_rate: f64, secs: f64) -> Observation {
    Observation {
        executors,
        cores_per_executor,
        total_cores: None,
        memory_per_executor_mib: 4096,
        partition_size: 8,
        sampling_rate,
        completion_time_secs: secs,
        startup_secs: None,
        disturbed: false,
        log_error: 0.0,
    }
}

pub(super) fn configurations() -> Vec<(u32, u32)> {
    COUNTS.iter().flat_map(|executors| COUNTS.iter().map(move |cores| (*executors, *cores))).collect()
}

/// Samples of every configuration, tested on the whole jobs.
fn from_samples(law: Law, draw: u64) -> Trial {
    let mut chance = Chance::new(&[2, law as u64, draw]);
    let job = Simulated::draw(law, &mut chance);
    let mut fit = Vec::new();
    for configuration in configurations() {
        fit.extend(RATES.iter().map(|rate| job.run(configuration, *rate, &mut chance)));
    }
    let test = configurations().into_iter().map(|configuration| job.run(configuration, 1.0, &mut chance)).collect();
    Trial::Job(JobTrial { job: runs(fit), test, repeats: Repeats::Median })
}

/// Whole jobs on seven configurations, tested on the two others.
fn left_out(law: Law, draw: u64) -> Trial {
    let mut chance = Chance::new(&[3, law as u64, draw]);
    let job = Simulated::draw(law, &mut chance);
    let all: Vec<Observation> =
        configurations().into_iter().map(|configuration| job.run(configuration, 1.0, &mut chance)).collect();
    let out = chance.places(all.len(), 2);
    let side =
        |tested: bool| (0..all.len()).filter(|place| out.contains(place) == tested).map(|place| all[place]).collect();
    Trial::Job(JobTrial { job: runs(side(false)), test: side(true), repeats: Repeats::Median })
}

pub(super) fn runs(observations: Vec<Observation>) -> Job {
    let context: Context = serde_json::from_value(json!({
        "workload": { "model": "resnet18", "mode": "inference", "image_px": 64, "images": 100_000, "epochs": 1, "batch_size": 8 },
        "engine": "local",
        "host": {},
    }))
    .expect("the context of a simulated job has every field");
    Job::of_runs(context, observations)
}

/// Executors and cores, the sampling rate, and seconds.
type LineRun = ((u32, u32), f64, f64);

/// An exactly linear job: 9 configurations at 1, 3 and 10 %, and one slow run at 30 %.
fn line(factor: f64) -> anyhow::Result<Trial> {
    let secs = |(e, c): (u32, u32), rate: f64| 300.0 * rate / f64::from(e * c) + 0.2;
    let mut fit: Vec<LineRun> = Vec::new();
    for configuration in configurations() {
        fit.extend(RATES.iter().map(|rate| (configuration, *rate, secs(configuration, *rate))));
    }
    fit.push(((2, 2), 0.3, secs((2, 2), 0.3) * factor));
    let test = configurations().into_iter().map(|configuration| (configuration, 1.0, secs(configuration, 1.0)));
    let table = |rows: &[LineRun]| -> anyhow::Result<Dataset> {
        let column =
            |name: &str, value: fn(&LineRun) -> f64| Column::numeric(name, rows.iter().map(value).collect(), None);
        let features = Features::new(vec![
            column("E", |row| f64::from(row.0.0)),
            column("C", |row| f64::from(row.0.1)),
            column("SR", |row| row.1),
        ])?;
        Ok(Dataset::new(features, rows.iter().map(|row| row.2).collect(), vec![false; rows.len()])?)
    };
    let roles = Roles { machines: Some(Term::new("E")), data_size: Some(Term::new("SR")), ..Roles::default() };
    let test = table(&test.collect::<Vec<_>>())?;
    Ok(Trial::Table(TableTrial { fit: table(&fit)?, test, repeats: Repeats::Median, roles }))
}
