//! Benchmark of native decisions and predictions, for a machine with few processors and for
//! clusters. `make bench-decide` prints the figures and writes `target/bench/decide.json`. The runs
//! are simulated: a formula with five percent of noise.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Context as _;
use foreglow_model::{Predictor, Setting};
use foreglow_shared::{Context, Job, Observation, Question};
use foreglow_tests::{decide, workspace_dir};
use serde_json::{Value, json};

/// Upper limit for a task on the page's main thread, milliseconds.
const LIMIT_MS: f64 = 50.0;
const ROUNDS: usize = 5;
const PREDICTIONS: u32 = 2_000;

/// Runs of all configurations that fit the processors; `None` is a cluster, which fits all.
fn job(processors: Option<u32>, (executors, cores): (&[u32], &[u32]), rates: &[f64]) -> anyhow::Result<Job> {
    let engine = if processors.is_some() { "local" } else { "spark" };
    let context: Context = serde_json::from_value(json!({
        "workload": { "model": "lenet5", "mode": "inference", "image_px": 28, "images": 1000, "epochs": 1, "batch_size": 8 },
        "engine": engine,
        "host": { "cpu": "simulated", "processors": processors },
    }))?;
    let mut observations = Vec::new();
    for (executors, cores_per_executor) in executors.iter().flat_map(|e| cores.iter().map(|c| (*e, *c))) {
        let slots = executors * cores_per_executor;
        for sampling_rate in rates.iter().copied().filter(|_| processors.is_none_or(|most| slots <= most)) {
            let work = 97.3 * sampling_rate / f64::from(slots).powf(0.9) + 0.011 + 0.02 * f64::from(executors);
            let noise = 1.0 + 0.05 * f64::sin(observations.len() as f64 * 12.9898);
            observations.push(Observation {
                executors,
                cores_per_executor,
                total_cores: None,
                memory_per_executor_mib: 1024,
                partition_size: 8,
                sampling_rate,
                completion_time_secs: work * noise,
                startup_secs: None,
                disturbed: false,
                log_error: 0.0,
            });
        }
    }
    Ok(Job::of_runs(context, observations))
}

fn main() -> anyhow::Result<()> {
    let few: (&[u32], &[u32]) = (&[1, 2, 4, 8], &[1, 2, 4, 8]);
    let (twelve, ten): (Vec<u32>, Vec<u32>) = ((1..=12).collect(), (1..=10).collect());
    let mut entries = Vec::new();
    for (name, job, executors, cores) in [
        ("102,400 configurations of a machine of 2", job(Some(2), (&[1, 2], &[1, 2]), &[0.01, 0.1, 1.0])?, 512, 200),
        ("4,096 of a machine of 64, measured up to 8 × 8", job(Some(64), few, &[0.01, 0.1])?, 64, 64),
        ("4,096 of a cluster, 32 settings", job(None, few, &[0.01, 0.1])?, 64, 64),
        ("4,096 of a cluster, 480 settings", job(None, (&twelve, &ten), &[0.01, 0.02, 0.05, 0.1])?, 64, 64),
    ] {
        let predictor = Predictor::fit_job(&job)?;
        let mut question = Question::about(&job.observations);
        question.executors = (1..=executors).collect();
        question.cores_per_executor = (1..=cores).collect();
        question.deadline_secs = Some(20.0);
        let far = Setting::even(executors, cores, 1.0);
        // The first decision computes the fits that later ones reuse.
        decide(predictor.clone(), &job, &question)?;
        let mut taken = Vec::new();
        for _ in 0..ROUNDS {
            // A clone has the fits, but not the cached grid.
            let fresh = predictor.clone();
            let began = Instant::now();
            black_box(decide(fresh, &job, &question)?);
            taken.push(began.elapsed().as_secs_f64() * 1e3);
        }
        taken.sort_by(f64::total_cmp);
        let began = Instant::now();
        (0..PREDICTIONS).for_each(|_| drop(black_box(predictor.predict(far))));
        let prediction_us = began.elapsed().as_secs_f64() * 1e6 / f64::from(PREDICTIONS);
        let median = *taken.get(ROUNDS / 2).context("there were rounds")?;
        eprintln!("{median:8.2} ms a decision, {prediction_us:6.1} µs a prediction: {name}");
        entries.push(entry(&format!("a decision about {name}"), median));
    }
    let folder = workspace_dir().join("target/bench");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("decide.json"), serde_json::to_string_pretty(&entries)?)?;
    Ok(())
}

fn entry(name: &str, ours: f64) -> Value {
    json!({ "name": name, "unit": "ms", "ours": ours, "peer_name": "limit", "peer": LIMIT_MS, "ratio": LIMIT_MS / ours })
}
