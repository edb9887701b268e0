//! Benchmark of the planner on a collector: time to interactive and to the answer, and bytes of the
//! collector's answers, in headless Chromium with an empty cache. `make bench-collector-page`
//! writes `target/bench/collector-page.json`. Collector and browser share the machine.

use std::io::Write as _;

use anyhow::Context as _;
use foreglow_tests::collector::{Collector, Connection, sample};
use foreglow_tests::{Browser, workspace_dir};
use serde_json::{Value, json};

/// Default numbers of samples; the arguments override them.
const SAMPLES: [u64; 2] = [1_000, 1_000_000];
const BATCH: u64 = 1_000;
const VISITS: usize = 9;
/// Limit on the time to interactive, ms.
const BOUND_MS: f64 = 1_500.0;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut sizes = std::env::args().skip(1).map(|size| size.parse()).collect::<Result<Vec<u64>, _>>()?;
    if sizes.is_empty() {
        sizes.extend(SAMPLES);
    }
    let mut rows = Vec::new();
    let mut out = std::io::stdout();
    for samples in sizes {
        let folder = tempfile::tempdir()?;
        let collector = Collector::start(folder.path().join("bench.sqlite"), "")?;
        fill(&collector, samples)?;
        let mut visits = Vec::new();
        for _ in 0..VISITS {
            visits.push(visit(&format!("http://{}/", collector.address)).await?);
        }
        for (name, unit, field) in [
            ("interactive", "ms", "interactive"),
            ("answer", "ms", "answered"),
            ("answers of the collector", "KB", "of_api"),
            ("all that is transferred", "KB", "of_all"),
        ] {
            let ours = median(&visits, field) / if unit == "KB" { 1_000.0 } else { 1.0 };
            writeln!(out, "{samples} samples: {name}: {ours:.1} {unit}, median of {VISITS} first visits")?;
            let bound = (field == "interactive").then_some(BOUND_MS);
            rows.push(json!({
                "name": format!("page on a collector of {samples} samples: {name}"), "unit": unit, "ours": ours,
                "peer_name": "the bound", "peer": bound, "ratio": bound.map(|bound| bound / ours),
            }));
        }
    }
    let path = workspace_dir().join("target/bench/collector-page.json");
    std::fs::create_dir_all(path.parent().context("the file has a folder")?)?;
    std::fs::write(path, format!("{:#}\n", Value::from(rows)))?;
    Ok(())
}

fn fill(collector: &Collector, samples: u64) -> anyhow::Result<()> {
    let mut connection = Connection::open(&collector.address)?;
    for first in (0..samples).step_by(BATCH as usize) {
        let body: String = (first..samples.min(first + BATCH)).map(sample).collect();
        let (status, answer) = connection.send("POST", "/api/v1/samples", &body)?;
        anyhow::ensure!(status == 200, "{status} {answer}");
    }
    Ok(())
}

/// Visits the page with a fresh profile.
async fn visit(url: &str) -> anyhow::Result<Value> {
    let browser = Browser::start().await?;
    browser.page.goto(url).await?;
    let script = "const done = arguments[0];
        const look = () => {
          if (!document.querySelector('[data-testid=recommended-time]')) return requestAnimationFrame(look);
          const answered = performance.now();
          const entries = [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')];
          const bytes = (some) => some.reduce((sum, entry) => sum + entry.transferSize, 0);
          const mark = performance.getEntriesByName('foreglow-interactive')[0];
          done({ answered, interactive: mark ? mark.startTime : null, of_all: bytes(entries),
                 of_api: bytes(entries.filter((entry) => entry.name.includes('/api/v1/'))) });
        };
        look();";
    let seen = browser.page.execute_async(script, vec![]).await?.json().clone();
    browser.close().await?;
    anyhow::ensure!(seen["interactive"].is_number(), "the page has not marked when it was interactive: {seen}");
    Ok(seen)
}

fn median(visits: &[Value], field: &str) -> f64 {
    let mut values: Vec<f64> = visits.iter().filter_map(|visit| visit[field].as_f64()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
