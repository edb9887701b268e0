//! Benchmark of the published grid of scenario 4-2 in the planner and in the native program: `make
//! bench-grid-page`
//!
//! The page runs in a real browser with the 24 samples of `bench/scenario-grid`: its button
//! "Compare all learners" runs the scenarios in a worker, and its table reports their times. The
//! native program evaluates the same file on one core and on two. Writes
//! `target/bench/scenario_grid_page.json`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_tests::{Browser, FileHost, foreglow, workspace_dir};
use serde_json::{Value, json};
use thirtyfour::prelude::*;

const ROUNDS: usize = 3;
const SCENARIO: &str = "4-2";
const PATIENCE: Duration = Duration::from_secs(600);

/// t2 in seconds, and the printed accuracy.
type Took = (f64, String);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("samples.jsonl");
    std::fs::write(&file, samples(&workspace_dir().join("bench/scenario-grid/samples.csv"))?)?;
    let (mut page, mut ones, mut twos) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        page.push(in_page(&file).await?);
        ones.push(native(&file, "0")?);
        twos.push(native(&file, "0,1")?);
    }
    let accuracy = &page[0].1;
    anyhow::ensure!(page.iter().chain(&ones).chain(&twos).all(|took| took.1 == *accuracy), "the accuracies differ");
    let ours = median(&page);
    let entry = |peer_name: &str, peer: f64| {
        json!({
            "name": "scenario 4-2, whole grid, 24 samples, leave-one-out: time in the planner, which has one thread",
            "unit": "s", "ours": ours, "peer_name": peer_name, "peer": peer, "ratio": peer / ours,
        })
    };
    let entries = [entry("native, 1 core", median(&ones)), entry("native, 2 cores", median(&twos))];
    let text = serde_json::to_string_pretty(&entries)?;
    let target = workspace_dir().join("target/bench");
    std::fs::create_dir_all(&target)?;
    std::fs::write(target.join("scenario_grid_page.json"), &text)?;
    eprintln!("{text}");
    Ok(())
}

/// The samples with sampling rates below 1, and one of the whole job for testing the scenarios.
fn samples(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path)?;
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|line| line.split(',').map(str::parse).collect()).collect::<Result<_, _>>()?;
    let (whole, part): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row[2] == 1.0);
    let line = |(number, row): (usize, &&Vec<f64>)| {
        json!({
            "schema": 1, "id": format!("00000000-0000-7000-8000-{number:012}"),
            "workload": {
                "model": "inceptionv4", "mode": "inference", "image_px": 299, "images": 10000, "epochs": 1, "batch_size": 32,
            },
            "configuration": {
                "executors": row[0] as u32, "cores_per_executor": row[1] as u32, "memory_per_executor_mib": 4096,
                "partition_size": 40, "accelerator": null,
            },
            "sampling_rate": row[2], "outcome": "completed", "completion_time_secs": row[3],
            "engine": "spark", "runner_version": "0.1.0", "host": {}, "started_at": "2026-11-21T10:00:00Z",
        })
        .to_string()
    };
    let lines: Vec<String> = part.iter().chain(whole.first()).enumerate().map(line).collect();
    Ok(lines.join("\n") + "\n")
}

/// Runs the comparison in a fresh browser without compiled code.
async fn in_page(file: &Path) -> anyhow::Result<Took> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    browser
        .page
        .find(By::Css("input[type=file]"))
        .await?
        .send_keys(file.to_str().context("the path is plain")?)
        .await?;
    browser.show("trust").await?;
    browser.element("compare").await?.click().await?;
    let started = Instant::now();
    while browser.page.find(By::Testid("compared")).await.is_err() {
        anyhow::ensure!(started.elapsed() < PATIENCE, "the page has not compared the learners within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let cell = |css: &str| By::Css(format!("[data-scenario='{SCENARIO}'] {css}"));
    let secs = browser.page.find(cell("td:nth-of-type(3)")).await?.attr("data-secs").await?.context("t2 is there")?;
    let accuracy = browser.page.find(cell(".accuracy")).await?.attr("data-percent").await?.context("it has one")?;
    browser.close().await?;
    eprintln!("planner: {secs} s, accuracy {accuracy} %");
    Ok((secs.parse()?, accuracy))
}

/// Runs the native program on the given cores.
fn native(file: &Path, cores: &str) -> anyhow::Result<Took> {
    let program: PathBuf = foreglow()?;
    let mut command = Command::new("taskset");
    command.args(["-c", cores]).arg(program).arg("evaluate").arg(file).args(["--format", "json"]);
    let output = command.output().context("taskset (util-linux) tells the program its cores")?;
    anyhow::ensure!(output.status.success(), "evaluate: {}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let rows = answer["scenarios"].as_array().context("the answer has scenarios")?;
    let row = rows.iter().find(|row| row["scenario"] == SCENARIO).context("4-2 is a scenario")?;
    let number = |name: &str| row[name].as_f64().with_context(|| format!("the scenario has {name}"));
    let (secs, accuracy) = (number("t2_secs")?, number("accuracy_percent")?.to_string());
    eprintln!("native on cores {cores}: {secs} s, accuracy {accuracy} %");
    Ok((secs, accuracy))
}

fn median(runs: &[Took]) -> f64 {
    let mut secs: Vec<f64> = runs.iter().map(|run| run.0).collect();
    secs.sort_by(f64::total_cmp);
    secs[secs.len() / 2]
}
