//! Tokens with roles, the sign-in of browsers, TLS, and the audit log.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ureq::http::Response;
use ureq::tls::{Certificate, PemItem, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use crate::foreglow::{Foreglow, SAMPLES, Serving, get, id, line, post};
use crate::{authority, read_events};

const TLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tls");

/// Makes a token and returns its secret.
fn token(home: &Foreglow, arguments: &[&str]) -> String {
    let made = home.run(&[&["tokens", "create"], arguments].concat());
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(made.stderr.contains("is shown only now"), "{}", made.stderr);
    made.stdout.trim().to_owned()
}

fn agent() -> Agent {
    Agent::config_builder().http_status_as_error(false).max_redirects(0).proxy(None).build().new_agent()
}

fn with(url: &str, path: &str, header: (&str, &str)) -> Response<Body> {
    agent().get(format!("{}{path}", url.trim_end_matches('/'))).header(header.0, header.1).call().unwrap()
}

fn status(url: &str, method: &str, path: &str, token: &str) -> u16 {
    let (url, bearer) = (format!("{}{path}", url.trim_end_matches('/')), format!("Bearer {token}"));
    let response = match method {
        "POST" => agent().post(url).header("authorization", bearer).send(line(1)),
        "DELETE" => agent().delete(url).header("authorization", bearer).call(),
        _ => agent().get(url).header("authorization", bearer).call(),
    };
    response.unwrap().status().as_u16()
}

#[test]
fn each_role_may_do_its_part() {
    let home = Foreglow::new();
    let (machine, person) = (token(&home, &["node1", "--role", "write"]), token(&home, &["anna", "--role", "read"]));
    let (both, admin) = (token(&home, &["ben", "--role", "read,write"]), token(&home, &["root", "--role", "admin"]));
    // The store's tokens protect an address that others can reach.
    let server = Serving::start_with(&home, &["--listen", "0.0.0.0:0"]);
    let url = server.url.replace("0.0.0.0", "127.0.0.1");
    let sample = format!("/api/v1/samples/{}", id(1));
    let expected = [
        ("GET", "/api/v1/samples", [403, 200, 200, 200]),
        ("GET", "/api/v1/workloads", [403, 200, 200, 200]),
        ("GET", "/metrics", [403, 200, 200, 200]),
        ("POST", "/api/v1/samples", [200, 403, 200, 200]),
        ("DELETE", &sample, [403, 403, 403, 200]),
        ("GET", "/healthz", [200, 200, 200, 200]),
    ];
    for (method, path, statuses) in expected {
        let found = [&machine, &person, &both, &admin].map(|token| status(&url, method, path, token));
        assert_eq!(found, statuses, "{method} {path}");
    }
    assert_eq!(status(&url, "GET", "/api/v1/samples", "foreglow_00"), 401);
    let (code, answer) = get(&url, "/api/v1/samples");
    assert!(code == 401 && answer.contains("requires a token"), "{code} {answer}");
    let record = home.run(&["store", "audit", "--format", "csv"]).stdout;
    assert!(record.contains(&format!("root,removed the sample {}", id(1))), "{record}");
    assert!(record.contains("made the token anna (read)"), "{record}");
}

#[test]
fn tokens_are_made_and_revoked_while_the_collector_runs() {
    let home = Foreglow::new();
    let server = Serving::start_with(&home, &["--listen", "127.0.0.1:0", "--access-log", &home.path("access.log")]);
    assert_eq!(get(&server.url, "/api/v1/samples").0, 200, "nothing protects it yet");
    let secret = token(&home, &["anna", "--role", "read,write", "--expires", "90d"]);
    assert_eq!(get(&server.url, "/api/v1/samples").0, 401, "the first token protects it");
    assert_eq!(status(&server.url, "GET", "/api/v1/samples", &secret), 200);
    let file = home.write("token", &format!("{secret}\n"));
    let sent = home.run(&["upload", SAMPLES, "--to", &server.url, "--token-file", &file]);
    assert!(sent.code == 0 && sent.stdout.contains("21 new"), "{}{}", sent.stdout, sent.stderr);

    // The stop stores the last use.
    assert_eq!(server.stop(), Some(0));
    let listed = home.run(&["tokens", "list", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let anna = &listed["tokens"][0];
    assert_eq!((&anna["name"], &anna["roles"]), (&"anna".into(), &"read,write".into()));
    assert!(anna["last_used_at"].is_string() && anna["expires_at"].is_string(), "{anna}");
    let store = std::fs::read(home.path("data/samples.sqlite")).unwrap();
    assert!(!store.windows(secret.len()).any(|window| window == secret.as_bytes()), "the store has only the hash");
    let log = std::fs::read_to_string(home.path("access.log")).unwrap();
    assert!(log.contains(r#""token":"anna","method":"POST","path":"/api/v1/samples","status":200"#), "{log}");
    assert!(log.contains(r#""token":null,"method":"GET","path":"/api/v1/samples","status":401"#), "{log}");
    assert!(!log.contains(&secret));

    let server = Serving::start(&home);
    assert_eq!(home.run(&["tokens", "revoke", "anna"]).code, 0);
    assert_eq!(status(&server.url, "GET", "/api/v1/samples", &secret), 401);
    assert_eq!(get(&server.url, "/api/v1/samples").0, 401, "revoking the last token opens nothing");
    assert_eq!(home.run(&["tokens", "revoke", "anna"]).code, 2);
}

#[test]
fn listing_and_revoking_tokens_make_no_store() {
    let home = Foreglow::new();
    for arguments in [&["list"][..], &["revoke", "anna"], &["list", "--store", &home.path("typo.sqlite")]] {
        let answer = home.run(&[&["tokens"], arguments].concat());
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{arguments:?}: {}", answer.stderr);
        let advice = "; make a token with `foreglow tokens create`, or name the collector's store with --store\n";
        assert!(
            answer.stderr.contains("there is no store at ") && answer.stderr.ends_with(advice),
            "{}",
            answer.stderr
        );
    }
    assert!(!std::path::Path::new(&home.path("typo.sqlite")).exists());
}

#[test]
fn a_token_ends_and_its_name_is_used_once() {
    let home = Foreglow::new();
    let brief = token(&home, &["brief", "--role", "read", "--expires", "1s"]);
    let again = home.run(&["tokens", "create", "brief", "--role", "read"]);
    assert!(again.code == 2 && again.stderr.contains("there is a token brief already"), "{}", again.stderr);
    assert_eq!(home.run(&["tokens", "create", "no name", "--role", "read"]).code, 2);
    assert_eq!(home.run(&["tokens", "create", "x", "--role", "king"]).code, 2);
    std::thread::sleep(Duration::from_millis(1_100));
    let server = Serving::start(&home);
    assert_eq!(status(&server.url, "GET", "/api/v1/samples", &brief), 401);
    assert!(home.run(&["tokens", "list"]).stdout.contains("expired"));
}

#[test]
fn a_token_above_its_limit_is_told_when_to_come_back() {
    let home = Foreglow::new();
    let slow = token(&home, &["slow", "--role", "read", "--limit", "60"]);
    let server = Serving::start(&home);
    let bearer = format!("Bearer {slow}");
    let answers: Vec<_> = (0..12).map(|_| with(&server.url, "/api/v1/workloads", ("authorization", &bearer))).collect();
    let refused = answers.iter().find(|answer| answer.status() == 429).unwrap();
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(answers[0].status(), 200);
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(status(&server.url, "GET", "/api/v1/workloads", &slow), 200);
}

/// Signs in and returns the cookie as a browser sends it.
fn sign_in(url: &str, secret: &str) -> String {
    let answer = agent().post(url).header("origin", url.trim_end_matches('/')).send_form([("token", secret)]).unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["location"].to_str().unwrap()), (303, "/"));
    let cookie = answer.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

#[test]
fn a_browser_signs_in_once_and_reads_samples_and_events() {
    let home = Foreglow::new();
    let (person, machine) = (token(&home, &["anna", "--role", "read"]), token(&home, &["node1", "--role", "write"]));
    let server = Serving::start(&home);
    let (code, form) = get(&server.url, "/");
    assert!(code == 401 && form.contains("<form method=\"post\">") && form.contains("type=\"password\""), "{form}");
    for wrong in ["foreglow_0", &machine, ""] {
        let answer = agent().post(&server.url).send_form([("token", wrong)]).unwrap();
        assert!([400, 401].contains(&answer.status().as_u16()) && !answer.headers().contains_key("set-cookie"));
    }
    let cookie = sign_in(&server.url, &person);
    // The page is missing in a binary that was built without it.
    assert!([200, 404].contains(&with(&server.url, "/", ("cookie", &cookie)).status().as_u16()));
    assert_eq!(with(&server.url, "/api/v1/samples", ("cookie", &cookie)).status(), 200);
    let name = cookie.split('=').next().unwrap();
    assert_eq!(with(&server.url, "/api/v1/samples", ("cookie", &format!("{name}=00"))).status(), 401);
    let foreign = agent().post(&server.url).header("origin", "http://example.org").send_form([("token", &*person)]);
    assert_eq!(foreign.unwrap().status(), 403);

    let mut stream = TcpStream::connect(authority(&server.url)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let host = authority(&server.url);
    write!(stream, "GET /api/v1/events HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n\r\n").unwrap();
    let mut events = BufReader::new(stream);
    let mut greeting = String::new();
    while !greeting.contains(": samples follow") {
        assert!(events.read_line(&mut greeting).unwrap() > 0, "{greeting}");
    }
    assert_eq!(status(&server.url, "POST", "/api/v1/samples", &machine), 200);
    assert_eq!(read_events(&mut events, 1), [id(1)]);
    // An open stream ends soon after its token is revoked.
    assert_eq!(home.run(&["tokens", "revoke", "anna"]).code, 0);
    let mut rest = String::new();
    events.read_to_string(&mut rest).unwrap();
    let answer = agent().post(format!("{}sign-out", server.url)).send_empty().unwrap();
    assert!(answer.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
}

#[test]
fn the_samples_of_a_leaked_token_are_listed_and_removed() {
    let home = Foreglow::new();
    let [leaked, node] = ["leaked", "node1"].map(|name| token(&home, &[name, "--role", "write"]));
    let server = Serving::start(&home);
    let send = |token: &str, body: &str| {
        let bearer = format!("Bearer {token}");
        let posted = agent().post(format!("{}api/v1/samples", server.url)).header("authorization", bearer).send(body);
        assert_eq!(posted.unwrap().status(), 200);
    };
    send(&node, &line(1));
    // Far from the others of its group.
    let wrong = line(2).replace(r#""completion_time_secs":2.5"#, r#""completion_time_secs":900"#);
    let others: String = (3..8).map(|number| line(number) + "\n").collect();
    send(&leaked, &format!("{wrong}\n{others}"));
    let listed = |arguments: &[&str]| {
        let answer = home.run(&[&["samples", "list", "--format", "json"], arguments].concat());
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        answer.stdout.lines().count()
    };
    assert_eq!(listed(&["--by", "leaked"]), 6);
    assert_eq!(listed(&["--by", "leaked", "--outliers"]), 1);
    assert_eq!(listed(&["--by", "leaked", "--since", "2100-01-01T00:00:00Z"]), 0);
    assert_eq!(home.run(&["samples", "list", SAMPLES, "--by", "leaked"]).code, 2);
    let planned = home.run(&["plan"]);
    let warning =
        format!("1 sample is far from the repetitions of the same run, and counts: {} (sent by leaked)", id(2));
    assert!(planned.stderr.contains(&warning), "{}", planned.stderr);
    let command = "`foreglow samples list --outliers` lists them, and the command that measured them, with --redo-outliers, \
                   measures them again";
    assert!(planned.stderr.contains(command), "{}", planned.stderr);
    let file = home.write("some samples.jsonl", &format!("{wrong}\n{others}"));
    let planned = home.run(&["plan", &file]);
    let warning = format!("counts: {}; `foreglow samples list '{file}' --outliers` lists them", id(2));
    assert!(planned.stderr.contains(&warning), "{}", planned.stderr);
    let alike = home.write("alike.jsonl", &others);
    assert!(!home.run(&["plan", &alike]).stderr.contains("far from"));
    assert_eq!(home.run(&["samples", "remove", "--since", "2100-01-01T00:00:00Z"]).code, 2);
    let removed = home.run(&["samples", "remove", "--by", "leaked", "--since", "2026-01-01T00:00:00Z"]);
    assert!(removed.code == 0 && removed.stderr.starts_with("6 samples removed from "), "{}", removed.stderr);
    assert_eq!(home.run(&["samples", "list", "--format", "csv"]).stdout.lines().count(), 2);
}

#[test]
fn the_host_is_checked_even_if_access_is_open() {
    let home = Foreglow::new();
    let arguments = ["--listen", "0.0.0.0:0", "--allow-open", "--host", "timing.example.org"];
    let server = Serving::start_with(&home, &arguments);
    let url = server.url.replace("0.0.0.0", "127.0.0.1");
    for (host, status) in [("timing.example.org", 200), ("10.0.0.1:8787", 200), ("evil.example.org:8787", 403)] {
        for path in ["/api/v1/samples", "/healthz"] {
            assert_eq!(with(&url, path, ("host", host)).status(), status, "{host}{path}");
        }
    }
}

fn trusting_agent() -> Agent {
    let pem = std::fs::read(format!("{TLS}/ca.pem")).unwrap();
    let certificates: Vec<Certificate<'static>> = parse_pem(&pem)
        .filter_map(|item| match item.unwrap() {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        })
        .collect();
    let tls = TlsConfig::builder().root_certs(certificates.into()).build();
    Agent::config_builder().tls_config(tls).http_status_as_error(false).proxy(None).build().new_agent()
}

#[test]
fn a_collector_with_a_certificate_speaks_tls_and_follows_a_new_one() {
    let home = Foreglow::new();
    let secret = token(&home, &["node1", "--role", "read,write"]);
    let copy = |name: &str| {
        for kind in ["pem", "key"] {
            std::fs::copy(format!("{TLS}/{name}.{kind}"), home.path(&format!("server.{kind}"))).unwrap();
        }
    };
    copy("first");
    let (certificate, key) = (home.path("server.pem"), home.path("server.key"));
    let arguments = ["--listen", "127.0.0.1:0", "--tls-cert", &certificate, "--tls-key", &key];
    let server = Serving::start_with(&home, &arguments);
    assert!(server.url.starts_with("https://"), "{}", server.url);
    let health = trusting_agent().get(format!("{}healthz", server.url)).call().unwrap();
    assert_eq!(health.status(), 200);
    assert!(agent().get(format!("{}healthz", server.url)).call().is_err(), "an unknown authority is not trusted");

    let sender = Foreglow::new();
    let upload = |ca: Option<&str>| {
        let mut command = sender.command();
        command.args(["upload", SAMPLES, "--to", &server.url]).env("FOREGLOW_TOKEN", &secret);
        ca.map(|ca| command.env("FOREGLOW_CA", ca));
        command.output().unwrap()
    };
    assert_eq!(upload(None).status.code(), Some(1));
    let sent = upload(Some(&format!("{TLS}/ca.pem")));
    assert!(sent.status.success() && String::from_utf8_lossy(&sent.stdout).contains("21 new"), "{sent:?}");

    // A silent connection, and one that does not speak TLS, do not block others.
    let _silent = TcpStream::connect(server.url.trim_start_matches("https://").trim_end_matches('/')).unwrap();
    let mut plain = TcpStream::connect(server.url.trim_start_matches("https://").trim_end_matches('/')).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    copy("second");
    let name = || {
        let stream = std::process::Command::new("openssl")
            .args(["s_client", "-connect", server.url.trim_start_matches("https://").trim_end_matches('/')])
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&stream.stdout).contains("CN = second")
    };
    // Without the program the change of the certificate is not checked.
    if std::process::Command::new("openssl").arg("version").output().is_ok() {
        let follows = (0..30).any(|_| {
            std::thread::sleep(Duration::from_secs(1));
            name()
        });
        assert!(follows, "the new certificate is not used");
    }
    drop(server);
    let swapped = ["serve", "--listen", "127.0.0.1:0", "--tls-cert", &certificate, "--tls-key", &certificate];
    let wrong = home.run(&swapped);
    assert!(wrong.code == 2 && wrong.stderr.contains("is not a private key"), "{}", wrong.stderr);
}

#[test]
fn the_state_of_a_collector_is_told_to_programs() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    assert_eq!(post(&server.url, &format!("{}\n{}\nno sample", line(1), line(2))).0, 200);
    let (_, version) = get(&server.url, "/version");
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    assert_eq!(get(&server.url, "/readyz"), (200, "ready\n".to_owned()));
    let (_, metrics) = get(&server.url, "/metrics");
    for expected in [
        "foreglow_stored_samples 2",
        "foreglow_received_samples_total{result=\"new\"} 2",
        "foreglow_received_samples_total{result=\"rejected\"} 1",
        "foreglow_requests_total{method=\"POST\",route=\"/api/v1/samples\",status=\"200\"} 1",
        "foreglow_store_damaged 0",
        "foreglow_store_errors_total 0",
    ] {
        assert!(metrics.lines().any(|line| line == expected), "{expected} in\n{metrics}");
    }
}

#[test]
fn a_store_that_is_removed_while_it_is_served_takes_no_samples() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    assert_eq!(post(&server.url, &line(1)).0, 200);
    let (store, aside) = (home.path("data/samples.sqlite"), home.path("aside"));
    std::fs::rename(&store, &aside).unwrap();
    let (code, answer) = post(&server.url, &line(2));
    assert!(code == 503 && answer.contains("was removed or replaced"), "{code} {answer}");
    let (code, answer) = get(&server.url, "/readyz");
    assert!(code == 503 && answer.contains("was removed or replaced"), "{code} {answer}");
    std::fs::rename(&aside, &store).unwrap();
    assert_eq!(post(&server.url, &line(2)).0, 200);
    assert_eq!(get(&server.url, "/readyz").0, 200);
}

#[test]
fn the_token_of_a_sender_does_not_become_that_of_the_collector() {
    let home = Foreglow::new();
    let secret = token(&home, &["node1", "--role", "write"]);
    let file = home.write("node1.token", &secret);
    let mut serve = home.command();
    serve.args(["serve", "--listen", "127.0.0.1:0"]).env("FOREGLOW_TOKEN_FILE", &file);
    let refused = serve.stdin(std::process::Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("is that of node1"), "{said}");

    // The command line takes precedence over the environment.
    let server = Serving::start(&home);
    let wrong = home.write("wrong.token", "foreglow_00");
    let mut upload = home.command();
    upload.args(["upload", SAMPLES, "--to", &server.url, "--token", &secret]).env("FOREGLOW_TOKEN_FILE", &wrong);
    let sent = upload.output().unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
}
