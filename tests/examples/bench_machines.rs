//! Benchmark of the planner over machine types, natively and in a real browser: `make
//! bench-machines` prints the figures and writes `target/bench/machines.json`.
//!
//! It opens a file with simulated runs of a job on 80 machine types of the built-in catalog, which
//! gives about 100,000 configurations, and measures the time from each change to the answer of the
//! worker, and the load of the page's thread.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use std::{fs, time::Duration};

use anyhow::Context as _;
use foreglow_model::{JointPredictor, Limits, Plan, Space};
use foreglow_shared::{Catalog, Question, group_by_context, group_jobs, read_samples};
use foreglow_tests::{Browser, FileHost, example_shown, workspace_dir};
use serde_json::{Value, json};

const MACHINE_TYPES: usize = 80;
const EXECUTORS: [u32; 3] = [1, 12, 144];
const MOST_CORES: u32 = 16;
const CHANGES: usize = 25;
const MOVES: usize = 240;

/// Changes one control after the other, and waits each time until the text of an element changes.
const ANSWERED: &str = "const [id, kind, values, shown, done] = arguments;
    const input = document.querySelector(`[data-testid=${id}]`), taken = []; let next = 0;
    const found = () => document.querySelector(shown)?.textContent;
    function step() {
        if (next === values.length) { done(taken); return; }
        const before = found(), began = performance.now();
        input.value = values[next++];
        input.dispatchEvent(new Event(kind, { bubbles: true }));
        const seen = new MessageChannel();
        seen.port1.onmessage = () => {
            if (found() === before && performance.now() - began < 5000) { setTimeout(() => seen.port2.postMessage(0)); return; }
            taken.push(performance.now() - began); seen.port1.close(); setTimeout(step, 100);
        };
        seen.port2.postMessage(0);
    }
    step();";
/// Moves a slider at each frame; the posted message arrives after the frame has been painted.
const MOVED: &str = "const [id, values, done] = arguments;
    const input = document.querySelector(`[data-testid=${id}]`), taken = []; let next = 0, began = 0;
    const painted = new MessageChannel();
    painted.port1.onmessage = () => { taken.push(performance.now() - began); };
    function step() {
        if (next === values.length) { setTimeout(() => done(taken), 50); return; }
        began = performance.now();
        input.value = values[next++];
        input.dispatchEvent(new Event('input', { bubbles: true }));
        painted.port2.postMessage(0);
        requestAnimationFrame(step);
    }
    requestAnimationFrame(step);";

/// Runs of the example's first job on each machine type, as JSON Lines.
fn runs() -> anyhow::Result<String> {
    let line = example_shown()?.lines.into_iter().next().context("the example has runs")?;
    let template: Value = serde_json::from_str(&line)?;
    let id = template["id"].as_str().context("a sample has an id")?.to_owned();
    let mut text = String::new();
    let mut count = 0;
    for (place, machine) in Catalog::built_in().machines.iter().take(MACHINE_TYPES).enumerate() {
        let speed = 1.0 + 0.03 * place as f64;
        let mut cores = vec![1, machine.processors.min(MOST_CORES)];
        cores.dedup();
        for (executors, cores) in EXECUTORS.iter().flat_map(|e| cores.iter().map(move |c| (*e, *c))) {
            for rate in [0.01, 0.02, 0.1] {
                let slots = f64::from(executors * cores);
                let secs = (9_000.0 * rate / slots.powf(0.95) + 0.4 + 0.002 * f64::from(executors)) / speed;
                let mut sample = template.clone();
                sample["engine"] = json!("spark");
                sample["host"] = json!({ "machine": machine.name, "processors": machine.processors });
                sample["configuration"]["executors"] = json!(executors);
                sample["configuration"]["cores_per_executor"] = json!(cores);
                sample["configuration"]["memory_per_executor_mib"] = json!(512);
                sample["sampling_rate"] = json!(rate);
                sample["completion_time_secs"] = json!(secs * (1.0 + 0.02 * f64::sin(f64::from(count) * 12.9898)));
                sample["id"] = json!(format!("{}{count:08x}", &id[..id.len() - 8]));
                count += 1;
                text.push_str(&format!("{sample}\n"));
            }
        }
    }
    Ok(text)
}

