//! Requests of others while one token abuses the collector.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use foreglow_tests::Answer;
use foreglow_tests::collector::{Collector, Connection, sample};
use foreglow_tests::figures::{figure, quantile};
use serde_json::Value;

/// Samples of the store.
const SAMPLES: u64 = 100_000;
const OF_A_REQUEST: u64 = 10_000;
/// Time of the measurement beside each abuse.
const TIME: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// Ways to abuse a token that may read: a name, the number of connections, and what each asks for
/// without reading the answer.
const ABUSES: [(&str, usize, &str); 5] = [
    ("nobody", 0, ""),
    ("3 downloads as CSV that are not read", 3, "/api/v1/samples?limit=100000&format=csv"),
    ("270 downloads that are not read", 270, "/api/v1/samples?limit=100000"),
    ("270 lists of runs that are not read", 270, "/api/v1/runs?limit=100000"),
    ("5,000 event streams", 5_000, "/api/v1/events"),
];
/// What the others ask for.
const ASKED: [&str; 3] = ["/healthz", "/api/v1/runs", "/api/v1/samples?limit=10"];

pub fn measure() -> anyhow::Result<Vec<Value>> {
    crate::connections::raise_descriptors()?;
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("bench.sqlite");
    let (greedy, modest) = (token(&store, "greedy", "read")?, token(&store, "modest", "read,write")?);
    let collector = Collector::start(&store, "")?;
    let mut sender = Connection::open(&collector.address)?.with_token(&modest);
    for first in (0..SAMPLES).step_by(usize::try_from(OF_A_REQUEST)?) {
        let body: String = (first..first + OF_A_REQUEST).map(sample).collect();
        let (status, answer) = sender.send("POST", "/api/v1/samples", &body)?;
        anyhow::ensure!(status == 200, "{status} {answer}");
    }
    let mut figures = Vec::new();
    for ((name, connections, path), place) in ABUSES.into_iter().zip(1..) {
        let open: Vec<TcpStream> = (0..connections)
            .filter_map(|_| {
                let mut stream = TcpStream::connect(&collector.address).ok()?;
                let address = &collector.address;
                let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {greedy}\r\n\r\n");
                stream.write_all(head.as_bytes()).ok().map(|()| stream)
            })
            .collect();
        let (mut times, mut refused, started) = (Vec::new(), 0, Instant::now());
        for number in (place << 32..).take_while(|_| started.elapsed() < TIME) {
            let posted = ("POST", "/api/v1/samples", sample(number));
            let asked = ASKED.map(|path| ("GET", path, String::new()));
            for (method, path, body) in std::iter::once(posted).chain(asked) {
                let begun = Instant::now();
                let answer = Connection::open(&collector.address)
                    .and_then(|connection| connection.with_token(&modest).send(method, path, &body));
                match answer {
                    Ok((200, _)) => times.push(begun.elapsed().as_secs_f64() * 1e3),
                    _ => refused += 1,
                }
            }
            std::thread::sleep(PAUSE);
        }
        figures.extend([
            figure(&format!("refused beside {name}, of {}", times.len() + refused), refused as f64, "requests"),
            figure(&format!("median beside {name}"), quantile(&times, 0.5), "ms"),
            figure(&format!("99th percentile beside {name}"), quantile(&times, 0.99), "ms"),
            figure(&format!("memory beside {name}"), collector.resident_mib()?, "MiB"),
        ]);
        drop(open);
    }
    Ok(figures)
}

/// Makes a token, and returns its secret.
fn token(store: &Path, name: &str, roles: &str) -> anyhow::Result<String> {
    let (home, store) = (tempfile::tempdir()?, store.display().to_string());
    let arguments = ["tokens", "create", name, "--role", roles, "--limit", "1000000", "--store", &store];
    let made = Answer::of(home.path(), &arguments)?;
    anyhow::ensure!(made.code == Some(0), "{}", made.stderr);
    Ok(made.stdout.trim().to_owned())
}
