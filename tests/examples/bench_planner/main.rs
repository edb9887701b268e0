//! Benchmark of the planner's speed in a real browser: `make bench-planner` prints the figures and
//! writes `target/bench/planner.json`.
//!
//! It opens a link with 102,400 candidate configurations from a static file host. Then a script
//! moves a slider and measures the time from each move until all charts are laid out and painted.

use std::{fs, time::Duration};

use anyhow::Context as _;
use foreglow_tests::{Browser, FileHost, cluster_view, workspace_dir};
use serde_json::{Value, json};
use thirtyfour::WebDriver;

const MOVES: usize = 240;
const INTERACTIONS: usize = 1_000;

/// Each move starts at a frame, and ends when the worker's answer is painted: the posted message
/// arrives after the frame in which the figures change. Unchanged figures end it after a second.
const MOVE: &str = "const [id, values, kind, done] = arguments;
    const input = document.querySelector(`[data-testid=${id}]`), taken = []; let next = 0;
    const figures = () => document.querySelector('[data-testid=what-if-time]').dataset.secs
        + document.querySelector('.in-short').textContent;
    const painted = new MessageChannel(); let began = 0, before = null, late = 0;
    painted.port1.onmessage = () => { taken.push(performance.now() - began); requestAnimationFrame(step); };
    const end = () => {
        if (before === null) return;
        before = null; clearTimeout(late); requestAnimationFrame(() => painted.port2.postMessage(0));
    };
    new MutationObserver(() => { if (figures() !== before) end(); })
        .observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    function step() {
        if (next === values.length) { setTimeout(() => done(taken), 50); return; }
        before = figures(); began = performance.now(); late = setTimeout(end, 1000);
        input.value = values[next++];
        input.dispatchEvent(new Event(kind, { bubbles: true }));
    }
    requestAnimationFrame(step);";
/// The durations of the main thread's long tasks (above 50 ms) since the page was opened.
const LONG_TASKS: &str = "const [done] = arguments; const seen = [];
    new PerformanceObserver(list => seen.push(...list.getEntries().map(task => task.duration)))
        .observe({ type: 'longtask', buffered: true });
    setTimeout(() => done(seen), 300);";

/// A page with some text, to exclude the browser's own start-up and font loading from the
/// measurement.
const WORDS: &str =
    "data:text/html,<p style='font-family:sans-serif'>Words <b>in</b> <code>1.2</code><svg><text y='9'>s</text></svg>";

