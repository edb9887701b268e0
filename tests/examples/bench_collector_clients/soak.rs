//! A collector under a steady load for an hour, or for the seconds in `SECS`: memory, response
//! times and open files must not grow.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_tests::collector::{Collector, Connection, sample};
use foreglow_tests::figures::{figure, quantile};
use serde_json::Value;

const SECS: u64 = 3_600;
/// Parts of the time, which are compared.
const PARTS: u32 = 4;
const SENDERS: u64 = 2;
/// Samples of a request, and the pause after it: 200 samples per second from each sender.
const OF_A_REQUEST: u64 = 20;
const PAUSE: Duration = Duration::from_millis(100);
/// Event streams, each of which is closed and opened again after a while.
const LISTENERS: u64 = 5;
const LISTENING: Duration = Duration::from_secs(20);
const ASKED: [&str; 5] = [
    "/api/v1/runs",
    "/api/v1/workloads",
    "/api/v1/jobs",
    "/api/v1/samples?limit=1000",
    "/api/v1/samples?limit=1000&format=csv",
];

pub fn measure() -> anyhow::Result<Vec<Value>> {
    let secs = std::env::var("SECS").map_or(Ok(SECS), |secs| secs.parse())?;
    let folder = tempfile::tempdir()?;
    let collector = Collector::start(folder.path().join("soak.sqlite"), "")?;
    let (is_over, refused, sent) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let address = collector.address.as_str();
    let figures = std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (is_over, refused, sent) = (&is_over, &refused, &sent);
            scope.spawn(move || send(address, sender, is_over, refused, sent));
        }
        for number in 0..LISTENERS {
            let is_over = &is_over;
            scope.spawn(move || listen(address, number, is_over));
        }
        let figures = ask(&collector, Duration::from_secs(secs), &refused);
        is_over.store(true, Ordering::Relaxed);
        figures
    });
    let mut figures = figures?;
    figures.push(figure("samples acknowledged", sent.load(Ordering::Relaxed) as f64, "samples"));
    figures.push(figure("requests refused", refused.into_inner() as f64, "requests"));
    let (status, metrics) = Connection::open(address)?.send("GET", "/metrics", "")?;
    anyhow::ensure!(status == 200, "{status} {metrics}");
    let stored = metrics.lines().find_map(|line| line.strip_prefix("foreglow_stored_samples "));
    let stored: u64 = stored.context("the metrics have the number of samples")?.parse()?;
    let sent = sent.into_inner();
    anyhow::ensure!(stored >= sent, "{stored} samples are stored, and {sent} were acknowledged");
    Ok(figures)
}

fn send(address: &str, sender: u64, is_over: &AtomicBool, refused: &AtomicU64, sent: &AtomicU64) {
    for request in (0..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
        let first = (sender << 32) + request * OF_A_REQUEST;
        let body: String = (first..first + OF_A_REQUEST).map(sample).collect();
        match Connection::open(address).and_then(|mut to| to.send("POST", "/api/v1/samples", &body)) {
            Ok((200, _)) => sent.fetch_add(OF_A_REQUEST, Ordering::Relaxed),
            _ => refused.fetch_add(1, Ordering::Relaxed),
        };
        std::thread::sleep(PAUSE);
    }
}

/// Opens one event stream after the other. One in three reads nothing.
fn listen(address: &str, number: u64, is_over: &AtomicBool) {
    let mut buffer = [0; 16 << 10];
    while !is_over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let Ok(mut stream) = TcpStream::connect(address) else { return };
        let head = format!("GET /api/v1/events HTTP/1.1\r\nhost: {address}\r\n\r\n");
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        while begun.elapsed() < LISTENING && !is_over.load(Ordering::Relaxed) {
            if number.is_multiple_of(3) {
                std::thread::sleep(PAUSE);
            } else if matches!(stream.read(&mut buffer), Ok(0)) {
                break;
            }
        }
    }
}

/// Asks for answers until the end, and measures by parts of the time.
fn ask(collector: &Collector, time: Duration, refused: &AtomicU64) -> anyhow::Result<Vec<Value>> {
    let mut figures = vec![figure("memory at the start", collector.resident_mib()?, "MiB")];
    for part in 1..=PARTS {
        let (begun, mut times) = (Instant::now(), Vec::new());
        for path in ASKED.iter().cycle() {
            let asked = Instant::now();
            if asked.duration_since(begun) >= time / PARTS {
                break;
            }
            match Connection::open(&collector.address).and_then(|mut to| to.send("GET", path, "")) {
                Ok((200, _)) => times.push(asked.elapsed().as_secs_f64() * 1e3),
                _ => drop(refused.fetch_add(1, Ordering::Relaxed)),
            }
            std::thread::sleep(PAUSE);
        }
        let after = format!("after {:.0} s", (time * part / PARTS).as_secs_f64());
        figures.extend([
            figure(&format!("memory {after}"), collector.resident_mib()?, "MiB"),
            figure(&format!("open files {after}"), collector.open_files()? as f64, "files"),
            figure(&format!("an answer until then, median {after}"), quantile(&times, 0.5), "ms"),
            figure(&format!("an answer until then, 99th percentile {after}"), quantile(&times, 0.99), "ms"),
        ]);
    }
    figures.push(figure("peak memory", collector.peak_mib()?, "MiB"));
    Ok(figures)
}
