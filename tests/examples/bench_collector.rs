//! Benchmark of the collector with a million samples. `make bench-collector` prints the figures and
//! writes `target/bench/collector.json`. Clients and collector share the machine. The second
//! argument is the store: `sqlite`, `postgres` to start a server, or the URL of an empty database.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use foreglow_tests::collector::{Collector, Connection, own_cpu_secs, sample};
use foreglow_tests::figures::{self, figure, quantile};
use foreglow_tests::postgres;
use serde_json::{Value, json};

/// Default number of samples; the first argument overrides it.
const SAMPLES: u64 = 1_000_000;
const BATCH: u64 = 1_000;
const BATCH_SENDERS: u64 = 4;
const SENDERS: u64 = 64;
const SINGLE_POSTS: Duration = Duration::from_secs(10);
const READS: usize = 20;

fn main() -> anyhow::Result<()> {
    let samples = std::env::args().nth(1).map_or(Ok(SAMPLES), |samples| samples.parse())?;
    let folder = tempfile::tempdir()?;
    let kind = std::env::args().nth(2).unwrap_or_else(|| "sqlite".to_owned());
    let server = (kind == "postgres").then(postgres::durable).transpose()?;
    let store = match (kind.as_str(), &server) {
        ("sqlite", _) => folder.path().join("bench.sqlite").into_os_string(),
        (_, Some(server)) => server.database()?.into(),
        (url, None) => url.into(),
    };
    let collector = Collector::start(&store, "")?;
    let mut figures = batches(&collector, samples)?;
    for path in ["/api/v1/workloads", "/api/v1/runs", "/api/v1/samples?limit=1000"] {
        figures.extend(beside_a_post(&collector, path, samples)?);
    }
    figures.push(single_posts(&collector, samples)?);
    figures.push(figure("peak memory of the collector", collector.peak_mib()?, "MiB"));
    figures::print(&figures);
    // A URL may have a password.
    let kind = if kind == "sqlite" { "sqlite" } else { "postgres" };
    let name = if kind == "sqlite" { "collector.json" } else { "collector-postgres.json" };
    figures::write(name, &json!({ "store": kind, "samples": samples, "figures": figures }))
}

/// Fills the store. The bodies are built before the clock starts, because clients and collector
/// share the processors.
fn batches(collector: &Collector, samples: u64) -> anyhow::Result<Vec<Value>> {
    let body = |first: usize| (first as u64..samples.min(first as u64 + BATCH)).map(sample).collect();
    let bodies: Vec<String> = (0..samples as usize).step_by(BATCH as usize).map(body).collect();
    let next = AtomicUsize::new(0);
    let (of_clients, started) = (own_cpu_secs()?, Instant::now());
    all(BATCH_SENDERS, |_| {
        let mut connection = Connection::open(&collector.address)?;
        while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (status, answer) = connection.send("POST", "/api/v1/samples", body)?;
            anyhow::ensure!(status == 200, "{status} {answer}");
        }
        Ok(())
    })?;
    let (secs, of_clients) = (started.elapsed().as_secs_f64(), own_cpu_secs()? - of_clients);
    let per_sample = |cpu_secs: f64| cpu_secs * 1e6 / samples as f64;
    Ok(vec![
        figure(&format!("samples in batches of {BATCH}, {BATCH_SENDERS} senders"), samples as f64 / secs, "samples/s"),
        // Unlike the rate, the processor time hardly depends on other programs.
        figure("processor time of the collector per sample", per_sample(collector.cpu_secs()?), "µs"),
        figure("processor time of the clients per sample", per_sample(of_clients), "µs"),
    ])
}

/// Measures a request and concurrent single posts.
fn beside_a_post(collector: &Collector, path: &str, samples: u64) -> anyhow::Result<Vec<Value>> {
    static POSTED: AtomicU64 = AtomicU64::new(0);
    let is_done = AtomicBool::new(false);
    let (reads, posts) = std::thread::scope(|scope| {
        let poster = scope.spawn(|| -> anyhow::Result<Vec<f64>> {
            let mut connection = Connection::open(&collector.address)?;
            let mut times = Vec::new();
            while !is_done.load(Ordering::Relaxed) || times.is_empty() {
                let number = samples + (1 << 40) + POSTED.fetch_add(1, Ordering::Relaxed);
                times.push(timed(&mut connection, "POST", "/api/v1/samples", &sample(number))?);
            }
            Ok(times)
        });
        let read = || -> anyhow::Result<Vec<f64>> {
            let mut connection = Connection::open(&collector.address)?;
            (0..READS).map(|_| timed(&mut connection, "GET", path, "")).collect()
        };
        let reads = read();
        is_done.store(true, Ordering::Relaxed);
        let posts = poster.join().map_err(|_| anyhow::anyhow!("the sender failed"))?;
        anyhow::Ok((reads?, posts?))
    })?;
    Ok(vec![
        figure(&format!("GET {path}: median"), quantile(&reads, 0.5), "ms"),
        figure(&format!("GET {path}: slowest of {READS}"), quantile(&reads, 1.0), "ms"),
        figure("a POST beside it: slowest", quantile(&posts, 1.0), "ms"),
    ])
}

/// Measures posts of one sample each.
fn single_posts(collector: &Collector, samples: u64) -> anyhow::Result<Value> {
    let posted = AtomicU64::new(0);
    let started = Instant::now();
    all(SENDERS, |sender| {
        let mut connection = Connection::open(&collector.address)?;
        let first = samples + (2 << 40) + (sender << 32);
        for number in first.. {
            if started.elapsed() >= SINGLE_POSTS {
                break;
            }
            let (status, answer) = connection.send("POST", "/api/v1/samples", &sample(number))?;
            anyhow::ensure!(status == 200, "{status} {answer}");
            posted.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    })?;
    let rate = posted.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64();
    Ok(figure(&format!("single posts of {SENDERS} senders"), rate, "requests/s"))
}

/// Runs a number of clients at the same time.
fn all(clients: u64, work: impl Fn(u64) -> anyhow::Result<()> + Sync) -> anyhow::Result<()> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|client| {
                scope.spawn({
                    let work = &work;
                    move || work(client)
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a client failed"))?)
    })
}

/// Sends a request and returns its time, ms.
fn timed(connection: &mut Connection, method: &str, path: &str, body: &str) -> anyhow::Result<f64> {
    let started = Instant::now();
    let (status, answer) = connection.send(method, path, body)?;
    anyhow::ensure!(status == 200, "{path}: {status} {answer}");
    Ok(started.elapsed().as_secs_f64() * 1e3)
}
