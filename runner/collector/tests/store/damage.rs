//! Damage that arises while the store is served: one state, whatever found it.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use foreglow_store::{Filter, Location, Store};

use crate::faults::{agent, get, lines, post, serve, wait_for};
use crate::{Place, all_runs, sample};

const PAGE_BYTES: u64 = 4_096;

fn log_of(path: &Path) -> PathBuf {
    format!("{}-wal", path.display()).into()
}

fn is_reported_and_nothing_is_stored(url: &str, what: &str) {
    let sentence = wait_for(url, "healthz", 503);
    assert!(sentence.contains(what), "{sentence}");
    let (status, sentence) = get(url, "readyz");
    assert!(status == 503 && sentence.starts_with("not ready: ") && sentence.contains(what), "{sentence}");
    let (status, answer) = post(&agent(), url, &lines(900_000..900_003));
    assert!(status == 503 && answer.contains(what), "{status} {answer}");
    let (status, metrics) = get(url, "metrics");
    assert!(status == 200 && metrics.lines().any(|line| line == "foreglow_store_damaged 1"), "{metrics}");
}

#[test]
fn overwritten_pages_of_a_served_file_are_reported_and_writes_are_refused() {
    for begins in [1, 20] {
        let place = Place::file();
        let url = serve(&place.location);
        assert_eq!(post(&agent(), &url, &lines(1..3_000)).0, 200);
        assert_eq!(get(&url, "healthz"), (200, "ok\n".to_owned()));
        place.alter("PRAGMA wal_checkpoint(TRUNCATE)");
        let mut file = std::fs::File::options().write(true).open(place.location.file().unwrap()).unwrap();
        file.seek(SeekFrom::Start(begins * PAGE_BYTES)).unwrap();
        file.write_all(&[0xa5; 10 * PAGE_BYTES as usize]).unwrap();
        is_reported_and_nothing_is_stored(&url, "is damaged");
    }
}

#[test]
fn a_write_ahead_log_that_is_removed_takes_no_acknowledged_sample_with_it() {
    let place = Place::file();
    let url = serve(&place.location);
    assert_eq!(post(&agent(), &url, &lines(1..201)).0, 200);
    let path = place.location.file().unwrap();
    assert!(log_of(path).exists());
    std::fs::remove_file(log_of(path)).unwrap();
    is_reported_and_nothing_is_stored(&url, "the write-ahead log of the store");
    // The file as a kill would leave it.
    let left = path.with_extension("left");
    std::fs::copy(path, &left).unwrap();
    let store = Store::open_existing(Some(&Location::File(left))).unwrap();
    let all: Vec<_> = (1..201).map(sample).collect();
    assert_eq!(store.samples(&Filter::default()).unwrap(), all);
    assert!(store.check().unwrap().is_sound());
    assert_eq!(all_runs(&store)[0].0, 200);
}

#[test]
fn a_file_that_is_removed_is_reported_and_nothing_is_stored() {
    let place = Place::file();
    let url = serve(&place.location);
    assert_eq!(post(&agent(), &url, &lines(1..4)).0, 200);
    std::fs::remove_file(place.location.file().unwrap()).unwrap();
    is_reported_and_nothing_is_stored(&url, "was removed or replaced");
}
