//! Tests of stores in a file only; `tests/store.rs` tests both kinds of store.

use std::path::Path;

use rusqlite::Connection;

use super::*;
use crate::fixture::sample;

fn open(folder: &tempfile::TempDir) -> Store {
    open_at(&folder.path().join("inner").join("samples.sqlite")).unwrap()
}

fn open_at(path: &Path) -> anyhow::Result<Store> {
    Store::open(Some(&Location::File(path.to_owned())))
}

fn connection(store: &Store) -> &Connection {
    match &store.database {
        Database::File(file) => &file.connection,
        Database::Server(_) => panic!("these stores are files"),
    }
}

#[test]
fn a_full_disk_stores_nothing_of_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(0)]).unwrap();
    let pages: i64 = connection(&store).pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    connection(&store).pragma_update(None, "max_page_count", pages).unwrap();
    let many: Vec<Sample> = (1..1000).map(sample).collect();
    let error = store.insert(&many).unwrap_err();
    assert!(error.to_string().contains("is full, and nothing was stored; free some space"), "{error}");
    assert_eq!(store.samples(&Filter::default()).unwrap(), [sample(0)]);
    connection(&store).pragma_update(None, "max_page_count", 100_000).unwrap();
    assert_eq!(store.insert(&many).unwrap().new, 999);
}

#[test]
fn a_foreign_file_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "my notes, many of them, which nobody wants to lose\n".repeat(100);
    std::fs::write(&path, &text).unwrap();
    let error = open_at(&path).unwrap_err();
    assert!(error.to_string().contains("notes.txt is not a Foreglow store"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);

    let path = folder.path().join("other.sqlite");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = open_at(&path).unwrap_err();
    assert!(error.to_string().contains("a database of another program"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_a_store_its_log_and_its_copies() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(0)]).unwrap();
    let copy = folder.path().join("copy.sqlite");
    store.back_up(&copy).unwrap();
    let path = store.location().file().unwrap().to_owned();
    for file in [path.clone(), path.with_extension("sqlite-wal"), copy] {
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn opening_a_missing_store_gives_advice() {
    let folder = tempfile::tempdir().unwrap();
    let error = Store::open_existing(Some(&folder.path().join("none").into())).unwrap_err();
    assert!(error.to_string().contains("measure something first with `foreglow demo`"), "{error}");
}

#[test]
fn a_store_of_an_earlier_build_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.sqlite");
    let mut store = open_at(&path).unwrap();
    store.insert(&[sample(1)]).unwrap();
    connection(&store).pragma_update(None, "user_version", 6).unwrap();
    drop(store);
    let before = std::fs::read(&path).unwrap();
    let error = open_at(&path).unwrap_err();
    assert!(error.to_string().contains("was written by an earlier build (tables of version 6, this one knows 7)"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_reader_sees_what_was_committed_and_waits_for_no_writer() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(1)]).unwrap();
    let reader = store.reader().unwrap();
    let writing = store.database.begin().unwrap();
    let new = [Encoded::new(&sample(2)).unwrap()];
    insert(&*writing, &[new.as_slice()], &mut runs::Numbers::default()).unwrap();
    assert_eq!(reader.ids().unwrap(), [sample(1).id]);
    writing.commit().unwrap();
    assert_eq!(reader.ids().unwrap(), [sample(1).id, sample(2).id]);
}

#[test]
fn a_removed_store_takes_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(1)]).unwrap();
    store.probe().unwrap();
    std::fs::remove_file(store.location().file().unwrap()).unwrap();
    let error = store.insert(&[sample(2)]).unwrap_err();
    assert!(error.to_string().contains("was removed or replaced"), "{error}");
    assert!(store.probe().is_err());
}

