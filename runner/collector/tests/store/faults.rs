//! Several collectors on one database, and the loss of its server.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foreglow_collector::{Access, Collector};
use foreglow_store::{Location, Store};

use crate::{Place, sample, server};

const SENDERS: u128 = 4;
const CRASHES: usize = 3;

/// Serves a store on a free port until the process ends; returns the URL.
pub(crate) fn serve(location: &Location) -> String {
    let collector = Collector::bind("127.0.0.1:0".parse().unwrap(), Access::default()).unwrap();
    let (url, store) = (collector.url(), Store::open(Some(location)).unwrap());
    std::thread::spawn(move || collector.run(store));
    url
}

pub(crate) fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false).proxy(None);
    config.timeout_global(Some(Duration::from_secs(60))).build().new_agent()
}

pub(crate) fn post(agent: &ureq::Agent, url: &str, body: &str) -> (u16, String) {
    let mut answer = agent.post(format!("{url}api/v1/samples")).send(body).unwrap();
    (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
}

pub(crate) fn get(url: &str, path: &str) -> (u16, String) {
    let mut answer = agent().get(format!("{url}{path}")).call().unwrap();
    (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
}

pub(crate) fn lines(numbers: impl Iterator<Item = u128>) -> String {
    numbers.map(|number| serde_json::to_string(&sample(number)).unwrap() + "\n").collect()
}

/// Waits until a path answers with a status.
pub(crate) fn wait_for(url: &str, path: &str, status: u16) -> String {
    let started = Instant::now();
    loop {
        let (found, answer) = get(url, path);
        if found == status {
            return answer;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{path}: {found} {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_sample_that_one_collector_stores_is_an_event_of_the_other() {
    let Some(place) = Place::database() else { return };
    let (first, second) = (serve(&place.location), serve(&place.location));
    let host = second.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET /api/v1/events HTTP/1.1\r\nhost: {host}\r\n\r\n").unwrap();
    let mut events = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(events.any(|line| line.contains("samples follow")));
    for number in 1..=3 {
        assert_eq!(post(&agent(), &first, &lines([number].into_iter())).0, 200);
        let data = events.find(|line| line.starts_with("data: ")).unwrap();
        assert!(data.contains(&sample(number).id.to_string()), "{data}");
    }
    // Both write at the same time, and each sample has its own position.
    std::thread::scope(|scope| {
        for (collector, start) in [(&first, 100), (&second, 200)] {
            scope.spawn(move || {
                let agent = agent();
                for number in start..start + 20 {
                    let body = lines([number, 50].into_iter());
                    assert_eq!(post(&agent, collector, &body).0, 200);
                }
            });
        }
    });
    let mut heard = BTreeSet::new();
    while heard.len() < 41 {
        let data = events.find(|line| line.starts_with("data: ")).unwrap();
        assert!(heard.insert(data.clone()), "twice: {data}");
    }
    assert_eq!(get(&first, "api/v1/samples").1.lines().count(), 44);
    assert_eq!(get(&first, "api/v1/workloads").1, get(&second, "api/v1/workloads").1);
}

#[test]
fn crashes_of_the_server_lose_nothing_that_was_acknowledged_and_double_nothing() {
    let Some(server) = server::own() else { return };
    let location = Location::Database(server.database().unwrap());
    let collectors = [serve(&location), serve(&location)];
    let (acknowledged, refused) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (collectors, acknowledged, refused, is_over) = (&collectors, &acknowledged, &refused, &is_over);
            scope.spawn(move || {
                let agent = agent();
                for batch in (0..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                    let first = 1 + sender * 1_000_000 + batch * 10;
                    let url = &collectors[usize::try_from((sender + batch) % 2).unwrap()];
                    // Like a sender, resends each batch until it is acknowledged.
                    while !is_over.load(Ordering::Relaxed) {
                        let (status, answer) = post(&agent, url, &lines(first..first + 10));
                        if status == 200 {
                            acknowledged.lock().unwrap().extend((first..first + 10).map(|number| sample(number).id));
                            break;
                        }
                        assert_eq!(status, 503, "{answer}");
                        refused.store(true, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(50));
                    }
                }
            });
        }
        for crash in 0..CRASHES {
            std::thread::sleep(Duration::from_millis(300 + 150 * crash as u64));
            server.crash().unwrap();
            for collector in &collectors {
                let sentence = wait_for(collector, "readyz", 503);
                assert!(sentence.starts_with("not ready: ") && sentence.contains("the database"), "{sentence}");
                assert_eq!(get(collector, "healthz").0, 200, "the process is well");
                assert_eq!(get(collector, "api/v1/workloads").0, 503);
            }
            server.start_again().unwrap();
            collectors.iter().for_each(|collector| drop(wait_for(collector, "readyz", 200)));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    let store = Store::open_existing(Some(&location)).unwrap();
    let ids = store.ids().unwrap();
    let stored: BTreeSet<_> = ids.iter().copied().collect();
    assert_eq!(ids.len(), stored.len(), "a sample is stored twice");
    assert_eq!(acknowledged.difference(&stored).count(), 0, "of {}", acknowledged.len());
    assert_eq!(store.count().unwrap(), ids.len() as u64, "the figures are those of the samples");
    assert!(acknowledged.len() > CRASHES && refused.into_inner());
}
