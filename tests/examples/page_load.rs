//! Benchmark of a first visit to the planner: bytes transferred, time to the first useful paint and
//! to interactive, in headless Chromium over the loopback address, and to interactive on a slow
//! network with a slow processor, which Chromium emulates. `make bench-page` writes
//! `target/bench/page-load.json`.
//!
//! The server sends files precompressed with brotli at the highest quality, as a good file host
//! does.

use std::{collections::BTreeMap, fs, io::Write as _, sync::Arc, time::Duration};

use anyhow::Context as _;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use foreglow_tests::{Browser, planner_dir, workspace_dir};
use serde_json::{Value, json};

const VISITS: usize = 9;
/// Quality and window size (log2) of brotli.
const BROTLI: (u32, u32) = (11, 24);
/// The module for files and advice, which the service worker fetches after the page has loaded.
const READER: &str = "foreglow-reader";
/// The module for the comparison, which is fetched on demand.
const COMPARISON: &str = "foreglow-comparison";
/// The goals of a first visit.
const BOUNDS: [(&str, &str, f64); 4] = [
    ("transfer", "KB", 800.0),
    ("first useful paint", "ms", 1000.0),
    ("interactive", "ms", 1500.0),
    ("interactive with 10 Mbit/s and a processor slowed 4 times", "ms", 1000.0),
];
/// The slow network, bytes per second.
const SLOW_BYTES_PER_SEC: f64 = 10e6 / 8.0;
/// How many times the slow processor is slower.
const SLOW_PROCESSOR: u32 = 4;

type Files = Arc<BTreeMap<String, Vec<u8>>>;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let files: Files = Arc::new(compressed()?);
    let size = |module: &str| -> usize {
        files.iter().filter(|(name, _)| name.contains(module)).map(|(_, body)| body.len()).sum()
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let app = axum::Router::new()
        .route("/", get(|files: State<Files>| async { file(files, Path("index.html".into())).await }))
        .route("/{name}", get(file))
        .with_state(Arc::clone(&files));
    let server = tokio::spawn(async move { axum::serve(listener, app).await });

    let (mut visits, mut slow_visits) = (Vec::new(), Vec::new());
    for _ in 0..VISITS {
        visits.push(visit(&url, false).await?);
        slow_visits.push(visit(&url, true).await?);
    }
    server.abort();
    let median = |visits: &[Value], name: &str| -> f64 {
        let mut values: Vec<f64> = visits.iter().filter_map(|visit| visit[name].as_f64()).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let ours = [
        median(&visits, "bytes") / 1000.0,
        median(&visits, "painted"),
        median(&visits, "interactive"),
        median(&slow_visits, "interactive"),
    ];
    let rows: Vec<Value> = BOUNDS
        .iter()
        .zip(ours)
        .map(|((name, unit, bound), ours)| {
            json!({ "name": format!("planner: {name}"), "unit": unit, "ours": ours, "peer_name": "the bound", "peer": bound,
                    "ratio": bound / ours })
        })
        .collect();
    let folder = workspace_dir().join("target/bench");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("page-load.json"), format!("{:#}\n", Value::from(rows)))?;
    let mut out = std::io::stdout();
    for ((name, unit, bound), ours) in BOUNDS.iter().zip(ours) {
        writeln!(out, "{name}: {ours:.0} {unit} (bound {bound} {unit}), median of {VISITS} first visits")?;
    }
    writeln!(
        out,
        "all files with brotli: {} KB; reading files and advising, which the service worker fetches once the page has loaded: {} KB; \
         the comparison, on demand: {} KB",
        size("") / 1000,
        size(READER) / 1000,
        size(COMPARISON) / 1000
    )?;
    Ok(())
}

/// Visits the page with a fresh profile, on the slow network with the slow processor if `is_slow`.
async fn visit(url: &str, is_slow: bool) -> anyhow::Result<Value> {
    let browser = Browser::start().await?;
    if is_slow {
        let network = json!({ "offline": false, "latency": 0, "downloadThroughput": SLOW_BYTES_PER_SEC,
            "uploadThroughput": SLOW_BYTES_PER_SEC });
        browser.devtools("Network.enable", json!({})).await?;
        browser.devtools("Network.emulateNetworkConditions", network).await?;
        browser.devtools("Emulation.setCPUThrottlingRate", json!({ "rate": SLOW_PROCESSOR })).await?;
    }
    browser.page.goto(url).await?;
    browser.element("example").await?;
    // The first useful paint is the largest contentful paint, that of the headline. The page itself
    // marks when it is interactive.
    let seen = browser
        .page
        .execute_async(
            "const done = arguments[0];
             const paint = new Promise((told) => new PerformanceObserver((list) => told(list.getEntries().at(-1).startTime))
               .observe({ type: 'largest-contentful-paint', buffered: true }));
             paint.then((painted) => setTimeout(() => {
               const entries = [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')];
               const mark = performance.getEntriesByName('foreglow-interactive')[0];
               done({ painted, interactive: mark ? mark.startTime : null,
                      bytes: entries.reduce((sum, entry) => sum + entry.transferSize, 0) });
             }, 1500));",
            vec![],
        )
        .await?
        .json()
        .clone();
    browser.close().await?;
    anyhow::ensure!(seen["interactive"].is_number(), "the page has not marked when it was interactive: {seen}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(seen)
}

async fn file(State(files): State<Files>, Path(name): Path<String>) -> Response {
    let Some(body) = files.get(&name) else { return axum::http::StatusCode::NOT_FOUND.into_response() };
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("webmanifest") => "application/manifest+json",
        _ => "application/octet-stream",
    };
    ([(header::CONTENT_TYPE, kind), (header::CONTENT_ENCODING, "br")], body.clone()).into_response()
}

fn compressed() -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let folder = planner_dir();
    for entry in
        fs::read_dir(&folder).with_context(|| format!("{} is not built; run `make planner`", folder.display()))?
    {
        let path = entry?.path();
        let name = path.file_name().context("a file has a name")?.to_string_lossy().into_owned();
        let (quality, window) = BROTLI;
        let mut body = Vec::new();
        brotli::CompressorWriter::new(&mut body, 1 << 16, quality, window).write_all(&fs::read(&path)?)?;
        files.insert(name, body);
    }
    Ok(files)
}