#[test]
fn a_copy_has_what_the_store_had_and_needs_a_new_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(1), sample(2)]).unwrap();
    let copy = folder.path().join("copy.sqlite");
    assert_eq!(store.back_up(&copy).unwrap(), 2);
    assert!(store.back_up(&copy).unwrap_err().to_string().contains("exists"));
    let nowhere = folder.path().join("missing").join("copy.sqlite");
    let error = format!("{:#}", store.back_up(&nowhere).unwrap_err());
    assert!(error.ends_with("copy.sqlite.partial cannot be written; check that its folder exists and is writable"));
    store.insert(&[sample(3)]).unwrap();
    let path = store.location().file().unwrap().to_owned();
    assert!(
        restore(&copy, &Location::File(path.clone()), "me").unwrap_err().to_string().contains("stop the collector")
    );
    drop(store);
    let (samples, kept) = restore(&copy, &Location::File(path.clone()), "me").unwrap();
    assert_eq!((samples, Store::open_existing(kept.map(Location::from).as_ref()).unwrap().count().unwrap()), (2, 3));
    let store = Store::open_existing(Some(&path.into())).unwrap();
    assert_eq!(store.samples(&Filter::default()).unwrap(), [sample(1), sample(2)]);
    assert!(store.audit().unwrap()[0].what.contains("restored the store from"));
}

#[test]
fn a_log_that_was_left_at_the_place_of_the_store_is_not_read_into_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(1)]).unwrap();
    let path = store.location().file().unwrap().to_owned();
    let beside = |suffix: &str| Path::new(&format!("{}{suffix}", path.display())).to_owned();
    let copy = folder.path().join("copy.sqlite");
    store.back_up(&copy).unwrap();
    // As after a crash, and the loss of the file alone.
    let many: Vec<Sample> = (10..500).map(sample).collect();
    store.insert(&many).unwrap();
    let log = std::fs::read(beside("-wal")).unwrap();
    drop(store);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(beside("-wal"), &log).unwrap();
    std::fs::write(beside("-journal"), "of another store").unwrap();

    let (samples, kept) = restore(&copy, &Location::File(path.clone()), "me").unwrap();
    assert_eq!((samples, kept), (1, Some(beside(".replaced-1-wal"))));
    assert_eq!(std::fs::read(beside(".replaced-1-wal")).unwrap(), log);
    assert!(beside(".replaced-1-journal").exists() && !beside("-journal").exists());
    let store = Store::open_existing(Some(&Location::File(path))).unwrap();
    assert_eq!(store.samples(&Filter::default()).unwrap(), [sample(1)]);
    assert!(store.check().unwrap().is_sound());
}

#[test]
fn the_file_of_a_killed_collector_is_restored_with_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(1), sample(2)]).unwrap();
    let path = store.location().file().unwrap();
    let copy = folder.path().join("copied");
    std::fs::copy(path, &copy).unwrap();
    std::fs::copy(format!("{}-wal", path.display()), format!("{}-wal", copy.display())).unwrap();
    let to = Location::File(folder.path().join("new.sqlite"));
    assert_eq!(restore(&copy, &to, "me").unwrap(), (2, None));
    assert_eq!(Store::open_existing(Some(&to)).unwrap().samples(&Filter::default()).unwrap(), [sample(1), sample(2)]);
}

#[test]
fn a_file_that_is_not_a_copy_of_a_store_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let [lines, other, empty] = ["samples.jsonl", "other.sqlite", "empty"].map(|name| folder.path().join(name));
    std::fs::write(&lines, format!("{}\n", line(&sample(1)).unwrap())).unwrap();
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
    std::fs::write(&empty, "").unwrap();
    let to = Location::File(folder.path().join("new.sqlite"));
    for file in [lines, other, empty] {
        let error = restore(&file, &to, "me").unwrap_err().to_string();
        let expected = "is not a copy of a store; name a file that `foreglow store backup` wrote";
        assert_eq!(error, format!("{} {expected}", file.display()));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left of the attempts");
}

#[test]
fn a_store_that_another_program_holds_is_unavailable_for_now() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    connection(&store).busy_timeout(std::time::Duration::from_millis(10)).unwrap();
    let other = Connection::open(store.location().file().unwrap()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.insert(&[sample(1)]).unwrap_err();
    assert!(error.is::<Unavailable>() && error.to_string().contains("another program has held"), "{error}");
    assert!(store.remove(&[sample(1).id], "me").unwrap_err().is::<Unavailable>());
    other.execute_batch("ROLLBACK").unwrap();
    std::fs::remove_file(store.location().file().unwrap()).unwrap();
    assert!(store.remove(&[sample(1).id], "me").unwrap_err().is::<Unavailable>());
}
