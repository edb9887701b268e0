//! Benchmark of a decision over 80 machine types with 1,250 configurations each: the work of a page
//! whenever a user moves a slider or edits a price.

use std::hint::black_box;

use foreglow_model::{JointPredictor, Limits, Plan, Space};
use foreglow_shared::{Catalog, JobDefinition, JobGroup};
use serde::{Deserialize, Serialize};

use crate::{LIMITS, job, median};

const MACHINE_TYPES: usize = 80;
/// Numbers of executors and of cores per executor.
const EXECUTORS: u32 = 50;
const CORES: u32 = 25;
const ROUNDS: usize = 25;

/// Median times, milliseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct MachineFigures {
    /// Number of compared configurations.
    pub candidates: usize,
    /// Time of a decision with a new deadline.
    pub deadline_millis: f64,
    /// Time of a decision with a new probability.
    pub probability_millis: f64,
    /// Time of a decision after an edit of a price.
    pub price_millis: f64,
    /// Time of fitting, packing and predicting all configurations, once.
    pub prepare_millis: f64,
}

/// Runs the benchmark. `clock` returns milliseconds since an arbitrary epoch.
///
/// # Panics
/// The benchmark's own runs cannot be fitted, which is a bug in the benchmark.
pub fn machine_figures(clock: impl Fn() -> f64) -> MachineFigures {
    let mut catalog = Catalog::built_in();
    catalog.machines.truncate(MACHINE_TYPES);
    for machine in &mut catalog.machines {
        // Large enough for every configuration, so that all of them are compared.
        (machine.processors, machine.memory_mib) = (64, 1 << 20);
    }
    let jobs = catalog.machines.iter().enumerate().map(|(place, machine)| {
        let mut job = job();
        job.context.host.machine = Some(machine.name.clone());
        let speed = 1.0 + 0.03 * place as f64;
        job.observations.iter_mut().for_each(|run| run.completion_time_secs /= speed);
        job
    });
    let jobs: Vec<_> = jobs.collect();
    let group = JobGroup { definition: JobDefinition::of(&jobs[0].context), jobs, lenders: Vec::new() };
    let space = Space {
        catalog: Some(catalog.clone()),
        executors: (1..=EXECUTORS).collect(),
        cores_per_executor: (1..=CORES).collect(),
        memory_per_executor_mib: Some(4096),
        ..Space::default()
    };
    let start = clock();
    let predictor = JointPredictor::fit(&group).expect("the runs of the benchmark can be fitted");
    let mut plan = Plan::new(predictor, space).expect("the configurations of the benchmark can be compared");
    let prepare_millis = clock() - start;
    let (mut deadlines, mut probabilities, mut prices) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let step = round as f64;
        let timed = |plan: &Plan, limits: &Limits, times: &mut Vec<f64>| {
            let start = clock();
            black_box(plan.decide(limits).is_ok());
            times.push(clock() - start);
        };
        timed(&plan, &Limits { deadline_secs: Some(600.0 + step), ..LIMITS }, &mut deadlines);
        timed(&plan, &Limits { probability: 0.9 + 0.001 * step, ..LIMITS }, &mut probabilities);
        catalog.machines[0].hourly_price *= 1.01;
        plan.reprice(&catalog);
        timed(&plan, &LIMITS, &mut prices);
    }
    MachineFigures {
        candidates: plan.len(),
        deadline_millis: median(deadlines),
        probability_millis: median(probabilities),
        price_millis: median(prices),
        prepare_millis,
    }
}
