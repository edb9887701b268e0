//! Requests to a collector with its own store: any request gets an answer other than an internal
//! error, and the collector stays ready. The input is the request line without the version, header
//! lines, an empty line and the body. A first letter `+` adds the token.
#![no_main]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use foreglow_collector::{Access, AccessLog, Collector, Options};
use foreglow_store::{Location, Store};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

const TOKEN: &str = "7b1f0c2e9d5a4836b0e1f2a3c4d5e6f7";
/// Limit on the wait for an answer. Streams of events do not end.
const PATIENCE: Duration = Duration::from_millis(300);
/// The same for whether the collector is ready, on a machine with other load.
const READY: Duration = Duration::from_secs(8);
/// Size of an answer that is read.
const READ: usize = 4096;

static COLLECTOR: LazyLock<(SocketAddr, TempDir)> = LazyLock::new(|| {
    let folder = TempDir::new().expect("the folder for temporary files is writable");
    let file = Location::File(folder.path().join("samples.sqlite"));
    let store = Store::open(Some(&file)).expect("a new store opens");
    let access = Access { token: Some(TOKEN.into()), ..Access::default() };
    let log = AccessLog::start(&folder.path().join("access.log")).expect("the log is writable");
    let options = Options { version: "0.1.0".into(), log: Some(log), ..Options::default() };
    let collector = Collector::bind(([127, 0, 0, 1], 0).into(), access).expect("a loopback port is free");
    let collector = collector.with(options);
    let address = collector.url().trim_start_matches("http://").trim_end_matches('/').parse();
    thread::spawn(move || collector.run(store).expect("the collector runs until the end"));
    (address.expect("the URL has an address"), folder)
});

fuzz_target!(|bytes: &[u8]| {
    let (token, bytes) = match bytes.strip_prefix(b"+") {
        Some(rest) => (format!("Authorization: Bearer {TOKEN}\r\n"), rest),
        None => (String::new(), bytes),
    };
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = end.map_or((bytes, &[][..]), |end| (&bytes[..end], &bytes[end + 2..]));
    let (line, headers) = head.split_at(head.iter().position(|byte| *byte == b'\n').unwrap_or(head.len()));
    let mut request = line.to_vec();
    request.extend_from_slice(b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n");
    request.extend_from_slice(format!("{token}Content-Length: {}", body.len()).as_bytes());
    request.extend_from_slice(headers);
    request.extend_from_slice(b"\r\n\r\n");
    request.extend_from_slice(body);
    let answer = answer(&request, PATIENCE);
    assert!(!answer.starts_with(b"HTTP/1.1 500"), "{}", String::from_utf8_lossy(&answer));
    if answer.is_empty() {
        let ready = self::answer(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", READY);
        assert!(ready.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&ready));
    }
});

/// Sends a request and returns the start of the answer, which is empty if none came in time.
fn answer(request: &[u8], patience: Duration) -> Vec<u8> {
    let mut stream = TcpStream::connect(COLLECTOR.0).expect("the collector takes connections");
    stream.set_read_timeout(Some(patience)).expect("the timeout is not zero");
    let mut answer = vec![0; READ];
    // The collector may close the connection before the whole request is written.
    let _ = stream.write_all(request);
    let length = stream.read(&mut answer).unwrap_or(0);
    answer.truncate(length);
    answer
}