/// Measures native decisions with different deadlines, milliseconds.
fn native(runs: &str) -> anyhow::Result<Vec<Value>> {
    let jobs = group_by_context(&read_samples(runs.as_bytes())?);
    let group = group_jobs(jobs).into_iter().next().context("there is a job")?;
    let predictor = Arc::new(JointPredictor::fit(&group)?);
    let space = Space { catalog: Some(Catalog::built_in()), ..Space::default() };
    let plan = Plan::new(predictor, space)?;
    let usual = Limits::of(&Question::about_job(group.jobs.first().context("the job has runs")?));
    let mut taken = Vec::new();
    for index in 0..CHANGES {
        let limits = Limits { deadline_secs: Some(deadline(index)), ..usual };
        let began = Instant::now();
        black_box(plan.decide(&limits)?);
        taken.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let (first, taken) = (taken.first().copied().context("there were decisions")?, json!(taken));
    Ok(vec![
        entry("the first native decision", first, 16.0),
        entry("a native decision with another deadline, median", median(&taken)?, 16.0),
    ])
}

/// Returns the deadline of a change, seconds.
fn deadline(change: usize) -> f64 {
    (100 + change * 37) as f64
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = home.path().join("machines.jsonl");
    let runs = runs()?;
    fs::write(&file, &runs)?;
    let mut entries = native(&runs)?;
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    let page = &browser.page;
    page.set_script_timeout(Duration::from_secs(300)).await?;
    page.goto(&host.url).await?;
    browser.file_input().await?.send_keys(file.display().to_string()).await?;
    browser.answered().await?;
    let began = Instant::now();
    let is_compared = "return document.querySelector('[data-testid=more-candidates]')?.textContent ?? ''";
    let every = format!("Show all {MACHINE_TYPES}");
    while page.execute(is_compared, vec![]).await?.json().as_str() != Some(&every) {
        anyhow::ensure!(began.elapsed() < Duration::from_secs(240), "the machine types are not compared");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    eprintln!("{:.1} s to fit and predict everything, once", began.elapsed().as_secs_f64());
    let says = browser.text("candidates-says").await?;
    let weighed = says.split(" configurations").next().and_then(|text| text.split(' ').next_back());
    eprintln!("{} configurations", weighed.unwrap_or("?"));
    tokio::time::sleep(Duration::from_secs(1)).await;

    // It names the deadline.
    let table = ".in-short";
    let picked = "[data-testid=what-if-time]";
    let deadlines: Vec<String> = (0..CHANGES).map(|index| format!("{}s", deadline(index))).collect();
    let executors: Vec<String> = (0..CHANGES).map(|index| (2 + index * 5 % 140).to_string()).collect();
    for (name, id, kind, values, shown) in [
        ("another deadline to the answer over all machine types", "deadline", "change", deadlines, table),
        ("a slider move to the answer on the picked machine type", "what-if-executors", "input", executors, picked),
    ] {
        let taken = page.execute_async(ANSWERED, vec![json!(id), json!(kind), json!(values), json!(shown)]).await?;
        entries.push(entry(&format!("{name}, median"), median(taken.json())?, 50.0));
    }
    let moves: Vec<String> = (0..MOVES).map(|index| (1 + index * 37 % 144).to_string()).collect();
    let taken = page.execute_async(MOVED, vec![json!("what-if-executors"), json!(moves)]).await?;
    for (name, share, limit) in [("median", 0.5, 16.0), ("p95", 0.95, 33.0)] {
        let millis = quantile(taken.json(), share)?;
        entries.push(entry(&format!("slider move to every picture painted, {name}"), millis, limit));
    }
    browser.close().await?;
    let folder = workspace_dir().join("target/bench");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("machines.json"), serde_json::to_string_pretty(&entries)?)?;
    Ok(())
}

fn entry(name: &str, ours: f64, limit: f64) -> Value {
    eprintln!("{ours:9.2} ms (limit {limit}): {name}");
    json!({ "name": name, "unit": "ms", "ours": ours, "peer_name": "limit", "peer": limit, "ratio": limit / ours })
}

fn median(values: &Value) -> anyhow::Result<f64> {
    quantile(values, 0.5)
}

fn quantile(values: &Value, share: f64) -> anyhow::Result<f64> {
    let list = values.as_array().context("the script returned no list")?;
    let mut sorted: Vec<f64> = list.iter().filter_map(Value::as_f64).collect();
    sorted.sort_by(f64::total_cmp);
    let place = ((share * sorted.len() as f64) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().context("there were changes")
}
