//! Damaged stores: found at the start, by `serve --check`, and when a sample is read.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use crate::foreglow::{Foreglow, Serving, get, id, line, post};

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

/// Changes one byte of the file, in the completion time of the first sample.
fn flip(path: &str) {
    let mut file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    let field = b"\"completion_time_secs\":2.5";
    let place = bytes.windows(field.len()).position(|window| window == field).unwrap() + field.len() - 1;
    file.seek(SeekFrom::Start(place as u64)).unwrap();
    file.write_all(b"4").unwrap();
}

#[test]
fn an_altered_sample_is_found_reported_and_not_served() {
    let home = Foreglow::new();
    let path = filled(&home, 3);
    let sound = home.run(&["serve", "--check"]);
    assert_eq!((sound.code, sound.stdout), (0, format!("3 samples in {path}: no damage\n")), "{}", sound.stderr);
    flip(&path);
    let found = home.run(&["serve", "--check"]);
    assert_eq!(found.code, 1, "{}", found.stdout);
    assert_eq!(found.stdout.lines().count(), 1, "{}", found.stdout);
    assert!(found.stdout.contains("differs from what was stored"), "{}", found.stdout);
    assert!(found.stderr.contains("restore it from a copy"), "{}", found.stderr);

    let mut command = home.command();
    let mut child =
        command.args(["serve", "--listen", "127.0.0.1:0"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut lines = String::new();
    while !lines.contains("differ from what was stored") {
        assert!(std::io::BufRead::read_line(&mut said, &mut lines).unwrap() > 0, "{lines}");
    }
    let url = lines.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    let (status, health) = get(&url, "/healthz");
    assert!(status == 503 && health.contains("foreglow serve --check"), "{status} {health}");
    let served = get(&url, "/api/v1/samples").1;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(served.lines().count(), 2, "{served}");
    assert!(!served.contains("2.4"), "{served}");

    let altered = (1..=3).find(|number| !served.contains(&id(*number))).unwrap();
    let removed = home.run(&["samples", "remove", &id(altered)]);
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    assert_eq!(home.run(&["serve", "--check"]).code, 0);
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

#[test]
fn a_sample_with_a_damaged_id_is_removed_by_its_position() {
    let home = Foreglow::new();
    let path = filled(&home, 3);
    // In the row the id precedes the name of the CNN; the index has only the id.
    let mut bytes = std::fs::read(&path).unwrap();
    let row = id(2) + "lenet5";
    let place = bytes.windows(row.len()).position(|window| window == row.as_bytes()).unwrap();
    bytes[place + row.len() - "lenet5".len() - 1] = 0xff;
    std::fs::write(&path, bytes).unwrap();
    let found = home.run(&["serve", "--check"]);
    assert!(found.code == 1 && found.stdout.contains("sample 2 ("), "{}", found.stdout);
    let other = home.run(&["samples", "remove", &id(3)]);
    assert_eq!(other.code, 0, "{}", other.stderr);
    let unknown = home.run(&["samples", "remove", "--position", "9"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("no sample has the position 9"), "{}", unknown.stderr);
    let removed = home.run(&["samples", "remove", "--position", "2"]);
    assert!(removed.code == 0 && removed.stderr.starts_with("1 sample removed"), "{}", removed.stderr);
    let sound = home.run(&["serve", "--check"]);
    assert_eq!((sound.code, sound.stdout), (0, format!("1 sample in {path}: no damage\n")), "{}", sound.stderr);
}
