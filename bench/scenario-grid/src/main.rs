//! Benchmark of the whole published grid of scenario 4-2 with leave-one-out against scikit-learn's
//! `GridSearchCV` over the same grid, folds and 24 samples, each on two cores.
//!
//! `cargo run --release --locked --manifest-path bench/scenario-grid/Cargo.toml -- PYTHON`, where
//! PYTHON is an interpreter with scikit-learn. Without PYTHON it times Foreglow only and writes
//! nothing.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;
use foreglow_model::{Grid, Scenario, ScenarioRow, scenario_row};
use foreglow_shared::{Context, Observation};

const ROUNDS: usize = 3;
const JOBS: &str = "2";

fn main() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let samples = folder.join("samples.csv");
    let observations = read(&samples)?;
    let mut secs = Vec::new();
    let mut row = None;
    for _round in 0..ROUNDS {
        let found = evaluate(&observations)?;
        secs.push(found.t2_secs);
        row = Some(found);
    }
    let row = row.context("there is a round")?;
    secs.sort_by(f64::total_cmp);
    let ours = secs[ROUNDS / 2];
    let mape = row.mape_percent.context("scenario 4-2 has an accuracy on these samples")?;
    eprintln!("foreglow: {secs:.3?} s, MAPE {mape:.3} %");
    for choice in &row.choices {
        eprintln!("  {}: {}, leave-one-out MSE {:.4e}", choice.place, choice.technique, choice.loo_mse);
    }
    let Some(python) = std::env::args().nth(1) else { return Ok(()) };
    let output = Command::new(python).arg(folder.join("peer.py")).arg(&samples).arg(JOBS).output()?;
    anyhow::ensure!(output.status.success(), "peer.py failed: {}", String::from_utf8_lossy(&output.stderr));
    let peer: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| peer[name].as_f64().with_context(|| format!("peer.py gives no {name}"));
    let (peer_secs, peer_mape) = (number("secs")?, number("mape_percent")?);
    eprintln!("{peer:#}");
    let name = format!("scikit-learn {}", peer["scikit_learn"].as_str().unwrap_or_default());
    let entry = |what: &str, unit: &str, ours: f64, theirs: f64| {
        serde_json::json!({
            "name": format!("scenario 4-2, whole grid, 24 samples, leave-one-out: {what}"), "unit": unit,
            "ours": ours, "peer_name": name, "peer": theirs, "ratio": theirs / ours,
        })
    };
    let entries = [entry("time", "s", ours, peer_secs), entry("MAPE at sampling rate 1", "%", mape, peer_mape)];
    let text = serde_json::to_string_pretty(&entries)?;
    let target = folder.join("../../target/bench");
    std::fs::create_dir_all(&target)?;
    std::fs::write(target.join("scenario_grid.json"), &text)?;
    eprintln!("{text}");
    Ok(())
}

fn evaluate(observations: &[Observation]) -> anyhow::Result<ScenarioRow> {
    let context: Context = serde_json::from_value(serde_json::json!({
        "workload": {"model": "inceptionv4", "mode": "inference", "image_px": 299, "images": 10000, "epochs": 1, "batch_size": 32},
        "engine": "spark", "host": {},
    }))?;
    let started = Instant::now();
    let mut clock = || started.elapsed().as_secs_f64();
    let watch = &mut |_, _| ControlFlow::Continue(());
    Ok(scenario_row(Scenario::FourTwo, &context, observations, Grid::Published, &mut clock, watch)?)
}

fn read(path: &PathBuf) -> anyhow::Result<Vec<Observation>> {
    let mut observations = Vec::new();
    for record in csv::Reader::from_path(path)?.deserialize() {
        let (executors, cores_per_executor, sampling_rate, completion_time_secs) = record?;
        observations.push(Observation {
            executors,
            cores_per_executor,
            total_cores: None,
            memory_per_executor_mib: 4096,
            partition_size: 40,
            sampling_rate,
            completion_time_secs,
            startup_secs: None,
            disturbed: false,
            log_error: 0.0,
        });
    }
    Ok(observations)
}
