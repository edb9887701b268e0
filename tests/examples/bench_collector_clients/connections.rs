//! Idle connections, and connections with an incomplete head or body.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_tests::collector::{Collector, sample};
use foreglow_tests::figures::{figure, quantile};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;

use crate::timed;

const CONNECTIONS: usize = 10_000;
/// Time of the posts, below the limits on the time of a head and between parts of a body.
const POSTS: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);
/// Data sent on a connection: nothing, a part of a head, or a head and a part of the body.
const PARTS: [&str; 3] = [
    "",
    "GET /healthz HTTP/1.1\r\nhost: 127",
    "POST /api/v1/samples HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 600\r\n\r\n{",
];
/// File descriptors of the fully used collector: 1,024 connections and others.
const FEW_DESCRIPTORS: usize = 1_152;
const SLOW_POSTS: usize = 2_000;
const TRIES: u64 = 50;

pub fn measure() -> anyhow::Result<Vec<Value>> {
    raise_descriptors()?;
    let mut figures = beside_open_connections()?;
    figures.extend(beside_slow_posts()?);
    Ok(figures)
}

pub(crate) fn raise_descriptors() -> anyhow::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    let enough = maximum.is_none_or(|maximum| maximum > CONNECTIONS as u64 + 100);
    anyhow::ensure!(enough, "the process may have {maximum:?} file descriptors; raise the limit (ulimit -Hn)");
    Ok(())
}

/// Measures posts with and without thousands of idle connections.
fn beside_open_connections() -> anyhow::Result<Vec<Value>> {
    let folder = tempfile::tempdir()?;
    let collector = Collector::start(folder.path().join("bench.sqlite"), "")?;
    let mut figures = vec![figure("memory without connections", collector.resident_mib()?, "MiB")];
    figures.extend(posts(&collector, 0, "without other connections"));
    let mut open = Vec::with_capacity(CONNECTIONS);
    for number in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(&collector.address)?;
        stream.write_all(PARTS[number % PARTS.len()].as_bytes())?;
        open.push(stream);
    }
    figures.extend(posts(&collector, 1 << 32, &format!("beside {CONNECTIONS} connections")));
    figures.push(figure(&format!("memory with {CONNECTIONS} connections"), collector.resident_mib()?, "MiB"));
    Ok(figures)
}

/// Measures posts of one sample, each on a new connection.
fn posts(collector: &Collector, first: u64, where_: &str) -> Vec<Value> {
    let (started, mut times, mut refused) = (Instant::now(), Vec::new(), 0);
    for number in (first..).take_while(|_| started.elapsed() < POSTS) {
        match timed(&collector.address, "POST", "/api/v1/samples", &sample(number)) {
            Ok(time) => times.push(time),
            Err(_) => refused += 1,
        }
        std::thread::sleep(PAUSE);
    }
    vec![
        figure(&format!("posts {where_} that are refused"), f64::from(refused), "posts"),
        figure(&format!("a post {where_}: median"), quantile(&times, 0.5), "ms"),
        figure(&format!("a post {where_}: slowest of {}", times.len()), quantile(&times, 1.0), "ms"),
    ]
}

/// Measures posts to a collector whose connections are all used by bodies that arrive a byte at a
/// time.
fn beside_slow_posts() -> anyhow::Result<Vec<Value>> {
    let folder = tempfile::tempdir()?;
    let collector = Collector::start(folder.path().join("bench.sqlite"), &format!("ulimit -n {FEW_DESCRIPTORS};"))?;
    let slow: Vec<TcpStream> = (0..SLOW_POSTS)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(&collector.address).ok()?;
            stream.write_all(PARTS[2].as_bytes()).ok().map(|()| stream)
        })
        .collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let drip = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // Writes to evicted connections fail.
                slow.iter().for_each(|mut stream| drop(stream.write_all(b" ")));
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        // Waits until the posts have been slow for a while.
        std::thread::sleep(Duration::from_secs(4));
        let tries = (0..TRIES).map(|number| timed(&collector.address, "POST", "/api/v1/samples", &sample(number)));
        let times: Vec<f64> = tries.filter_map(Result::ok).collect();
        is_over.store(true, Ordering::Relaxed);
        drip.join().ok().context("the slow clients failed")?;
        let beside = format!("beside {SLOW_POSTS} slow posts at a limit of 1,024 connections");
        Ok(vec![
            figure(&format!("posts of {TRIES} that are answered {beside}"), times.len() as f64, "posts"),
            figure(&format!("a post {beside}: slowest"), quantile(&times, 1.0), "ms"),
        ])
    })
}
