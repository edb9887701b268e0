//! Backup and restore of a store, and the removal of old samples.

use crate::foreglow::{Foreglow, Serving, get, id, line, post};

#[test]
fn a_copy_is_made_while_the_collector_writes_and_brought_back() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    assert_eq!(post(&server.url, &format!("{}\n{}", line(1), line(2))).0, 200);
    let copy = home.path("copy.sqlite");
    let made = std::thread::scope(|scope| {
        let url = &server.url;
        let sender = scope.spawn(move || (10..60).for_each(|number| assert_eq!(post(url, &line(number)).0, 200)));
        let made = home.run(&["store", "backup", &copy]);
        sender.join().unwrap();
        made
    });
    assert_eq!(made.code, 0, "{}", made.stderr);
    let twice = home.run(&["store", "backup", &copy]);
    assert!(twice.code == 2 && twice.stderr.contains("exists"), "{}", twice.stderr);
    assert_eq!(home.run(&["serve", "--check", "--store", &copy]).code, 0);

    // After the copy a sample is removed by mistake.
    assert_eq!(home.run(&["samples", "remove", &id(1)]).code, 0);
    let busy = home.run(&["store", "restore", &copy]);
    assert!(busy.code == 2 && busy.stderr.contains("stop the collector"), "{}", busy.stderr);
    assert_eq!(get(&server.url, "/api/v1/samples").1.lines().count(), 51, "nothing has changed");
    assert_eq!(server.stop(), Some(0));
    let restored = home.run(&["store", "restore", &copy]);
    assert!(restored.code == 0 && restored.stderr.contains("is kept in"), "{}", restored.stderr);
    let server = Serving::start(&home);
    assert_eq!(get(&server.url, &format!("/api/v1/samples/{}", id(1))).0, 200);
    let record = home.run(&["store", "audit"]).stdout;
    assert!(record.contains("restored the store from"), "{record}");
    assert!(!record.contains("removed the sample"), "the removal came after the copy: {record}");
}

#[test]
fn a_damaged_copy_is_not_brought_back() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    let many: String = (0..2_000).map(|number| line(number) + "\n").collect();
    assert_eq!(post(&server.url, &many).0, 200);
    assert_eq!(server.stop(), Some(0));
    let copy = home.path("copy.sqlite");
    assert_eq!(home.run(&["store", "backup", &copy]).code, 0);
    let length = std::fs::metadata(&copy).unwrap().len();
    std::fs::File::options().write(true).open(&copy).unwrap().set_len(length / 2).unwrap();
    let refused = home.run(&["store", "restore", &copy]);
    assert!(refused.code != 0 && refused.stderr.contains("damaged"), "{}", refused.stderr);
    assert_eq!(get(&Serving::start(&home).url, "/api/v1/samples").1.lines().count(), 2_000);
}

#[test]
fn old_samples_are_removed_with_a_line_in_the_record() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    let old = |number: u32| line(number).replace("2026-11-21", "2020-01-01");
    let today = foreglow_shared::Timestamp::now().to_string()[..10].to_owned();
    let young = |number: u32| line(number).replace("2026-11-21T10:00:00Z", &format!("{today}T00:00:00Z"));
    let many: String = (0..1_500).map(|number| old(number) + "\n").collect();
    assert_eq!(post(&server.url, &(many + &young(5_000))).0, 200);
    let pruned = home.run(&["store", "prune", "--older-than", "365d"]);
    assert!(pruned.code == 0 && pruned.stderr.contains("1500 samples"), "{}", pruned.stderr);
    assert_eq!(get(&server.url, "/api/v1/samples"), (200, young(5_000) + "\n"));
    assert_eq!(post(&server.url, &old(1)).0, 200);
    assert_eq!(server.stop(), Some(0));

    // A collector that keeps samples for a year removes older ones at its start.
    let server = Serving::start_with(&home, &["--listen", "127.0.0.1:0", "--keep", "365d"]);
    let is_gone = || get(&server.url, "/api/v1/samples").1.lines().count() == 1;
    let gone = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        is_gone()
    });
    assert!(gone);
    let record = home.run(&["store", "audit", "--format", "csv"]).stdout;
    assert!(record.contains("retention,removed 1 sample from before"), "{record}");
    assert!(record.contains("removed 1000 samples") && record.contains("removed 500 samples"), "{record}");
}
