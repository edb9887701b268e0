//! Tests of stores in a file only; `tests/store.rs` tests both kinds of store.

use std::path::Path;

use foreglow_shared::{Workload, group_by_context};
use rusqlite::{Connection, params};

use super::schema::sqlite as schema;
use super::*;

const LINE: &str = r#"{"schema":1,"id":"01890000-0000-7000-8000-000000000001","workload":{"model":"lenet5","mode":"inference",
"image_px":28,"images":1000,"epochs":1,"batch_size":8},"configuration":{"executors":1,"cores_per_executor":1,
"memory_per_executor_mib":1024,"partition_size":8,"accelerator":null},"sampling_rate":0.1,"outcome":"completed",
"completion_time_secs":2.5,"engine":"local","runner_version":"0.1.0","host":{"cpu":"A","adapter":null},
"started_at":"2026-11-21T10:00:00Z","note":"kept"}"#;

pub(crate) fn sample(number: u128) -> Sample {
    let mut sample = parse_line(&LINE.replace('\n', "")).unwrap();
    sample.id = Uuid::from_u128((0x0189 << 112) | (7 << 76) | (2 << 62) | number);
    sample
}

/// Returns the first workloads with their numbers of samples.
pub(crate) fn workloads(store: &Store) -> Vec<(Workload, u64)> {
    let listed = store.workloads(None, 9).unwrap().workloads;
    listed.iter().map(|counted| (serde_json::from_str(&counted.workload).unwrap(), counted.samples)).collect()
}

/// Replaces the last byte of the id of a sample in its row but not in the index, like a flipped bit
/// on the disk. No program may have the store open.
pub(crate) fn damage_id(path: &Path, number: u128, byte: u8) {
    let row = sample(number).id.to_string() + "lenet5";
    let mut bytes = std::fs::read(path).unwrap();
    let places: Vec<usize> = (0..bytes.len()).filter(|place| bytes[*place..].starts_with(row.as_bytes())).collect();
    let [place] = places[..] else { panic!("the row is at {places:?}") };
    bytes[place + row.len() - "lenet5".len() - 1] = byte;
    std::fs::write(path, bytes).unwrap();
}

fn inserted(new: usize, known: usize) -> Inserted {
    Inserted { new, known, conflicts: Vec::new() }
}

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

#[test]
fn opening_a_missing_store_gives_advice() {
    let folder = tempfile::tempdir().unwrap();
    let error = Store::open_existing(Some(&folder.path().join("none").into())).unwrap_err();
    assert!(error.to_string().contains("measure something first with `foreglow demo`"), "{error}");
}

#[test]
fn a_store_of_the_first_version_gets_checksums_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.sqlite");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(schema::TABLES).unwrap();
    old.pragma_update(None, "application_id", 0x4647_4c57).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    let add = "INSERT INTO samples (id, model, mode, engine, outcome, started_at_us, line)
        VALUES (?1, 'lenet5', 'inference', 'local', 'completed', 1795255200000000, ?2)";
    for number in 1..=1_500 {
        old.execute(add, params![sample(number).id.to_string(), line(&sample(number)).unwrap()]).unwrap();
    }
    let keep = "INSERT INTO pending (collector, id, line) VALUES ('http://a', ?1, ?2)";
    old.execute(keep, params![sample(7).id.to_string(), line(&sample(7)).unwrap()]).unwrap();
    drop(old);
    let mut store = open_at(&path).unwrap();
    let findings = store.check().unwrap();
    assert!(findings.is_sound() && findings.samples == 1_500, "{findings:?}");
    assert_eq!(workloads(&store), [(sample(1).workload, 1_500)]);
    let runs = store.runs(&RunsFilter { limit: 100, ..RunsFilter::default() }).unwrap().runs;
    assert_eq!(runs.iter().map(|runs| runs.samples).collect::<Vec<_>>(), [1_500]);
    assert_eq!(runs[0].times.unwrap().mean_secs, 2.5);
    assert_eq!(store.waiting_for("http://a").unwrap(), [sample(7)]);
    assert_eq!(store.insert(&[sample(1), sample(2_000)]).unwrap(), inserted(1, 1));
    store.remove(&[sample(2).id], "me").unwrap();
    assert_eq!(workloads(&store), [(sample(1).workload, 1_500)]);
}