/// Starts a browser and lets it settle.
async fn open_browser() -> anyhow::Result<Browser> {
    let browser = Browser::start().await?;
    browser.page.set_script_timeout(Duration::from_secs(300)).await?;
    browser.page.goto(WORDS).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    Ok(browser)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let host = FileHost::start().await?;
    let browser = open_browser().await?;
    let view = cluster_view(512, 200);
    browser.page.goto(view.to_link(&host.url)).await?;
    browser.answered().await?;
    // The view with the most charts.
    browser.show("explore").await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let long = numbers(browser.page.execute_async(LONG_TASKS, vec![]).await?.json())?;
    let tools = &browser.page;
    // Thread time, which is independent of other load on the machine.
    tools.cdp().send_raw("Performance.enable", json!({ "timeDomain": "threadTicks" })).await?;

    let mut entries = Vec::new();
    let executors: Vec<String> = (0..MOVES).map(|index| (1 + index * 37 % 512).to_string()).collect();
    let deadlines: Vec<String> = (0..MOVES / 4).map(|index| format!("{}s", 300 + index * 7)).collect();
    for (name, id, kind, values) in [
        ("slider move to every picture painted, 102,400 configurations", "what-if-executors", "input", executors),
        ("another deadline to every picture painted, 102,400 configurations", "deadline", "change", deadlines),
    ] {
        let busy = task_secs(tools).await?;
        let script = vec![json!(id), json!(values), json!(kind)];
        let taken = numbers(browser.page.execute_async(MOVE, script).await?.json())?;
        let busy = (task_secs(tools).await? - busy) * 1_000.0 / values.len() as f64;
        entries.push(entry(&format!("{name}, median"), "ms", quantile(&taken, 0.5), 16.0));
        entries.push(entry(&format!("{name}, p95"), "ms", quantile(&taken, 0.95), 33.0));
        entries.push(entry(&format!("{name}, mean thread time"), "ms", busy, 16.0));
    }

    let fit = open_browser().await?;
    fit.page.goto(cluster_view(8, 4).to_link(&host.url)).await?;
    fit.answered().await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let opening = numbers(fit.page.execute_async(LONG_TASKS, vec![]).await?.json())?;
    for (which, tasks) in [("of 102,400 configurations", &long), ("of 32 configurations", &opening)] {
        entries.push(entry(
            &format!("longest task while a page {which} is opened and fitted, 0 where none took 50 ms"),
            "ms",
            largest(tasks),
            50.0,
        ));
    }
    eprintln!("tasks above 50 ms: {long:?} of the large page, {opening:?} of the small one");
    fit.close().await?;

    let before = heap_bytes(tools).await?;
    let values: Vec<String> = (0..INTERACTIONS).map(|index| (1 + index * 37 % 512).to_string()).collect();
    browser.page.execute_async(MOVE, vec![json!("what-if-executors"), json!(values), json!("input")]).await?;
    let after = heap_bytes(tools).await?;
    let growth = (after - before) / 1e6;
    eprintln!("heap {:.2} MB before {INTERACTIONS} interactions and {:.2} MB after", before / 1e6, after / 1e6);
    entries
        .push(json!({ "name": format!("heap growth over {INTERACTIONS} interactions"), "unit": "MB", "ours": growth,
        "peer_name": "limit", "peer": 1.0, "ratio": if growth > 0.0 { Some(1.0 / growth) } else { None } }));

    browser.close().await?;
    let text = serde_json::to_string_pretty(&entries)?;
    let folder = workspace_dir().join("target/bench");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("planner.json"), &text)?;
    for entry in &entries {
        let ours = entry["ours"].as_f64().unwrap_or(f64::NAN);
        eprintln!("{ours:9.2} {} (limit {}): {}", entry["unit"].as_str().unwrap_or(""), entry["peer"], entry["name"]);
    }
    Ok(())
}

fn entry(name: &str, unit: &str, ours: f64, limit: f64) -> Value {
    json!({ "name": name, "unit": unit, "ours": ours, "peer_name": "limit", "peer": limit, "ratio": limit / ours })
}

fn numbers(value: &Value) -> anyhow::Result<Vec<f64>> {
    let list = value.as_array().context("the script returned no list")?;
    Ok(list.iter().filter_map(Value::as_f64).collect())
}

fn quantile(numbers: &[f64], share: f64) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (share * sorted.len() as f64) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(0.0, f64::max)
}

/// Busy time of the page's main thread, seconds.
async fn task_secs(tools: &WebDriver) -> anyhow::Result<f64> {
    let answer = tools.cdp().send_raw("Performance.getMetrics", json!({})).await?;
    let metrics = answer["metrics"].as_array().context("there are metrics")?;
    let task = metrics.iter().find(|metric| metric["name"] == "TaskDuration").context("there is a TaskDuration")?;
    task["value"].as_f64().context("it is a number")
}

/// Live heap size including WebAssembly memory, bytes.
async fn heap_bytes(tools: &WebDriver) -> anyhow::Result<f64> {
    tools.cdp().send_raw("HeapProfiler.collectGarbage", json!({})).await?;
    let usage = tools.cdp().send_raw("Runtime.getHeapUsage", json!({})).await?;
    let part = |name: &str| usage[name].as_f64().unwrap_or(0.0);
    Ok(part("usedSize") + part("embedderHeapUsedSize") + part("backingStorageSize"))
}
