//! The collector end to end: the real binary on free ports of the loopback address.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "collector/access.rs"]
mod access;
#[path = "collector/copies.rs"]
mod copies;
#[path = "collector/damage.rs"]
mod damage;
#[path = "collector/database.rs"]
mod database;
mod foreglow;
#[path = "collector/hostile.rs"]
mod hostile;
#[path = "collector/sender.rs"]
mod sender;
#[path = "../collector/tests/postgres/mod.rs"]
mod server;

use std::io::{BufRead as _, Write as _};
use std::net::{TcpListener, TcpStream};

use foreglow::{Foreglow, SAMPLES, Serving, TOKEN, get, line, post};

/// Runs each test with a store in a file and in a database.
macro_rules! over_both {
    ($($name:ident)*) => {
        mod on_a_file {
            $(#[test]
            fn $name() {
                super::$name(&crate::Foreglow::new());
            })*
        }
        mod on_a_database {
            $(#[test]
            fn $name() {
                if let Some(server) = crate::server::shared() {
                    super::$name(&crate::Foreglow::with_store(server.database().unwrap()));
                }
            })*
        }
    };
}

over_both! {
    an_acknowledged_sample_survives_a_kill
    a_kill_amid_many_senders_loses_nothing_that_was_acknowledged
    the_same_sample_sent_twice_is_stored_once
    a_sample_is_shown_and_removed_by_its_id
    samples_of_many_senders_at_once_are_all_stored
    samples_are_filtered_paged_and_exported_as_csv
    jobs_are_listed_and_read_and_their_new_samples_announced
}

