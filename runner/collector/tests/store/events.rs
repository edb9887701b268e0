//! Event streams: many listeners at once, slow listeners, and listeners that continue after a
//! sample.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use foreglow_shared::{Uuid, parse_line};

use crate::faults::{agent, get, lines, post, serve, wait_for};
use crate::{Place, sample};

over_both! {
    every_listener_gets_every_sample_in_its_order
    a_listener_that_reads_nothing_for_a_while_misses_nothing
}

const LISTENERS: usize = 40;
const POSTS: u128 = 60;

/// Opens a stream and reads its greeting; later samples are not missed.
fn listen(url: &str, query: &str) -> BufReader<TcpStream> {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET /api/v1/events{query} HTTP/1.0\r\nhost: {host}\r\n\r\n").unwrap();
    let mut events = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with(": samples follow") {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "no greeting");
    }
    events
}

/// Returns the ids of the next samples until the last one, or the end of the stream.
fn ids_until(events: &mut impl std::io::BufRead, last: Uuid) -> Vec<Uuid> {
    let (mut ids, mut line) = (Vec::new(), String::new());
    while ids.last() != Some(&last) {
        line.clear();
        if events.read_line(&mut line).unwrap() == 0 {
            break;
        }
        // A stream that ends within a line ends within an event.
        let data = line.strip_suffix('\n').and_then(|line| line.strip_prefix("data: "));
        ids.extend(data.map(|data| parse_line(data).unwrap().id));
    }
    ids
}

fn ids(numbers: impl Iterator<Item = u128>) -> Vec<Uuid> {
    numbers.map(|number| sample(number).id).collect()
}

fn every_listener_gets_every_sample_in_its_order(place: &Place) {
    let url = serve(&place.location);
    assert_eq!(post(&agent(), &url, &lines(1..6)).0, 200);
    let last = sample(5 + POSTS).id;
    std::thread::scope(|scope| {
        // Listeners for new samples only, or after an earlier sample.
        let listeners: Vec<_> = (0..LISTENERS)
            .map(|number| {
                let first = if number % 2 == 0 { 6 } else { 3 };
                let after = format!("?after={}", sample(2).id);
                let mut events = listen(&url, if number % 2 == 0 { "" } else { &after });
                (first, scope.spawn(move || ids_until(&mut events, last)))
            })
            .collect();
        assert!(get(&url, "metrics").1.contains(&format!("foreglow_listeners {LISTENERS}\n")));
        let late = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            ids_until(&mut listen(&url, &format!("?after={}", sample(4).id)), last)
        });
        let agent = agent();
        for number in 6..6 + POSTS {
            assert_eq!(post(&agent, &url, &lines(number..number + 1)).0, 200);
        }
        for (first, listener) in listeners {
            assert_eq!(listener.join().unwrap(), ids(first..6 + POSTS));
        }
        assert_eq!(late.join().unwrap(), ids(5..6 + POSTS));
    });
}

/// The samples exceed the buffers of the collector and the system.
fn a_listener_that_reads_nothing_for_a_while_misses_nothing(place: &Place) {
    let url = serve(&place.location);
    wait_for(&url, "readyz", 200);
    let mut slow = listen(&url, "");
    let large = |number: u128| {
        let mut sample = sample(number);
        sample.extra.insert("note".into(), "a".repeat(30_000).into());
        serde_json::to_string(&sample).unwrap() + "\n"
    };
    let agent = agent();
    for part in 0..10 {
        let lines: String = (1 + part * 100..1 + (part + 1) * 100).map(large).collect();
        assert_eq!(post(&agent, &url, &lines).0, 200);
    }
    let last = sample(1_000).id;
    let mut heard = ids_until(&mut slow, last);
    // A client whose stream ends reconnects and continues after the last event.
    while heard.last() != Some(&last) {
        let query = heard.last().map(|id| format!("?after={id}")).unwrap_or_default();
        assert!(!query.is_empty(), "the first samples were in the buffers");
        heard.extend(ids_until(&mut listen(&url, &query), last));
    }
    assert_eq!(heard, ids(1..1_001));
}
