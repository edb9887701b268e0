//! Clients that send too little, too much or too slowly.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::foreglow::{self, Foreglow, Serving, get, line, post};
use crate::{authority, listen, read_events};

/// A time limit of the collector, plus a margin for a busy machine.
const SOON: Duration = Duration::from_secs(40);

fn connect(server: &Serving) -> TcpStream {
    let stream = TcpStream::connect(authority(&server.url)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

#[test]
fn a_head_that_never_ends_closes_the_connection() {
    let collector = Foreglow::new();
    let server = Serving::start(&collector);
    let mut idle = connect(&server);
    let mut half = connect(&server);
    half.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127").unwrap();
    let started = Instant::now();
    for stream in [&mut half, &mut idle] {
        let mut answer = Vec::new();
        // The end of the stream, after an answer or without one; a timeout would be an error.
        stream.read_to_end(&mut answer).unwrap();
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    }
    assert!(started.elapsed() < SOON);
}

#[test]
fn a_body_that_stops_arriving_is_refused() {
    let collector = Foreglow::new();
    let server = Serving::start(&collector);
    let mut slow = connect(&server);
    slow.write_all(b"POST /api/v1/samples HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000\r\n\r\n{").unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("did not arrive in time"), "{answer}");
    assert_eq!(post(&server.url, &line(1)).0, 200);
}

#[test]
fn idle_connections_lock_nobody_out() {
    // The collector's limit on connections is far below the number of clients.
    let collector = Foreglow::new();
    let server = Serving::start_with_few_descriptors(&collector, 256);
    let mut idle: Vec<TcpStream> = (0..400).map(|_| connect(&server)).collect();
    for (number, stream) in idle.iter_mut().enumerate().skip(200) {
        // Some of them begin a request. An evicted connection is already closed.
        let _ = stream.write_all(if number % 2 == 0 { b"GET" } else { b"POST /api" });
    }
    for number in 0..20 {
        assert_eq!(post(&server.url, &line(number)).0, 200);
        assert_eq!(get(&server.url, "/healthz").0, 200);
    }
    assert_eq!(get(&server.url, "/api/v1/samples").1.lines().count(), 20);
}

#[test]
fn large_bodies_of_nothing_freeze_nobody() {
    let collector = Foreglow::new();
    let server = Serving::start(&collector);
    let body = "{}\n".repeat((16 << 20) / 3);
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..4).map(|_| scope.spawn(|| post(&server.url, &body))).collect();
        let mut slowest = Duration::ZERO;
        while senders.iter().any(|sender| !sender.is_finished()) {
            let started = Instant::now();
            assert_eq!(get(&server.url, "/healthz").0, 200);
            slowest = slowest.max(started.elapsed());
        }
        assert!(slowest < Duration::from_secs(5), "{slowest:?}");
        for sender in senders {
            let (status, answer) = sender.join().unwrap();
            assert!(status == 413 && answer.contains("at most 20000 lines"), "{status} {answer}");
        }
    });
}

#[test]
fn a_line_and_its_fields_have_a_limit() {
    let collector = Foreglow::new();
    let server = Serving::start(&collector);
    let long = line(1).replace(r#""engine":"local""#, &format!(r#""engine":"local","note":"{}""#, "a".repeat(1 << 20)));
    let (status, receipt) = post(&server.url, &format!("{long}\n{}", line(2)));
    assert_eq!(status, 200);
    assert!(receipt.contains(r#""new":1"#) && receipt.contains("a sample may have at most 64 KiB"), "{receipt}");
}

#[test]
fn a_client_that_reads_nothing_does_not_hold_up_the_others() {
    let collector = Foreglow::new();
    let server = Serving::start(&collector);
    for part in 0..5 {
        let lines: String = (part * 4_000..(part + 1) * 4_000).map(|number| line(number) + "\n").collect();
        assert_eq!(post(&server.url, &lines).0, 200);
    }
    let deaf: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = connect(&server);
            stream.write_all(b"GET /api/v1/samples?limit=100000 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").unwrap();
            stream
        })
        .collect();
    let started = Instant::now();
    assert_eq!(post(&server.url, &line(30_000)).0, 200);
    let workloads = get(&server.url, "/api/v1/workloads").1;
    assert!(workloads.contains(r#""samples":20001"#), "{workloads}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    drop(deaf);
}

#[test]
fn slow_bodies_lock_nobody_out() {
    let collector = Foreglow::new();
    let server = Serving::start_with_few_descriptors(&collector, 256);
    let mut slow: Vec<TcpStream> = (0..200).map(|_| connect(&server)).collect();
    for stream in &mut slow {
        // An evicted connection is already closed.
        let _ = stream.write_all(b"POST /api/v1/samples HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 600\r\n\r\n{");
    }
    for _ in 0..4 {
        std::thread::sleep(Duration::from_secs(1));
        slow.iter_mut().for_each(|stream| drop(stream.write_all(b" ")));
    }
    for number in 0..20 {
        assert_eq!(post(&server.url, &line(number)).0, 200);
    }
}

#[test]
fn idle_connections_do_not_end_an_event_stream() {
    let collector = Foreglow::new();
    let server = Serving::start_with_few_descriptors(&collector, 256);
    let mut events = listen(&server.url, "", "");
    let idle: Vec<TcpStream> = (0..400).map(|_| connect(&server)).collect();
    assert_eq!(post(&server.url, &line(1)).0, 200);
    assert_eq!(read_events(&mut events, 1), [foreglow::id(1)]);
    drop(idle);
}
