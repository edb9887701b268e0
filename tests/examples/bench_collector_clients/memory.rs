//! Peak memory of the collector under the largest requests.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use foreglow_tests::collector::{Collector, Connection, id, sample};
use foreglow_tests::figures::figure;
use serde_json::Value;

/// Number of concurrent requests.
const AT_ONCE: u64 = 4;
/// Bodies of large samples, 15 MiB each.
const BODIES: u64 = 12;
const LINES_OF_A_BODY: u64 = 250;
/// Size of an unknown field of a large sample, bytes.
const FIELD_BYTES: usize = 60_000;
/// Samples of a request with many small ones.
const SMALL: u64 = 20_000;
/// Number of clients that request a download without reading it, and of such event streams.
const DEAF: usize = 200;
const DEAF_TIME: Duration = Duration::from_secs(3);

pub fn measure() -> anyhow::Result<Vec<Value>> {
    let folder = tempfile::tempdir()?;
    let collector = Collector::start(folder.path().join("bench.sqlite"), "")?;
    let mut figures = Vec::new();
    let mut note = |what: &str| -> anyhow::Result<()> {
        figures.push(figure(&format!("peak memory after {what}"), collector.peak_mib()?, "MiB"));
        Ok(())
    };
    note("the start")?;
    at_once(&collector, 0, |number| post((0..SMALL).map(|line| sample((number << 32) + line)).collect()));
    note(&format!("{AT_ONCE} bodies of {SMALL} samples at once"))?;
    for first in (0..BODIES).step_by(usize::try_from(AT_ONCE)?) {
        at_once(&collector, first, |number| post((0..LINES_OF_A_BODY).map(|line| large(number, line)).collect()));
    }
    note(&format!("{BODIES} bodies of {LINES_OF_A_BODY} samples of {} KiB", FIELD_BYTES >> 10))?;
    let get = |path: &str| ("GET", path.to_owned(), String::new());
    for path in ["workloads", "runs?limit=100000", "samples?limit=100000", "samples?limit=100000&format=csv"] {
        at_once(&collector, 0, |_| get(&format!("/api/v1/{path}")));
        note(&format!("{AT_ONCE} GET /api/v1/{path} at once"))?;
    }
    let first = id(0);
    let paths = ["samples?limit=100000".to_owned(), format!("events?after={first}")];
    let deaf: Vec<TcpStream> = paths
        .iter()
        .flat_map(|path| std::iter::repeat_n(path, DEAF))
        .filter_map(|path| {
            let mut stream = TcpStream::connect(&collector.address).ok()?;
            write!(stream, "GET /api/v1/{path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").ok().map(|()| stream)
        })
        .collect();
    std::thread::sleep(DEAF_TIME);
    note(&format!("{DEAF} downloads and {DEAF} event streams that are not read"))?;
    drop(deaf);
    Ok(figures)
}

/// A request: method, path and body.
type Request = (&'static str, String, String);

fn post(body: String) -> Request {
    ("POST", "/api/v1/samples".to_owned(), body)
}

/// Sends requests concurrently. The collector may refuse them to bound its memory.
fn at_once(collector: &Collector, first: u64, request: impl Fn(u64) -> Request + Sync) {
    std::thread::scope(|scope| {
        for number in first..first + AT_ONCE {
            let request = &request;
            scope.spawn(move || {
                let (method, path, body) = request(number);
                let answer = Connection::open(&collector.address).and_then(|mut to| to.send(method, &path, &body));
                match answer {
                    Ok((200, _)) => {}
                    Ok((status, answer)) => eprintln!("{method} {path}: {status} {:.100}", answer),
                    Err(error) => eprintln!("{method} {path}: {error}"),
                }
            });
        }
    });
}

/// Returns a sample of a distinct workload, with a large unknown field.
fn large(number: u64, line: u64) -> String {
    let field = format!("{number}-{line}-").repeat(FIELD_BYTES / 8);
    let of_workload = format!("\"batch_size\":8,\"note\":\"{:.*}\"", FIELD_BYTES, field);
    sample((number << 32) + (1 << 28) + line).replace("\"batch_size\":8", &of_workload)
}