fn an_acknowledged_sample_survives_a_kill(home: &Foreglow) {
    for round in 0..5 {
        let server = Serving::start(home);
        let (status, receipt) = post(&server.url, &line(round));
        assert_eq!((status, receipt.as_str()), (200, r#"{"new":1,"known":0,"rejected":[]}"#));
        server.kill();
        let stored = get(&Serving::start(home).url, "/api/v1/samples");
        let expected: String = (0..=round).map(|number| line(number) + "\n").collect();
        assert_eq!(stored, (200, expected));
    }
}

fn a_kill_amid_many_senders_loses_nothing_that_was_acknowledged(home: &Foreglow) {
    let server = Serving::start(home);
    let url = server.url.clone();
    let (acknowledging, first) = std::sync::mpsc::channel();
    let acknowledged = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..4u32)
            .map(|sender| {
                let (url, first) = (&url, acknowledging.clone());
                // Each thread sends until the collector stops answering.
                scope.spawn(move || {
                    let numbers = (0..).map(|number| 1_000_000 * sender + number);
                    numbers
                        .take_while(|number| foreglow::try_post(url, &line(*number)) == Some(200))
                        .inspect(|_| _ = first.send(()))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        drop(acknowledging);
        first.recv().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        server.kill();
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect::<Vec<u32>>()
    });
    let stored = get(&Serving::start(home).url, "/api/v1/samples").1;
    let stored: std::collections::BTreeSet<&str> = stored.lines().collect();
    let lost: Vec<&u32> = acknowledged.iter().filter(|number| !stored.contains(line(**number).as_str())).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged samples were lost", lost.len(), acknowledged.len());
}

fn the_same_sample_sent_twice_is_stored_once(home: &Foreglow) {
    let server = Serving::start(home);
    let body = format!("{}\n\n{}\n{}\n", line(1), line(2), line(1));
    assert_eq!(post(&server.url, &body).1, r#"{"new":2,"known":1,"rejected":[]}"#);
    assert_eq!(post(&server.url, &body).1, r#"{"new":0,"known":3,"rejected":[]}"#);
    assert_eq!(get(&server.url, "/api/v1/samples").1.lines().count(), 2);
}

fn a_sample_is_shown_and_removed_by_its_id(home: &Foreglow) {
    let server = Serving::start(home);
    post(&server.url, &format!("{}\n{}", line(1), line(2)));
    let path = format!("/api/v1/samples/{}", foreglow::id(1));
    assert_eq!(get(&server.url, &path), (200, line(1) + "\n"));
    assert_eq!(foreglow::delete(&server.url, &path), (200, r#"{"removed":1}"#.to_owned()));
    let gone = (404, format!(r#"{{"error":"there is no sample with the id {}"}}"#, foreglow::id(1)));
    assert_eq!((get(&server.url, &path), foreglow::delete(&server.url, &path)), (gone.clone(), gone));
    assert_eq!(get(&server.url, "/api/v1/samples"), (200, line(2) + "\n"));
    assert_eq!(foreglow::delete(&server.url, "/api/v1/samples/x").0, 400);
}

#[test]
fn a_sample_beyond_every_limit_is_rejected_with_the_reason() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    let huge = line(1).replace(r#""executors":1"#, r#""executors":4294967295"#);
    let (status, receipt) = post(&server.url, &huge);
    assert_eq!(status, 400);
    assert!(receipt.contains("configuration.executors is 4294967295; it must be from 1 to 10000"), "{receipt}");
}

fn samples_of_many_senders_at_once_are_all_stored(home: &Foreglow) {
    let server = Serving::start(home);
    std::thread::scope(|scope| {
        for sender in 0..8 {
            let url = &server.url;
            scope.spawn(move || {
                for number in 0..10 {
                    // Every sender sends ten distinct samples, and ten that all senders share.
                    let (status, _) = post(url, &format!("{}\n{}", line(100 + 10 * sender + number), line(number)));
                    assert_eq!(status, 200);
                }
            });
        }
    });
    assert_eq!(get(&server.url, "/api/v1/samples").1.lines().count(), 90);
    let workloads = get(&server.url, "/api/v1/workloads").1;
    let workloads: serde_json::Value = serde_json::from_str(&workloads).unwrap();
    assert_eq!(workloads["workloads"][0]["samples"], 90);
}

#[test]
fn rejected_lines_are_reported_and_the_others_stored() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    let negative = line(2).replace(r#""completion_time_secs":2.5"#, r#""completion_time_secs":-1"#);
    let (status, receipt) = post(&server.url, &format!("{}\n{negative}\nno sample\n{}", line(1), line(3)));
    assert_eq!(status, 200);
    insta::assert_snapshot!(pretty(&receipt), @r#"
    {
      "new": 2,
      "known": 0,
      "rejected": [
        {
          "line": 2,
          "error": "completion_time_secs is -1; it must be a number of seconds from 1e-9 to 1e9"
        },
        {
          "line": 3,
          "error": "it is not a sample (expected ident at column 2); correct it"
        }
      ]
    }
    "#);
    assert_eq!(post(&server.url, "no sample").0, 400);
    assert_eq!(post(&server.url, "").0, 400);
    assert_eq!(get(&server.url, "/api/v1/samples").1.lines().count(), 2);
}

#[test]
fn a_too_large_request_is_rejected_before_its_body_is_sent() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    let mut stream = TcpStream::connect(authority(&server.url)).unwrap();
    let head =
        "POST /api/v1/samples HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 17000000\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let mut answer = Vec::new();
    std::io::BufReader::new(stream).read_until(b'}', &mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("a request may have at most 16 MiB"), "{answer}");
}

fn samples_are_filtered_paged_and_exported_as_csv(home: &Foreglow) {
    let server = Serving::start(home);
    let failed = line(3).replace(r#""outcome":"completed""#, r#""outcome":"failed""#);
    post(&server.url, &[line(1), line(2), failed.clone(), line(4)].join("\n"));
    let samples = |query: &str| get(&server.url, &format!("/api/v1/samples{query}"));
    assert_eq!(samples("?outcome=failed"), (200, failed + "\n"));
    assert_eq!(samples("?model=vgg16&mode=inference&engine=local"), (200, String::new()));
    let (status, header) = samples("?model=vgg16&format=csv");
    assert!(status == 200 && header.starts_with("schema,id,") && header.lines().count() == 1, "{header}");
    assert_eq!(samples("?since=2027-01-01T00:00:00Z"), (200, String::new()));
    assert_eq!(samples("?limit=1").1, line(1) + "\n");
    let response = ureq::get(format!("{}api/v1/samples?limit=2&mode=inference", server.url)).call().unwrap();
    let next = response.headers()["link"].to_str().unwrap().to_owned();
    assert_eq!(next, format!("</api/v1/samples?limit=2&mode=inference&after={}>; rel=\"next\"", foreglow::id(2)));
    assert_eq!(samples(&format!("?limit=2&after={}", foreglow::id(2))).1.lines().count(), 2);
    let csv = samples("?format=csv").1;
    assert!(csv.starts_with("schema,id,workload.model,") && csv.lines().count() == 5, "{csv}");
    for wrong in ["?limit=0", "?outcome=lost", "?since=soon", "?colour=red", &format!("?after={}", foreglow::id(99))] {
        let (status, answer) = samples(wrong);
        assert_eq!(status, 400, "{wrong}: {answer}");
        assert!(answer.starts_with(r#"{"error":""#), "{wrong}: {answer}");
    }
}

#[test]
fn the_root_serves_the_planner_or_says_how_to_build_it() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    assert_eq!(get(&server.url, "/healthz"), (200, "ok\n".to_owned()));
    let (status, page) = get(&server.url, "/");
    assert!(page.to_lowercase().contains("<!doctype html>"), "{page}");
    assert!(status == 200 || page.contains("make run"), "{page}");
    assert_eq!(get(&server.url, "/no/such/file").0, 404);
    assert_eq!(get(&server.url, "/../../etc/passwd").0, 404);
}

#[test]
fn a_page_of_another_origin_can_neither_read_nor_write() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    let url = format!("{}api/v1/samples", server.url);
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let written = agent.post(&url).header("Origin", "http://example.org").send(line(1)).unwrap();
    assert_eq!(written.status(), 403);
    let read = agent.get(&url).header("Host", "example.org:8787").call().unwrap();
    assert_eq!(read.status(), 403);
    assert_eq!(get(&server.url, "/api/v1/samples"), (200, String::new()));
}

#[test]
fn a_port_in_use_is_reported_with_advice() {
    let home = Foreglow::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let answer = home.run(&["serve", "--listen", &address]);
    assert_eq!(answer.code, 2);
    let expected = format!(
        "foreglow: {address} is in use by another program; stop that program, or use a free port with --listen 127.0.0.1:0\n"
    );
    assert_eq!((answer.stdout.as_str(), answer.stderr), ("", expected));
}

#[test]
fn a_public_address_needs_a_token_or_permission() {
    let home = Foreglow::new();
    let answer = home.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("--token TOKEN") && answer.stderr.contains("--allow-open"), "{}", answer.stderr);

    let server = Serving::start_with(&home, &["--listen", "0.0.0.0:0", "--token", TOKEN]);
    let url = server.url.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(get(&url, "/api/v1/samples").0, 401);
    assert_eq!(get(&url, "/healthz").0, 200);
    let sender = Foreglow::new();
    assert_eq!(sender.run(&["upload", SAMPLES, "--to", &url]).code, 1);
    let sent = sender.run(&["upload", "--to", &url, "--token", TOKEN]);
    assert_eq!(sent.code, 0, "{}", sent.stderr);
    assert!(sent.stdout.contains("21 new, 0 known, 0 rejected"), "{}", sent.stdout);
}

#[test]
fn samples_are_kept_while_the_collector_is_down_and_sent_by_the_next_upload() {
    let sender = Foreglow::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let url = format!("http://{free}");
    let answer = sender.run(&["upload", SAMPLES, "--to", &url]);
    assert_eq!((answer.code, answer.stdout.as_str()), (1, ""));
    assert!(
        answer.stderr.starts_with("foreglow: 21 of 21 samples were not sent; they are kept in "),
        "{}",
        answer.stderr
    );
    assert!(answer.stderr.contains(&format!("the next `foreglow upload --to {url}`")), "{}", answer.stderr);

    let home = Foreglow::new();
    let server = Serving::start_with(&home, &["--listen", &free]);
    let answer = sender.run(&["upload", "--to", &url, "--format", "json"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    insta::assert_snapshot!(answer.stdout, @r#"
    {
      "schema": 1,
      "new": 21,
      "known": 0,
      "rejected": []
    }
    "#);
    assert_eq!(get(&server.url, "/api/v1/samples").1, std::fs::read_to_string(SAMPLES).unwrap());
    let again = sender.run(&["upload", "--to", &url, "--format", "csv"]);
    assert_eq!(again.stdout, "new,known,rejected\n0,0,0\n");
}

#[test]
fn uploading_to_another_kind_of_server_loses_no_sample() {
    let sender = Foreglow::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let stranger = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut received = [0; 1 << 16];
        let _ = std::io::Read::read(&mut stream, &mut received);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi").unwrap();
    });
    let answer = sender.run(&["upload", SAMPLES, "--to", &url]);
    assert_eq!(answer.code, 1);
    assert!(answer.stderr.contains("21 of 21 samples were not sent; they are kept"), "{}", answer.stderr);
    stranger.join().unwrap();
}

#[cfg(unix)]
#[test]
fn a_full_disk_rejects_samples_and_keeps_acknowledged_ones() {
    let home = Foreglow::new();
    let first = Serving::start(&home);
    assert_eq!(post(&first.url, &line(1)).0, 200);
    first.stop();
    // 512 blocks of 512 bytes: enough to open the store, but not for two thousand samples.
    let server = Serving::start_in_little_space(&home, 512);
    let many: String = (10..2000).map(|number| line(number) + "\n").collect();
    let (status, answer) = post(&server.url, &many);
    assert_eq!(status, 503, "{answer}");
    assert!(answer.contains("nothing was stored"), "{answer}");
    assert_eq!(get(&server.url, "/api/v1/samples"), (200, line(1) + "\n"));
    server.stop();
    let roomy = Serving::start(&home);
    assert_eq!(post(&roomy.url, &many).0, 200);
}

#[cfg(unix)]
#[test]
fn a_collector_stops_on_sigterm() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    assert_eq!(get(&server.url, "/healthz").0, 200);
    // An idle connection must not delay the stop.
    let _silent = TcpStream::connect(authority(&server.url)).unwrap();
    assert_eq!(server.stop(), Some(0));
}

fn authority(url: &str) -> &str {
    url.trim_start_matches("http://").trim_end_matches('/')
}

fn pretty(json: &str) -> String {
    serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(json).unwrap()).unwrap()
}

/// Reads the event stream until `count` samples arrived and returns their IDs.
fn read_events(reader: &mut impl std::io::BufRead, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    let mut line = String::new();
    while ids.len() < count {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the stream ended after {ids:?}");
        ids.extend(line.strip_prefix("data: ").map(|data| foreglow_shared::parse_line(data).unwrap().id.to_string()));
    }
    ids
}

fn listen(url: &str, query: &str, last_event_id: &str) -> std::io::BufReader<TcpStream> {
    let mut stream = TcpStream::connect(authority(url)).unwrap();
    let head = format!(
        "GET /api/v1/events{query} HTTP/1.1\r\nhost: {}\r\nlast-event-id: {last_event_id}\r\n\r\n",
        authority(url)
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let mut reader = std::io::BufReader::new(stream);
    // Events after the greeting are not missed.
    let mut line = String::new();
    while !line.starts_with(": samples follow") {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "no greeting");
    }
    reader
}

#[test]
fn events_arrive_live_and_reconnecting_misses_none() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    post(&server.url, &line(1));
    let mut live = listen(&server.url, "", "");
    post(&server.url, &[line(1), line(2), line(3)].join("\n"));
    assert_eq!(
        read_events(&mut live, 2),
        [foreglow::id(2), foreglow::id(3)],
        "samples before the connection are not sent"
    );
    // Samples that another process writes into the same store are announced as well.
    let other = home.run(&["upload", SAMPLES, "--to", &Serving::start(&home).url]);
    assert_eq!(other.code, 0, "{}", other.stderr);
    assert_eq!(read_events(&mut live, 21).len(), 21);
    let mut back = listen(&server.url, &format!("?after={}", foreglow::id(1)), &foreglow::id(2));
    assert_eq!(read_events(&mut back, 1), [foreglow::id(3)]);
    let (status, answer) = get(&server.url, &format!("/api/v1/events?after={}", foreglow::id(99)));
    assert_eq!(status, 400, "{answer}");
}

fn jobs_are_listed_and_read_and_their_new_samples_announced(home: &Foreglow) {
    let server = Serving::start(home);
    let json = |path: &str| -> serde_json::Value {
        let (status, answer) = get(&server.url, path);
        assert_eq!(status, 200, "{path}: {answer}");
        serde_json::from_str(&answer).unwrap()
    };
    assert_eq!(json("/api/v1/jobs"), serde_json::json!({ "schema": 1, "last_id": null, "jobs": [] }));
    let other = line(3).replace("lenet5", "vgg16");
    post(&server.url, &[line(1), line(2), other].join("\n"));
    let jobs = json("/api/v1/jobs");
    let [newest, second] = [0, 1].map(|place| jobs["jobs"][place].clone());
    let models = [&newest, &second].map(|job| job["context"]["workload"]["model"].clone());
    assert_eq!((models, &second["samples"]), (["vgg16".into(), "lenet5".into()], &2.into()));
    assert_eq!(jobs["last_id"], foreglow::id(3));
    let before = format!("/api/v1/jobs?before={}", newest["latest"]);
    assert_eq!(json(&before)["jobs"], serde_json::json!([second]));

    let job = second["job"].as_str().unwrap();
    let of_job = json(&format!("/api/v1/jobs/{job}"));
    assert_eq!((&of_job["runs"], of_job["job"]["observations"].as_array().unwrap().len()), (&2.into(), 2));
    assert_eq!(of_job["job"]["context"], second["context"]);
    assert_eq!(json(&format!("/api/v1/runs?job={job}"))["runs"][0]["samples"], 2);
    assert_eq!(get(&server.url, &format!("/api/v1/samples?job={job}&limit=1")).1, line(1) + "\n");
    assert_eq!(get(&server.url, "/api/v1/jobs/0").0, 404);
    assert_eq!(get(&server.url, "/api/v1/jobs?limit=0").0, 400);

    let mut live = listen(&server.url, &format!("?of=jobs&after={}", foreglow::id(2)), "");
    let mut event = String::new();
    while !event.starts_with("data: ") {
        event.clear();
        live.read_line(&mut event).unwrap();
    }
    let expected = serde_json::json!({ "job": newest["job"], "samples": 1 });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&event["data: ".len()..]).unwrap(), expected);
}

#[cfg(unix)]
#[test]
fn an_open_event_stream_does_not_delay_the_stop() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    let _live = listen(&server.url, "", "");
    let started = std::time::Instant::now();
    assert_eq!(server.stop(), Some(0));
    assert!(started.elapsed() < std::time::Duration::from_secs(4), "it took {:?}", started.elapsed());
}

#[test]
fn the_planner_has_a_strict_content_security_policy() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let page = agent.get(&server.url).call().unwrap();
    // A binary built without the planner has no page.
    if page.status() == 200 {
        let policy = page.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self' 'wasm-unsafe-eval';"));
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("'unsafe-eval'"), "{policy}");
    }
}
