//! The commands on a store in a PostgreSQL database.

use crate::foreglow::{Foreglow, SAMPLES, Serving, get, line, post};
use crate::server;

#[test]
fn the_commands_of_a_collector_use_a_database() {
    let Some(server) = server::shared() else { return };
    let (home, url) = (Foreglow::new(), server.database().unwrap());
    let run = |arguments: &[&str]| home.run(&[arguments, &["--store", &url]].concat());
    let none = run(&["store", "audit"]);
    assert!(none.code == 2 && none.stderr.contains("there is no store at postgres://postgres@"), "{}", none.stderr);
    let token = run(&["tokens", "create", "node1", "--role", "read,write"]);
    assert_eq!(token.code, 0, "{}", token.stderr);
    let collector = Serving::start_with(&home, &["--listen", "127.0.0.1:0", "--store", &url]);
    assert_eq!(get(&collector.url, "/api/v1/samples").0, 401);
    let upload = ["upload", SAMPLES, "--to", &collector.url, "--token", token.stdout.trim()];
    let sent = home.run(&upload);
    assert!(sent.code == 0 && sent.stdout.contains("21 new"), "{}{}", sent.stdout, sent.stderr);
    assert!(run(&["tokens", "list"]).stdout.contains("node1"));
    let listed = run(&["samples", "list", "--format", "csv"]);
    assert!(listed.code == 0 && listed.stdout.lines().count() == 22, "{}{}", listed.stdout, listed.stderr);
    let sound = run(&["serve", "--check"]);
    assert!(sound.code == 0 && sound.stdout.starts_with("21 samples in postgres://"), "{}", sound.stdout);
    let copy = home.path("copy.sqlite");
    let backup = run(&["store", "backup", &copy]);
    assert!(backup.code == 2 && backup.stderr.contains("pg_dump"), "{}", backup.stderr);
    let pruned = run(&["store", "prune", "--older-than", "1s"]);
    assert!(pruned.code == 0 && pruned.stderr.contains("21 samples"), "{}", pruned.stderr);
    assert_eq!(run(&["tokens", "revoke", "node1"]).code, 0);
    let record = run(&["store", "audit", "--format", "csv"]).stdout;
    assert!(record.contains("removed 21 samples") && record.contains("revoked the token node1"), "{record}");
}

#[test]
fn the_store_is_named_by_the_environment_without_its_password() {
    let Some(server) = server::shared() else { return };
    let url = server.by_tcp(&server.database().unwrap());
    let home = Foreglow::with_store(url.clone());
    let collector = Serving::start(&home);
    assert_eq!(post(&collector.url, &line(1)).0, 200);
    let listed = home.run(&["samples", "list"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let checked = home.run(&["serve", "--check"]);
    let password = url.split([':', '@']).nth(2).unwrap();
    assert!(checked.stdout.starts_with("1 sample in postgres://postgres@127.0.0.1:"), "{}", checked.stdout);
    assert!(!checked.stdout.contains(password), "{}", checked.stdout);
}
