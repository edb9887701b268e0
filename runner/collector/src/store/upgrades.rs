//! Tests of stores that earlier versions have written, as SQL in `fixtures`.

use rusqlite::Connection;

use super::tests::{sample, workloads};
use super::*;
use crate::token::Hash;

const VERSION_2: &str = include_str!("fixtures/version_2.sql");
const VERSION_3: &str = include_str!("fixtures/version_3.sql");

/// Opens a store written by an earlier version.
fn upgraded(folder: &tempfile::TempDir, written: &str) -> Store {
    let path = folder.path().join("old.sqlite");
    Connection::open(&path).unwrap().execute_batch(written).unwrap();
    Store::open(Some(&Location::File(path))).unwrap()
}

/// The fixtures have four samples: two of equal runs, a failed one, and one of another setting.
fn keeps_its_samples(store: &mut Store) {
    let findings = store.check().unwrap();
    assert!(findings.is_sound() && findings.samples == 4, "{findings:?}");
    assert_eq!(store.ids().unwrap(), (1..=4).map(|number| sample(number).id).collect::<Vec<_>>());
    assert_eq!((workloads(store), store.count().unwrap()), (vec![(sample(1).workload, 4)], 4));
    let runs = store.runs(&RunsFilter { limit: 9, ..RunsFilter::default() }).unwrap().runs;
    let figures = |runs: &Runs| (runs.samples, runs.outcome.clone(), runs.times.map(|times| times.mean_secs));
    let completed = || "completed".to_owned();
    assert_eq!(
        runs.iter().map(figures).collect::<Vec<_>>(),
        [(2, completed(), Some(3.0)), (1, "failed".to_owned(), None), (1, completed(), Some(9.0))]
    );
    assert_eq!(
        store.waiting_for("http://a").unwrap().iter().map(|sample| sample.id).collect::<Vec<_>>(),
        [sample(7).id]
    );
    assert_eq!(store.rejected().unwrap()[0].reason, "a newer schema");
    // The triggers of these versions would count a second time.
    store.insert(&[sample(9)]).unwrap();
    assert_eq!((workloads(store)[0].1, store.position(sample(9).id).unwrap()), (5, 6));
    store.remove(&[sample(9).id], "me").unwrap();
    assert_eq!(workloads(store)[0].1, 4);
}

#[test]
fn a_store_of_the_second_version_keeps_its_samples_and_gets_their_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = upgraded(&folder, VERSION_2);
    assert!(!store.has_tokens().unwrap());
    keeps_its_samples(&mut store);
}

#[test]
fn a_store_of_the_third_version_keeps_its_samples_tokens_and_record() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = upgraded(&folder, VERSION_3);
    let hash: [u8; 32] = std::array::from_fn(|byte| u8::try_from(byte).unwrap());
    let token = store.token(Hash(hash)).unwrap().unwrap();
    assert_eq!((token.name.as_str(), token.roles.to_string().as_str(), token.per_minute), ("anna", "read,write", 60));
    assert_eq!(store.audit().unwrap()[0].what, "made the token anna (read,write)");
    keeps_its_samples(&mut store);
}
