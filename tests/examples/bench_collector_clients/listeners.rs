//! Writers with many concurrent listeners of the events.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foreglow_tests::collector::{Collector, Connection, own_cpu_secs, sample};
use foreglow_tests::figures::figure;
use serde_json::Value;

/// Numbers of concurrent event streams.
const LISTENERS: [usize; 3] = [0, 20, 200];
/// Clients that send one sample after the other.
const SENDERS: u64 = 8;
const TIME: Duration = Duration::from_secs(5);

pub fn measure() -> anyhow::Result<Vec<Value>> {
    let mut figures = Vec::new();
    for listeners in LISTENERS {
        let folder = tempfile::tempdir()?;
        let collector = Collector::start(folder.path().join("bench.sqlite"), "")?;
        let streams = (0..listeners).map(|_| listen(&collector.address)).collect::<std::io::Result<Vec<_>>>()?;
        let (before, own_before) = (collector.cpu_secs()?, own_cpu_secs()?);
        let received = AtomicU64::new(0);
        let posts = std::thread::scope(|scope| {
            for stream in &streams {
                scope.spawn(|| drain(stream, &received));
            }
            let posts = send(&collector.address);
            for stream in &streams {
                // Ends the thread that reads it.
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
            posts
        })?;
        let beside = format!("beside {listeners} listeners");
        let micros = |secs: f64| secs * 1e6 / posts as f64;
        figures.extend([
            figure(&format!("single posts {beside}"), posts as f64 / TIME.as_secs_f64(), "/s"),
            figure(&format!("collector per post {beside}"), micros(collector.cpu_secs()? - before), "µs"),
            figure(&format!("clients per post {beside}"), micros(own_cpu_secs()? - own_before), "µs"),
            figure(&format!("received {beside}"), received.into_inner() as f64 / f64::from(1 << 20), "MiB"),
            figure(&format!("peak memory {beside}"), collector.peak_mib()?, "MiB"),
        ]);
    }
    Ok(figures)
}

fn listen(address: &str) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /api/v1/events HTTP/1.1\r\nhost: {address}\r\n\r\n")?;
    Ok(stream)
}

fn drain(mut stream: &TcpStream, received: &AtomicU64) {
    let mut buffer = [0; 16 << 10];
    while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
        received.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Sends samples for a time, and returns their number.
fn send(address: &str) -> anyhow::Result<u64> {
    let started = Instant::now();
    std::thread::scope(|scope| {
        let send = |sender: u64| -> anyhow::Result<u64> {
            let mut connection = Connection::open(address)?;
            let mut posts = 0;
            while started.elapsed() < TIME {
                let body = sample((sender << 32) + posts);
                let (status, answer) = connection.send("POST", "/api/v1/samples", &body)?;
                anyhow::ensure!(status == 200, "{status} {answer}");
                posts += 1;
            }
            Ok(posts)
        };
        let senders: Vec<_> = (0..SENDERS).map(|sender| scope.spawn(move || send(sender))).collect();
        let join = |sender: std::thread::ScopedJoinHandle<'_, anyhow::Result<u64>>| {
            sender.join().map_err(|_| anyhow::anyhow!("a sender failed"))?
        };
        senders.into_iter().map(join).sum()
    })
}
