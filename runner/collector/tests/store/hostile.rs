//! Requests that the collector cannot serve, or that exceed its limits.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use foreglow_collector::{Access, Collector, Options};
use foreglow_shared::Timestamp;
use foreglow_store::Token;
use foreglow_store::token::Hash;

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
    let url = serve(&foreglow_store::Location::Database(server.database().unwrap()));
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

/// Serves a store whose tokens may do everything, each with its name as secret.
pub(crate) fn serve_with_tokens(place: &Place, names: &[&str]) -> String {
    let mut store = place.open();
    for name in names {
        let roles = "read,write".parse().unwrap();
        let (created_at, name) = (Timestamp::now(), (*name).to_owned());
        let token = Token { name, roles, per_minute: 60_000, created_at, expires_at: None, last_used_at: None };
        store.add_token(&token, Hash::of(&token.name), "me").unwrap();
    }
    let access = Access::of_store(&store, None).unwrap();
    let collector = Collector::bind("127.0.0.1:0".parse().unwrap(), access).unwrap();
    let url = collector.url();
    std::thread::spawn(move || collector.run(store));
    url
}

fn ask(url: &str, token: &str, path: &str) -> u16 {
    let asked = agent().get(format!("{url}{path}")).header("authorization", format!("Bearer {token}"));
    let mut answer = asked.call().unwrap();
    answer.body_mut().read_to_string().unwrap();
    answer.status().as_u16()
}

/// Sends a request and reads nothing of the answer.
fn stalled(url: &str, token: &str, path: &str) -> TcpStream {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    let head = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

#[test]
fn a_token_that_reads_nothing_of_its_answers_keeps_nobody_else_from_theirs() {
    for path in ["api/v1/samples?format=csv", "api/v1/samples", "api/v1/events", "api/v1/jobs"] {
        let place = Place::file();
        let url = serve_with_tokens(&place, &["greedy", "modest"]);
        for part in 0..4 {
            let body = lines(part * 3_000..(part + 1) * 3_000);
            let posted = agent().post(format!("{url}api/v1/samples")).header("authorization", "Bearer modest");
            assert_eq!(posted.send(body).unwrap().status().as_u16(), 200);
        }
        let greedy: Vec<TcpStream> = (0..300).map(|_| stalled(&url, "greedy", path)).collect();
        std::thread::sleep(Duration::from_millis(500));
        let started = Instant::now();
        for number in 0..20 {
            for asked in ["api/v1/runs", "api/v1/samples?limit=10&format=csv", "api/v1/samples?limit=10", "healthz"] {
                assert_eq!(ask(&url, "modest", asked), 200, "{path}, then {asked}");
            }
            let posted = agent().post(format!("{url}api/v1/samples")).header("authorization", "Bearer modest");
            assert_eq!(posted.send(lines([50_000 + number].into_iter())).unwrap().status().as_u16(), 200);
        }
        assert!(started.elapsed() < Duration::from_secs(120), "{path}: {:?}", started.elapsed());
        drop(greedy);
    }
}

#[test]
fn a_token_with_too_many_answers_at_once_is_told_so() {
    let place = Place::file();
    let url = serve_with_tokens(&place, &["greedy"]);
    for part in 0..4 {
        let body = lines(part * 3_000..(part + 1) * 3_000);
        let posted = agent().post(format!("{url}api/v1/samples")).header("authorization", "Bearer greedy");
        assert_eq!(posted.send(body).unwrap().status().as_u16(), 200);
    }
    let greedy: Vec<TcpStream> = (0..70).map(|_| stalled(&url, "greedy", "api/v1/samples")).collect();
    let started = Instant::now();
    while ask(&url, "greedy", "api/v1/runs") != 429 {
        assert!(started.elapsed() < Duration::from_secs(60));
    }
    drop(greedy);
    while ask(&url, "greedy", "api/v1/runs") != 200 {
        assert!(started.elapsed() < Duration::from_secs(120));
    }
}

#[test]
fn unknown_tokens_of_an_address_are_limited_and_valid_ones_are_not() {
    let place = Place::file();
    let url = serve_with_tokens(&place, &["anna"]);
    let wrong: Vec<u16> = (0..60).map(|number| ask(&url, &number.to_string(), "api/v1/runs")).collect();
    assert!(wrong[0] == 401 && wrong.contains(&429), "{wrong:?}");
    assert_eq!(ask(&url, "anna", "api/v1/runs"), 200);
}

#[test]
fn a_collector_whose_last_token_was_revoked_stays_closed_after_a_restart() {
    let place = Place::file();
    drop(serve_with_tokens(&place, &["anna"]));
    assert!(place.open().revoke_token("anna", "me").unwrap());
    let url = serve_with_tokens(&place, &[]);
    for path in ["api/v1/samples", "api/v1/runs"] {
        assert_eq!(get(&url, path).0, 401, "{path}");
    }
    assert_eq!(post(&agent(), &url, &lines(1..2)).0, 401);
}

#[test]
fn a_sample_with_a_wrong_clock_is_rejected_with_the_reason() {
    let place = Place::file();
    let url = serve(&place.location);
    for (moment, why) in [
        ("1970-01-01T00:00:09Z", "started_at is 1970-01-01T00:00:09Z, which is before 2000"),
        ("9999-01-01T00:00:00Z", "started_at is 9999-01-01T00:00:00Z, which is in the future"),
    ] {
        let line = lines(1..2).replace("2026-11-21T10:00:00Z", moment);
        let (status, answer) = post(&agent(), &url, &(line + &lines(2..3)));
        assert!(status == 200 && answer.contains(why) && answer.contains("set the clock"), "{status} {answer}");
    }
    assert_eq!(get(&url, "api/v1/samples").1, lines(2..3));
}

#[test]
fn a_sample_that_would_be_removed_at_once_is_rejected() {
    let place = Place::file();
    let collector = Collector::bind("127.0.0.1:0".parse().unwrap(), Access::default()).unwrap();
    let url = collector.url();
    let options = Options { keep: Some(Duration::from_hours(24)), ..Options::default() };
    let store = place.open();
    std::thread::spawn(move || collector.with(options).run(store));
    let old = lines(1..2).replace("2026-11-21T10:00:00Z", "2026-01-01T10:00:00Z");
    let (status, answer) = post(&agent(), &url, &old);
    assert!(status == 400 && answer.contains("this collector removes samples from that time (--keep)"), "{answer}");
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
