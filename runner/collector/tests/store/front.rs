//! What strangers and other sites can do with the requests that need no token.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use foreglow_collector::{Access, Collector, Options, Tls};
use ureq::tls::{Certificate, PemItem, TlsConfig, parse_pem};

use crate::faults::{agent, lines, post, serve, wait_for};
use crate::hostile::serve_with_tokens;
use crate::{Place, SECRET};

const TLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/tls");

fn serve_with(place: &Place, access: Access, options: Options) -> String {
    let collector = Collector::bind("127.0.0.1:0".parse().unwrap(), access).unwrap().with(options);
    let (url, store) = (collector.url(), place.open());
    std::thread::spawn(move || collector.run(store));
    url
}

fn raw(url: &str, head: &str) -> String {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://").trim_end_matches('/')).unwrap();
    write!(stream, "{head}connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_request_that_names_several_hosts_is_refused() {
    let place = Place::file();
    let url = serve(&place.location);
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    for path in ["/api/v1/runs", "/healthz", "/"] {
        for head in [
            format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nhost: {host}\r\n"),
            format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nhost: evil.example.org\r\n"),
            format!("GET http://evil.example.org{path} HTTP/1.1\r\nhost: {host}\r\n"),
        ] {
            let answer = raw(&url, &head);
            assert!(answer.starts_with("HTTP/1.1 400 "), "{head}{answer}");
        }
    }
    let whole = raw(&url, &format!("GET http://{host}/healthz HTTP/1.1\r\nhost: {host}\r\n"));
    assert!(whole.starts_with("HTTP/1.1 200 "), "{whole}");
}

#[test]
fn a_collector_with_a_certificate_tells_browsers_to_keep_to_it() {
    let tls = Tls::read(format!("{TLS}/first.pem").as_ref(), format!("{TLS}/first.key").as_ref()).unwrap();
    let place = Place::file();
    let access = Access { hosts: vec!["timing.example.org".to_owned()], ..Access::default() };
    let url = serve_with(&place, access, Options { tls: Some(tls), ..Options::default() });
    let pem = std::fs::read(format!("{TLS}/ca.pem")).unwrap();
    let certificates: Vec<Certificate<'static>> = parse_pem(&pem)
        .filter_map(|item| match item.unwrap() {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        })
        .collect();
    let tls = TlsConfig::builder().root_certs(certificates.into()).build();
    let agent =
        ureq::Agent::config_builder().tls_config(tls).http_status_as_error(false).proxy(None).build().new_agent();
    let told = |host: &str, path: &str| {
        let answer = agent.get(format!("{url}{path}")).header("host", host).call().unwrap();
        answer.headers().get("strict-transport-security").map(|told| told.to_str().unwrap().to_owned())
    };
    for path in ["", "healthz", "api/v1/runs", "api/v1/nope"] {
        assert_eq!(told("timing.example.org", path).as_deref(), Some("max-age=31536000"), "{path}");
        assert_eq!(told("localhost:8787", path), None, "other programs of this machine may not use TLS");
    }
    let other = Place::file();
    let plain = agent.get(format!("{}healthz", serve(&other.location))).call().unwrap();
    assert!(!plain.headers().contains_key("strict-transport-security"));
}

#[test]
fn a_site_that_opens_the_planner_has_no_hold_of_it_unless_a_hand_over_is_configured() {
    for hand_over in [false, true] {
        let place = Place::file();
        let url = serve_with(&place, Access::default(), Options { hand_over, ..Options::default() });
        for path in ["", "index.html", "sign-out"] {
            let answer = agent().get(format!("{url}{path}")).call().unwrap();
            let policy = answer.headers().get("cross-origin-opener-policy").map(|policy| policy.as_bytes());
            assert_eq!(policy, (!hand_over).then_some(&b"same-origin"[..]), "{path}, {hand_over}");
        }
    }
}

#[test]
fn unknown_tokens_in_the_form_of_the_sign_in_are_limited() {
    let place = Place::file();
    let url = serve_with_tokens(&place, &["anna"]);
    let sign_in = |token: &str| agent().post(&url).send(format!("token={token}")).unwrap().status().as_u16();
    let wrong: Vec<u16> = (0..60).map(|number| sign_in(&number.to_string())).collect();
    assert!(wrong[0] == 401 && wrong.contains(&429), "{wrong:?}");
    let asked = agent().get(format!("{url}metrics")).header("authorization", "Bearer anna").call();
    let metrics = asked.unwrap().body_mut().read_to_string().unwrap();
    assert!(metrics.lines().any(|line| line == "foreglow_unknown_tokens_total 60"), "{metrics}");
}

#[test]
fn a_token_that_can_be_guessed_does_not_protect_a_collector() {
    let place = Place::file();
    let store = place.open();
    for weak in ["a", "secret", "0123456789"] {
        let error = Access::of_store(&store, Some(weak.to_owned())).unwrap_err().to_string();
        assert!(error.contains("can be guessed") && error.contains("openssl rand -hex 16"), "{error}");
    }
    assert!(Access::of_store(&store, Some(SECRET.to_owned())).is_ok());
}

#[test]
fn whether_a_collector_is_ready_is_told_without_a_lock_of_the_store() {
    let place = Place::file();
    let url = serve(&place.location);
    assert_eq!(post(&agent(), &url, &lines(1..2)).0, 200);
    wait_for(&url, "readyz", 200);
    let other = rusqlite::Connection::open(place.location.file().unwrap()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = Instant::now();
    let asked: Vec<_> = (0..100)
        .map(|_| {
            let url = url.clone();
            std::thread::spawn(move || agent().get(format!("{url}readyz")).call().unwrap().status().as_u16())
        })
        .collect();
    let answers: Vec<u16> = asked.into_iter().map(|asked| asked.join().unwrap()).collect();
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}: {answers:?}", started.elapsed());
    let late = wait_for(&url, "readyz", 503);
    assert!(late.contains("has not answered within 2 s") || late.contains("has held the store"), "{late}");
    other.execute_batch("ROLLBACK").unwrap();
    wait_for(&url, "readyz", 200);
}
