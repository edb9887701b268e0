//! Benchmark of a decision over one million configurations: prediction, pricing and the Pareto
//! front. The baseline is a hand-written scalar loop with the minimum of that work: one product for
//! the time, two for the cost, and the front to within 0.3 % of time.
//!
//! `make bench` runs it natively and, compiled for wasm32, in a browser.

mod machine_types;
mod many_runs;

use std::hint::black_box;

use foreglow_model::{Limits, Plan, Predictor};
use foreglow_shared::{Context, Job, Observation, Question};
use serde::{Deserialize, Serialize};

pub use crate::machine_types::{MachineFigures, machine_figures};
pub use crate::many_runs::{ManyRunsFigure, many_runs_figures};

/// Numbers of executors and of cores.
const SIDE: u32 = 1000;
const ROUNDS: usize = 15;

/// Median times, milliseconds. Decision and loop alternate within each round.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Figures {
    /// Time of the decision of a fitted predictor, which includes the front.
    pub decision_millis: f64,
    /// Time of the scalar loop.
    pub loop_millis: f64,
    /// Time of fitting the predictor for every kind of question in the decision.
    pub fit_millis: f64,
}

/// Runs the benchmark. `clock` returns milliseconds since an arbitrary epoch.
///
/// # Panics
/// The benchmark's own runs cannot be fitted, which is a bug in the benchmark.
pub fn figures(clock: impl Fn() -> f64) -> Figures {
    let job = job();
    let question = Question {
        executors: (1..=SIDE).collect(),
        cores_per_executor: (1..=SIDE).collect(),
        deadline_secs: Some(600.0),
        ..Question::about(&job.observations)
    };
    let start = clock();
    let predictor = Predictor::fit_job(&job).expect("the runs of the benchmark can be fitted");
    let plan =
        Plan::from_context(predictor.clone(), &job, &question).expect("the question of the benchmark has a plan");
    let decision = plan.decide(&Limits::of(&question)).expect("the question of the benchmark has an answer");
    let fit_millis = clock() - start;
    assert_eq!(decision.compared, (SIDE * SIDE) as usize);
    let (mut ours, mut scalar) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = clock();
        black_box(
            Plan::from_context(predictor.clone(), &job, &question)
                .is_ok_and(|plan| plan.decide(&Limits::of(&question)).is_ok()),
        );
        ours.push(clock() - start);
        let start = clock();
        black_box(scalar_loop(&question));
        scalar.push(clock() - start);
    }
    let (decision_millis, loop_millis) = (median(ours), median(scalar));
    Figures { decision_millis, loop_millis, fit_millis: fit_millis - decision_millis }
}

/// t = a·E^−0.9·C^−0.8 from precomputed powers, cost = t·E·(price of an executor), and the lowest
/// cost per bin of 1/256 octave of time, from which the front is read.
fn scalar_loop(question: &Question) -> usize {
    const STEPS: u32 = 52 - 8;
    let prices = &question.prices;
    let memory = f64::from(question.memory_per_executor_mib) / 1024.0 * prices.gib_hour;
    let across: Vec<f64> = (1..=SIDE).map(|cores| f64::from(cores).powf(-0.8)).collect();
    let second: Vec<f64> = (1..=SIDE).map(|cores| (f64::from(cores) * prices.core_hour + memory) / 3600.0).collect();
    let first = 1e-9_f64.to_bits() >> STEPS;
    let mut least = vec![f64::INFINITY; 1 << 15];
    for executors in 1..=SIDE {
        let executors = f64::from(executors);
        let down = 5000.0 * executors.powf(-0.9);
        for (across, second) in across.iter().zip(&second) {
            let secs = down * across;
            let cost = secs * executors * second;
            let least = &mut least[((secs.to_bits() >> STEPS) - first) as usize];
            if cost < *least {
                *least = cost;
            }
        }
    }
    let mut best = f64::INFINITY;
    let on_front = |cost: &&f64| {
        let is_better = **cost < best;
        best = if is_better { **cost } else { best };
        is_better
    };
    least.iter().filter(on_front).count()
}

/// The question of a plan of several machine types.
pub(crate) const LIMITS: Limits = Limits {
    deadline_secs: Some(600.0),
    budget: None,
    min_accuracy: None,
    max_hourly_cost: None,
    probability: 0.9,
    spot: false,
    startup_secs: 0.0,
};

/// 27 simulated runs on a cluster: parallel work, synchronisation that grows with the number of
/// executors, a constant start-up, and 3 % of deterministic noise.
pub(crate) fn job() -> Job {
    let context: Context = serde_json::from_str(
        r#"{"workload":{"model":"resnet50","mode":"inference","image_px":224,"images":200000,"epochs":1,"batch_size":32},
            "engine":"spark","host":{}}"#,
    )
    .expect("a context is written as this one is");
    let mut observations = Vec::new();
    for executors in [1, 2, 3] {
        for cores_per_executor in [2, 4, 8] {
            for sampling_rate in [0.01, 0.05, 0.1] {
                let (e, c) = (f64::from(executors), f64::from(cores_per_executor));
                let noise = (f64::from(executors * 7 + cores_per_executor * 3) + 1000.0 * sampling_rate).sin() * 0.03;
                let secs = 5000.0 * sampling_rate / (e * c) + 3.0 * sampling_rate * e + 1.0;
                observations.push(Observation {
                    executors,
                    cores_per_executor,
                    total_cores: None,
                    memory_per_executor_mib: 4096,
                    partition_size: 40,
                    sampling_rate,
                    completion_time_secs: secs * (1.0 + noise),
                    startup_secs: None,
                    disturbed: false,
                    log_error: 0.0,
                });
            }
        }
    }
    Job::of_runs(context, observations)
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
