//! Requests that the collector cannot serve, or that exceed its limits.

use std::io::Write as _;
use std::net::TcpStream;

use crate::faults::{agent, get, lines, post, serve, wait_for};
use crate::{Place, sample, server};

/// Returns the status and the retry delay of the answer to a post.
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
    let removal = agent().delete(format!("{url}api/v1/samples/{}", sample(1).id)).call().unwrap();
    assert_eq!((removal.status().as_u16(), removal.headers()["retry-after"].as_bytes()), (503, &b"1"[..]));
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

#[test]
fn bodies_that_have_hardly_begun_take_no_memory_from_the_others() {
    let place = Place::file();
    let url = serve(&place.location);
    wait_for(&url, "readyz", 200);
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let slow: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(host).unwrap();
            write!(stream, "POST /api/v1/samples HTTP/1.1\r\nhost: {host}\r\ncontent-length: 600\r\n\r\n{{").unwrap();
            stream
        })
        .collect();
    for number in 1..=20 {
        let (status, answer) = post(&agent(), &url, &lines([number].into_iter()));
        assert_eq!(status, 200, "{answer}");
    }
    drop(slow);
}

#[test]
fn forms_of_strangers_take_no_memory_from_those_who_send_samples() {
    let place = Place::file();
    let url = serve(&place.location);
    wait_for(&url, "readyz", 200);
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let forms: Vec<TcpStream> = (0..5)
        .map(|_| {
            let mut stream = TcpStream::connect(host).unwrap();
            write!(stream, "POST / HTTP/1.1\r\nhost: {host}\r\ncontent-length: 16777216\r\n\r\n").unwrap();
            // Sends all but the last byte; a refusal may end the connection earlier.
            let _ = stream.write_all(&[b'a'; (16 << 20) - 1]);
            stream
        })
        .collect();
    let (status, answer) = post(&agent(), &url, &lines([1].into_iter()));
    assert_eq!(status, 200, "{answer}");
    drop(forms);
    let long = agent().post(&url).send("token=".to_owned() + &"a".repeat(5_000)).unwrap();
    assert_eq!(long.status().as_u16(), 413);
}

#[test]
fn errors_of_the_api_are_json() {
    let place = Place::file();
    let url = serve(&place.location);
    let missing = get(&url, "api/v1/nope");
    assert_eq!(missing, (404, r#"{"error":"there is no route /api/v1/nope"}"#.to_owned()));
    let mut wrong = agent().delete(format!("{url}api/v1/samples")).call().unwrap();
    let answer = wrong.body_mut().read_to_string().unwrap();
    assert_eq!((wrong.status().as_u16(), answer.as_str()), (405, r#"{"error":"DELETE is not for /api/v1/samples"}"#));
    assert!(wrong.headers().contains_key("allow"));
}
