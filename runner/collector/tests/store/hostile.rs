//! Requests that the collector cannot serve, or that ask for more than it has.

use crate::faults::{agent, lines, serve, wait_for};
use crate::{Place, server};

/// Returns the status and the delay that the answer to a post names.
fn refused(url: &str) -> (u16, Option<String>) {
    let answer = agent().post(format!("{url}api/v1/samples")).send(lines([2].into_iter())).unwrap();
    let delay = answer.headers().get("retry-after").map(|delay| delay.to_str().unwrap().to_owned());
    (answer.status().as_u16(), delay)
}

#[test]
fn a_store_that_takes_nothing_now_names_a_delay() {
    let place = Place::file();
    let url = serve(&place.location);
    wait_for(&url, "readyz", 200);
    std::fs::remove_file(place.location.file().unwrap()).unwrap();
    assert_eq!(refused(&url), (503, Some("1".to_owned())));
}

#[test]
fn a_database_that_does_not_answer_names_a_delay() {
    let Some(server) = server::own() else { return };
    let url = serve(&foreglow_collector::store::Location::Database(server.database().unwrap()));
    wait_for(&url, "readyz", 200);
    server.crash().unwrap();
    wait_for(&url, "readyz", 503);
    assert_eq!(refused(&url), (503, Some("1".to_owned())));
    let answer = agent().get(format!("{url}api/v1/runs")).call().unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].as_bytes()), (503, &b"1"[..]));
}
