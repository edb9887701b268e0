//! Damaged stores: found at the start and by `serve --check`.

use std::io::{Seek as _, SeekFrom, Write as _};

use crate::foreglow::{Foreglow, Serving, get, line, post, try_get};

/// Fills a store with samples and returns its path; all data is in this file, without a log.
fn filled(home: &Foreglow, samples: u32) -> String {
    let server = Serving::start(home);
    let lines: String = (1..=samples).map(|number| line(number) + "\n").collect();
    assert_eq!(post(&server.url, &lines).0, 200);
    assert_eq!(server.stop(), Some(0));
    // The last connection to close moves the log into the file. A busy server may end before all of
    // its connections are closed; the check has only one.
    assert_eq!(home.run(&["serve", "--check"]).code, 0);
    let path = home.path("data/samples.sqlite");
    assert!(!std::fs::exists(format!("{path}-wal")).unwrap());
    path
}

#[test]
fn a_file_whose_pages_are_overwritten_is_found_by_a_check_and_not_served() {
    let home = Foreglow::new();
    let path = filled(&home, 2_000);
    let sound = home.run(&["serve", "--check"]);
    assert_eq!((sound.code, sound.stdout), (0, format!("2000 samples in {path}: no damage\n")), "{}", sound.stderr);
    let mut file = std::fs::File::options().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(20 * 4096)).unwrap();
    file.write_all(&[0xa5; 10 * 4096]).unwrap();
    let found = home.run(&["serve", "--check"]);
    assert!(found.code == 1 && !found.stdout.is_empty(), "{}", found.stdout);
    assert!(found.stderr.contains("restore it from a copy"), "{}", found.stderr);
    let served = home.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(served.code == 2 && served.stderr.contains("is damaged"), "{}", served.stderr);
}

#[test]
fn damage_of_a_served_file_is_warned_of_once_on_standard_error() {
    let home = Foreglow::new();
    let path = filled(&home, 2_000);
    let server = Serving::start(&home);
    // A store that is damaged while the collector starts is not served.
    assert_eq!(get(&server.url, "/readyz").0, 200);
    let mut file = std::fs::File::options().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(4096)).unwrap();
    file.write_all(&[0xa5; 20 * 4096]).unwrap();
    // The first answer may have begun before the damage is found, and breaks off.
    let is_found = (0..100).any(|_| try_get(&server.url, "/api/v1/samples") != Some(200));
    assert!(is_found, "the damage is not found");
    for _ in 0..2 {
        let (status, answer) = get(&server.url, "/api/v1/samples");
        assert!(status >= 500 && answer.contains("is damaged"), "{status} {answer}");
    }
    assert_eq!(post(&server.url, &line(3_000)).0, 503);
    // The warning follows within a second.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let said = server.said();
    let warnings: Vec<&str> = said.lines().filter(|line| line.contains("is damaged")).collect();
    let [warning] = warnings[..] else { panic!("not one warning: {said}") };
    assert!(
        warning.starts_with("foreglow: warning: ") && warning.ends_with("until then, samples are refused"),
        "{said}"
    );
}

#[test]
fn a_truncated_store_is_not_served() {
    let home = Foreglow::new();
    let path = filled(&home, 2_000);
    let length = std::fs::metadata(&path).unwrap().len();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(length / 2).unwrap();
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["serve", "--check"]] {
        let answer = home.run(arguments);
        assert!(answer.code == 1 || answer.code == 2, "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains("is damaged"), "{arguments:?}: {}", answer.stderr);
    }
}
