//! Benchmark of the collector with many, slow or hostile clients. `make bench-collector-clients`
//! prints the figures and writes `target/bench/collector-clients.json`. Clients and collector share
//! the machine. An argument selects one part.

mod abuse;
mod connections;
mod listeners;
mod memory;
mod soak;

use std::time::Instant;

use foreglow_tests::collector::Connection;
use foreglow_tests::figures;
use serde_json::{Value, json};

/// A part of the benchmark, by its name.
type Part = (&'static str, fn() -> anyhow::Result<Vec<Value>>);

const PARTS: [Part; 5] = [
    ("abuse", abuse::measure),
    ("connections", connections::measure),
    ("listeners", listeners::measure),
    ("memory", memory::measure),
    (SOAK, soak::measure),
];
/// Measured only by its name, because it takes an hour.
const SOAK: &str = "soak";

fn main() -> anyhow::Result<()> {
    let only = std::env::args().nth(1);
    let mut figures = Vec::new();
    let is_wanted = |name: &str| only.as_ref().map_or(name != SOAK, |only| only == name);
    for (name, measure) in PARTS.iter().filter(|(name, _)| is_wanted(name)) {
        eprintln!("{name}");
        let of_part = measure()?;
        figures::print(&of_part);
        figures.extend(of_part);
    }
    figures::write("collector-clients.json", &json!({ "figures": figures }))
}

/// Sends a request on a new connection, and returns its time, ms.
fn timed(address: &str, method: &str, path: &str, body: &str) -> anyhow::Result<f64> {
    let started = Instant::now();
    let (status, answer) = Connection::open(address)?.send(method, path, body)?;
    anyhow::ensure!(status == 200, "{path}: {status} {answer}");
    Ok(started.elapsed().as_secs_f64() * 1e3)
}
