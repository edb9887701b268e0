//! Senders: receipts are checked against the sent samples, and a failing collector neither loses
//! samples nor slows runs down.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::foreglow::{Foreglow, SAMPLES, Serving, TOKEN, get, id, line, post};

/// Answers one request after the other with these responses, and returns the address.
fn answering(responses: Vec<String>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        for response in responses {
            let (stream, _) = listener.accept().unwrap();
            answer(stream, &response);
        }
    });
    (url, thread)
}

/// Reads a whole request and answers it.
fn answer(mut stream: TcpStream, response: &str) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut length, mut line) = (0, String::new());
    while line != "\r\n" {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0);
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(response.as_bytes()).unwrap();
}

fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n{body}")
}

fn waiting(home: &Foreglow) -> String {
    home.run(&["upload", "--waiting", "--format", "csv"]).stdout
}

#[test]
fn a_token_that_others_in_the_network_can_read_is_warned_of() {
    // The store is empty, so that nothing is sent.
    let home = Foreglow::new();
    let said = |to: &str, token: Option<&str>| {
        let mut command = home.command();
        command.args(["upload", "--to", to]);
        token.map(|token| command.env("FOREGLOW_TOKEN", token));
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    let warned = said("http://collector.example.org:8787", Some(TOKEN));
    assert!(
        warned.contains("can read the token that is sent to http://collector.example.org:8787; use https://"),
        "{warned}"
    );
    assert!(!warned.contains(TOKEN));
    for (to, token) in [
        ("http://collector.example.org:8787", None),
        ("https://collector.example.org", Some(TOKEN)),
        ("http://127.0.0.1:8787", Some(TOKEN)),
    ] {
        assert_eq!(said(to, token), "", "{to}");
    }
}

#[test]
fn a_receipt_that_does_not_account_for_the_samples_loses_none() {
    let home = Foreglow::new();
    let (url, server) = answering(vec![response("200 OK", "", r#"{"new":0,"known":0,"rejected":[]}"#)]);
    let sent = home.run(&["upload", SAMPLES, "--to", &url]);
    server.join().unwrap();
    assert_eq!(sent.code, 1, "{}", sent.stdout);
    assert!(sent.stderr.contains("21 of 21 samples were not sent"), "{}", sent.stderr);
    assert!(sent.stderr.contains("a receipt that does not match"), "{}", sent.stderr);
    assert_eq!(waiting(&home), format!("collector,samples,rejected\n{url},21,0\n"));
}

#[test]
fn rejected_samples_are_kept_listed_sent_again_and_discarded() {
    let home = Foreglow::new();
    let receipt = r#"{"new":19,"known":1,"rejected":[{"line":3,"error":"its schema is 2"}]}"#;
    let (url, server) = answering(vec![response("200 OK", "", receipt), response("200 OK", "", receipt)]);
    let sent = home.run(&["upload", SAMPLES, "--to", &url]);
    assert!(sent.code == 1 && sent.stderr.contains("the collector rejected 1 sample"), "{}", sent.stderr);
    assert_eq!(waiting(&home), format!("collector,samples,rejected\n{url},0,1\n"));
    let listed = home.run(&["upload", "--rejected", "--format", "csv"]).stdout;
    let third = foreglow_shared::parse_line(std::fs::read_to_string(SAMPLES).unwrap().lines().nth(2).unwrap()).unwrap();
    assert_eq!(listed, format!("id,collector,reason\n{},{url},its schema is 2\n", third.id));
    let nothing = home.run(&["upload", "--to", &url]);
    assert!(nothing.code == 0 && nothing.stdout.starts_with("nothing was sent"), "{}", nothing.stdout);

    // The same address, now with a collector that supports the schema.
    let other = Foreglow::new();
    assert_eq!(other.run(&["upload", SAMPLES, "--to", &url]).code, 1);
    server.join().unwrap();
    let upgraded = Foreglow::new();
    let collector = Serving::start_with(&upgraded, &["--listen", url.trim_start_matches("http://")]);
    let again = home.run(&["upload", "--to", &url, "--again"]);
    assert!(again.code == 0 && again.stdout.contains("1 new, 0 known, 0 rejected"), "{}{}", again.stdout, again.stderr);
    assert_eq!(get(&collector.url, &format!("/api/v1/samples/{}", third.id)).0, 200);
    assert_eq!(waiting(&home), "collector,samples,rejected\n");
    let discarded = other.run(&["upload", "--discard-rejected", &url]);
    assert!(discarded.stderr.starts_with("discarded 1 sample that it rejected"), "{}", discarded.stderr);
    assert_eq!(waiting(&other), "collector,samples,rejected\n");
}

#[test]
fn another_sample_with_the_same_id_is_a_conflict_that_both_sides_report() {
    let (home, collector) = (Foreglow::new(), Foreglow::new());
    let server = Serving::start(&collector);
    assert_eq!(post(&server.url, &line(1)).0, 200);
    let other = line(1).replace("2.5", "9.5");
    let (status, receipt) = post(&server.url, &format!("{}\n{other}\n{}", line(2), line(1)));
    let expected = format!(
        r#"{{"new":1,"known":1,"conflicts":[{{"line":2,"error":"another sample with the id {} is stored, and was kept"}}],"rejected":[]}}"#,
        id(1)
    );
    assert_eq!((status, receipt), (200, expected));
    let file = home.write("other.jsonl", &(other + "\n"));
    let sent = home.run(&["upload", &file, "--to", &server.url]);
    assert!(sent.code == 1 && sent.stderr.contains("another sample with the id"), "{}", sent.stderr);
    assert!(home.run(&["upload", "--rejected"]).stdout.contains("another sample with the id"));
    assert_eq!(get(&server.url, &format!("/api/v1/samples/{}", id(1))).1, line(1) + "\n");
}

#[test]
fn a_busy_collector_is_asked_again_after_the_delay_that_it_names() {
    let home = Foreglow::new();
    let busy = response("503 Service Unavailable", "retry-after: 2\r\n", r#"{"error":"too many requests"}"#);
    let (url, server) = answering(vec![busy, response("200 OK", "", r#"{"new":21,"known":0,"rejected":[]}"#)]);
    let started = Instant::now();
    let sent = home.run(&["upload", SAMPLES, "--to", &url]);
    server.join().unwrap();
    assert!(sent.code == 0 && sent.stdout.contains("21 new"), "{}{}", sent.stdout, sent.stderr);
    assert!(started.elapsed() >= Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn a_wrong_token_is_reported_as_such_however_large_the_request() {
    let home = Foreglow::new();
    let collector = Foreglow::new();
    let server = Serving::start_with(&collector, &["--listen", "127.0.0.1:0", "--token", TOKEN]);
    let many: String = (0..2_000).map(|number| line(number) + "\n").collect();
    let file = home.write("many.jsonl", &many);
    let sent = home.run(&["upload", &file, "--to", &server.url, "--token", "wrong"]);
    assert!(sent.code == 1 && sent.stderr.contains("requires a token"), "{}", sent.stderr);
    let sent = home.run(&["upload", "--to", &server.url, "--token", TOKEN]);
    assert!(sent.code == 0 && sent.stdout.contains("2000 new"), "{}{}", sent.stdout, sent.stderr);
}

/// A short run of a CNN, with a separate cache.
const RUN: [&str; 9] = ["run", "--model", "lenet5", "--images", "40", "--sampling-rate", "1", "--device", "cpu"];

/// A collector that accepts connections and never answers.
fn hung() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

fn cached(home: &Foreglow) -> [String; 2] {
    ["--cache-dir".to_owned(), home.path("cache")]
}

#[test]
fn a_run_and_the_demo_send_their_samples() {
    let home = Foreglow::new();
    let collector = Foreglow::new();
    let server = Serving::start(&collector);
    let cache = cached(&home);
    let cache = [cache[0].as_str(), &cache[1]];
    let ran = home.run(&[&RUN[..], &cache, &["--upload", &server.url, "--format", "json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("has the samples: 1 new, 0 known, 0 rejected"), "{}", ran.stderr);
    assert_eq!(get(&server.url, "/api/v1/samples").1, ran.stdout);
    let demo = ["demo", "--once", "--model", "lenet5", "--images", "400", "--device", "cpu", "--upload", &server.url];
    let demo = home.run(&[&demo[..], &cache].concat());
    assert_eq!(demo.code, 0, "{}", demo.stderr);
    assert!(demo.stderr.contains("has the samples: 21 new, 0 known, 0 rejected"), "{}", demo.stderr);
}

#[test]
fn a_hung_collector_delays_a_run_by_seconds_at_most_and_loses_nothing() {
    let home = Foreglow::new();
    let (_listener, url) = hung();
    let cache = cached(&home);
    let started = Instant::now();
    let ran = home.run(&[&RUN[..], &[&cache[0], &cache[1], "--upload", &url]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("the collector is slow; the sample was not sent"), "{}", ran.stderr);
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert_eq!(waiting(&home), format!("collector,samples,rejected\n{url},1,0\n"));
}

#[test]
fn a_killed_command_leaves_its_sample_to_the_next_upload() {
    let home = Foreglow::new();
    let (listener, url) = hung();
    let cache = cached(&home);
    let mut command = home.command();
    command.args(RUN).args(&cache).args(["--upload", &url, "--format", "json"]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut sample = String::new();
    // The sample is printed while its upload still waits.
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut sample).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(listener);
    let collector = Foreglow::new();
    let server = Serving::start(&collector);
    let sent = home.run(&["upload", "--to", &server.url, "--instead-of", &url]);
    assert!(sent.code == 0 && sent.stdout.contains("1 new"), "{}{}", sent.stdout, sent.stderr);
    assert_eq!(get(&server.url, "/api/v1/samples").1, sample);
}

#[test]
fn a_file_is_sent_though_its_samples_were_rejected_or_wait_with_other_content() {
    let home = Foreglow::new();
    let rejects = r#"{"new":0,"known":0,"rejected":[{"line":1,"error":"its schema is 2"}]}"#;
    let (url, server) = answering(vec![response("200 OK", "", rejects)]);
    let file = home.write("one.jsonl", &(line(1) + "\n"));
    assert_eq!(home.run(&["upload", &file, "--to", &url]).code, 1);
    server.join().unwrap();
    // The collector is down, and the sample is queued with its first content.
    assert_eq!(home.run(&["upload", &file, "--to", &url]).code, 1);
    assert_eq!(waiting(&home), format!("collector,samples,rejected\n{url},1,0\n"));

    let same = home.run(&["upload", "--waiting"]);
    let kept = home.run(&["upload", "--to", &url, "--instead-of", &url]);
    assert!(kept.code == 1 && kept.stderr.contains("was not sent"), "{}", kept.stderr);
    assert_eq!(home.run(&["upload", "--waiting"]).stdout, same.stdout, "the same collector loses nothing");

    let upgraded = Foreglow::new();
    let collector = Serving::start_with(&upgraded, &["--listen", url.trim_start_matches("http://")]);
    let corrected = line(1).replace("2.5", "9.5");
    let file = home.write("one.jsonl", &(corrected.clone() + "\n"));
    let sent = home.run(&["upload", &file, "--to", &url]);
    assert!(sent.code == 0 && sent.stdout.contains("1 new"), "{}{}", sent.stdout, sent.stderr);
    assert_eq!(get(&collector.url, "/api/v1/samples").1, corrected + "\n");
}