#[test]
fn a_store_of_the_fourth_version_loses_its_index_by_run_and_counts_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.sqlite");
    let mut store = open_at(&path).unwrap();
    let slow = Sample { completion_time_secs: Some(7.5), ..sample(2) };
    let unknown = Sample { completion_time_secs: None, ..sample(3) };
    store.insert(&[sample(1), slow.clone(), unknown]).unwrap();
    let old = "DROP INDEX samples_by_start;
        CREATE INDEX samples_by_start ON samples (started_at_us);
        CREATE INDEX samples_by_run ON samples (run, secs);
        CREATE TABLE workloads (workload TEXT PRIMARY KEY, samples INTEGER NOT NULL) WITHOUT ROWID;
        DROP INDEX runs_by_job;
        ALTER TABLE runs DROP COLUMN job;
        ALTER TABLE runs DROP COLUMN newest;
        DROP TABLE jobs;
        PRAGMA user_version = 4;";
    connection(&store).execute_batch(old).unwrap();
    drop(store);
    let mut store = open_at(&path).unwrap();
    let index = "SELECT group_concat(name) FROM sqlite_master WHERE type = 'index' AND sql NOT NULL";
    let names: String = connection(&store).query_row(index, [], |row| row.get(0)).unwrap();
    assert_eq!(names, "samples_by_start,runs_by_job");
    let job = store.jobs(None, 9).unwrap().jobs.remove(0);
    assert_eq!((job.samples, job.latest), (3, 3));
    assert_eq!(store.job(&job.job).unwrap().unwrap().job, group_by_context(&[sample(1), slow.clone()])[0]);
    assert!(store.check().unwrap().is_sound());
    store.insert(&[sample(4)]).unwrap();
    let counted = |store: &Store| {
        let page = store.runs(&RunsFilter { limit: 9, ..RunsFilter::default() }).unwrap();
        let [runs] = <[Runs; 1]>::try_from(page.runs).unwrap();
        let times = runs.times.unwrap();
        (runs.samples, times.mean_secs, times.least_secs, times.most_secs)
    };
    store.remove(&[sample(1).id], "me").unwrap();
    assert_eq!(counted(&store), (3, 5.0, 2.5, 7.5));
    store.remove(&[slow.id], "me").unwrap();
    assert_eq!(counted(&store), (2, 2.5, 2.5, 2.5));
}

#[test]
fn a_reader_sees_what_was_committed_and_waits_for_no_writer() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(1)]).unwrap();
    let reader = store.reader().unwrap();
    let writing = store.database.begin().unwrap();
    let new = [Encoded::new(&sample(2)).unwrap()];
    insert(&writing, &[new.as_slice()], &mut runs::Numbers::default()).unwrap();
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
fn a_damaged_id_hides_no_other_sample_and_can_be_repaired_or_removed() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<Sample> = (1..=5).map(sample).collect();
    let others = [sample(1), sample(3), sample(4), sample(5)];
    // Not UTF-8, not a UUID, and another UUID.
    for (round, byte) in [0xff, b'x', b'f'].into_iter().enumerate() {
        let path = folder.path().join(format!("{round}.sqlite"));
        let damaged = |store: Store| {
            drop(store);
            damage_id(&path, 2, byte);
            open_at(&path).unwrap()
        };
        let mut store = open_at(&path).unwrap();
        store.insert(&all).unwrap();
        let mut store = damaged(store);
        let findings = store.check().unwrap();
        assert!(findings.damaged.len() == 1 && findings.damaged[0].0 == 2, "{findings:?}");
        assert!(findings.samples == 5 && !findings.structure.is_empty(), "{findings:?}");
        assert_eq!(store.positions().unwrap()[1], findings.damaged[0]);
        assert!(others.iter().all(|other| store.ids().unwrap().contains(&other.id)));
        let filter = Filter { limit: Some(2), ..Filter::default() };
        let page = store.page(&filter, u64::MAX).unwrap();
        assert_eq!(page, Page { end: 2, next: Some(After::Position(2)) });
        let rest = Filter { after: page.next, ..Filter::default() };
        assert_eq!(store.samples(&rest).unwrap(), others[1..]);
        assert_eq!(store.samples(&Filter::default()).unwrap(), others);

        assert_eq!(store.insert(&all).unwrap(), inserted(1, 4));
        assert!(store.check().unwrap().is_sound());
        assert_eq!(store.samples(&Filter::default()).unwrap(), all);

        let mut store = damaged(store);
        assert_eq!(store.remove_at(&[2, 9], "me").unwrap(), 1);
        assert!(store.check().unwrap().is_sound());
        assert_eq!(store.samples(&Filter::default()).unwrap(), others);
        let record = store.audit().unwrap();
        assert!(record.iter().any(|line| line.what.starts_with("removed the sample ")), "{record:?}");
    }
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
