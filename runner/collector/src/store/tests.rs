use super::*;

const LINE: &str = r#"{"schema":1,"id":"01890000-0000-7000-8000-000000000001","workload":{"model":"lenet5","mode":"inference",
"image_px":28,"images":1000,"epochs":1,"batch_size":8},"configuration":{"executors":1,"cores_per_executor":1,
"memory_per_executor_mib":1024,"partition_size":8,"accelerator":null},"sampling_rate":0.1,"outcome":"completed",
"completion_time_secs":2.5,"engine":"local","runner_version":"0.1.0","host":{"cpu":"A","adapter":null},
"started_at":"2026-11-21T10:00:00Z","note":"kept"}"#;

fn sample(number: u128) -> Sample {
    let mut sample = parse_line(&LINE.replace('\n', "")).unwrap();
    sample.id = Uuid::from_u128((0x0189 << 112) | (7 << 76) | (2 << 62) | number);
    sample
}

fn inserted(new: usize, known: usize) -> Inserted {
    Inserted { new, known, conflicts: Vec::new() }
}

fn waiting(collector: &str, waiting: u64) -> Waiting {
    Waiting { collector: collector.to_owned(), waiting, rejected: 0 }
}

fn open(folder: &tempfile::TempDir) -> Store {
    Store::open(Some(&folder.path().join("inner").join("samples.sqlite"))).unwrap()
}

#[test]
fn a_sample_is_stored_once_and_read_back_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    assert_eq!(store.insert(&[sample(1), sample(2), sample(1)]).unwrap(), inserted(2, 1));
    assert_eq!(store.insert(&[sample(2)]).unwrap(), inserted(0, 1));
    drop(store);
    assert_eq!(open(&folder).samples(&Filter::default()).unwrap(), [sample(1), sample(2)]);
}

#[test]
fn filters_select_samples_and_pages_have_no_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    let mut failed = sample(3);
    failed.outcome = Outcome::Failed;
    failed.started_at = "2026-11-21T10:00:00.5Z".parse().unwrap();
    store.insert(&[sample(1), sample(2), failed.clone(), sample(4)]).unwrap();

    let read = |filter: Filter| store.samples(&filter).unwrap();
    assert_eq!(read(Filter { outcome: Some(Outcome::Failed), ..Filter::default() }), [failed.clone()]);
    assert_eq!(read(Filter { since: Some(failed.started_at), ..Filter::default() }), [failed.clone()]);
    assert_eq!(read(Filter { model: Some("vgg16".into()), ..Filter::default() }), []);
    let page = read(Filter { limit: Some(2), ..Filter::default() });
    assert_eq!(page, [sample(1), sample(2)]);
    let page = read(Filter { limit: Some(2), after: Some(page[1].id), ..Filter::default() });
    assert_eq!(page, [failed, sample(4)]);
    let error = store.samples(&Filter { after: Some(sample(9).id), ..Filter::default() }).unwrap_err();
    assert!(error.to_string().contains("there is no sample with the id"), "{error}");
}

#[test]
fn a_sample_waits_until_its_collector_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.keep_for("http://a", &[sample(1), sample(2)]).unwrap();
    store.keep_for("http://b", &[sample(1)]).unwrap();
    store.settle("http://a", &[sample(1).id], &[]).unwrap();
    assert_eq!(store.waiting_for("http://a").unwrap(), [sample(2)]);
    assert_eq!(store.waiting_for("http://b").unwrap(), [sample(1)]);
    assert_eq!(store.samples(&Filter::default()).unwrap(), [], "waiting samples are not samples of this store");
}

#[test]
fn workloads_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    let mut other = sample(3);
    other.workload.model = "a".into();
    store.insert(&[sample(1), other.clone(), sample(2)]).unwrap();
    assert_eq!(store.workloads().unwrap(), [(other.workload, 1), (sample(1).workload, 2)]);
}

#[test]
fn a_full_disk_stores_nothing_of_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(0)]).unwrap();
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.connection.pragma_update(None, "max_page_count", pages).unwrap();
    let many: Vec<Sample> = (1..1000).map(sample).collect();
    let error = store.insert(&many).unwrap_err();
    assert!(error.to_string().contains("is full, and nothing was stored; free some space"), "{error}");
    assert_eq!(store.samples(&Filter::default()).unwrap(), [sample(0)]);
    store.connection.pragma_update(None, "max_page_count", 100_000).unwrap();
    assert_eq!(store.insert(&many).unwrap().new, 999);
}

#[test]
fn a_foreign_file_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "my notes, many of them, which nobody wants to lose\n".repeat(100);
    std::fs::write(&path, &text).unwrap();
    let error = Store::open(Some(&path)).unwrap_err();
    assert!(error.to_string().contains("notes.txt is not a Foreglow store"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);

    let path = folder.path().join("other.sqlite");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Store::open(Some(&path)).unwrap_err();
    assert!(error.to_string().contains("a database of another program"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_store_of_a_newer_version_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    store.connection.pragma_update(None, "user_version", 9).unwrap();
    let path = store.path().to_owned();
    drop(store);
    let error = Store::open(Some(&path)).unwrap_err();
    assert!(error.to_string().contains("written by a newer Foreglow"), "{error}");
}

#[test]
fn opening_a_missing_store_gives_advice() {
    let folder = tempfile::tempdir().unwrap();
    let error = Store::open_existing(Some(&folder.path().join("none"))).unwrap_err();
    assert!(error.to_string().contains("measure something first with `foreglow demo`"), "{error}");
}

#[test]
fn a_sample_from_before_the_limits_is_left_out_and_can_be_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    let mut huge = sample(1);
    huge.configuration.executors = u32::MAX;
    // The format of an earlier version.
    store.insert(&[huge, sample(2)]).unwrap();
    assert_eq!(store.samples(&Filter::default()).unwrap(), [sample(2)]);
    assert_eq!(store.ids().unwrap(), [sample(1).id, sample(2).id]);
    assert_eq!(store.remove(&[sample(1).id, sample(9).id], "me").unwrap(), 1);
    assert_eq!(store.ids().unwrap(), [sample(2).id]);
}

#[test]
fn samples_that_wait_are_listed_sent_elsewhere_or_discarded() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.keep_for("http://a", &[sample(1), sample(2)]).unwrap();
    store.keep_for("http://b", &[sample(2), sample(3)]).unwrap();
    assert_eq!(store.waiting().unwrap(), [waiting("http://a", 2), waiting("http://b", 2)]);
    assert_eq!(store.redirect("http://a", "http://b").unwrap(), 2);
    assert_eq!(store.waiting().unwrap(), [waiting("http://b", 3)], "one of them waited there already");
    assert_eq!(store.discard("http://nobody", false).unwrap(), 0);
    assert_eq!(store.discard("http://b", false).unwrap(), 3);
    assert_eq!(store.waiting().unwrap(), []);
}

#[test]
fn a_rejected_sample_is_kept_with_the_reason_until_it_is_sent_again_or_discarded() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.keep_for("http://a", &[sample(1), sample(2)]).unwrap();
    store.settle("http://a", &[sample(1).id], &[(sample(2).id, "a newer schema".into())]).unwrap();
    assert_eq!(store.waiting_for("http://a").unwrap(), []);
    assert_eq!(store.waiting().unwrap(), [Waiting { collector: "http://a".into(), waiting: 0, rejected: 1 }]);
    let rejected = store.rejected().unwrap();
    assert_eq!((rejected[0].id.as_str(), rejected[0].reason.as_str()), (&*sample(2).id.to_string(), "a newer schema"));
    store.keep_for("http://a", &[sample(2)]).unwrap();
    assert_eq!(store.waiting_for("http://a").unwrap(), [], "it is not sent again by itself");
    assert_eq!(store.send_again("http://a").unwrap(), 1);
    assert_eq!(store.waiting_for("http://a").unwrap(), [sample(2)]);
    store.settle("http://a", &[], &[(sample(2).id, "again".into())]).unwrap();
    assert_eq!(store.discard("http://a", true).unwrap(), 1);
    assert_eq!(store.waiting().unwrap(), []);
}

#[test]
fn another_sample_with_a_known_id_is_a_conflict_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    let mut other = sample(1);
    other.completion_time_secs = Some(9.0);
    store.insert(&[sample(1)]).unwrap();
    let outcome = store.insert(&[sample(1), other, sample(2)]).unwrap();
    assert_eq!(outcome, Inserted { new: 1, known: 1, conflicts: vec![1] });
    assert_eq!(store.samples(&Filter::default()).unwrap(), [sample(1), sample(2)]);
}

#[test]
fn a_sample_that_was_altered_in_the_file_is_found_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(1), sample(2)]).unwrap();
    assert!(store.check().unwrap().is_sound());
    let alter = "UPDATE samples SET line = replace(line, '2.5', '2.4') WHERE seq = 1";
    store.connection.execute(alter, []).unwrap();
    let findings = store.check().unwrap();
    assert_eq!((findings.samples, findings.damaged), (2, vec![(1, sample(1).id.to_string())]));
    assert!(!store.has_seen_damage());
    assert_eq!(store.samples(&Filter::default()).unwrap(), [sample(2)]);
    assert!(store.has_seen_damage() && store.sample_line(sample(1).id).is_err());
    assert_eq!(store.remove(&[sample(1).id], "me").unwrap(), 1);
    assert!(store.check().unwrap().is_sound());
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
        VALUES (?1, 'lenet5', 'inference', 'local', 'completed', 0, ?2)";
    for number in 1..=1_500 {
        old.execute(add, params![sample(number).id.to_string(), line(&sample(number)).unwrap()]).unwrap();
    }
    let keep = "INSERT INTO pending (collector, id, line) VALUES ('http://a', ?1, ?2)";
    old.execute(keep, params![sample(7).id.to_string(), line(&sample(7)).unwrap()]).unwrap();
    drop(old);
    let mut store = Store::open(Some(&path)).unwrap();
    let findings = store.check().unwrap();
    assert!(findings.is_sound() && findings.samples == 1_500, "{findings:?}");
    assert_eq!(store.workloads().unwrap(), [(sample(1).workload, 1_500)]);
    assert_eq!(all_runs(&store), [(1_500, Some((2.5, 2.5, 2.5)))]);
    assert_eq!(store.waiting_for("http://a").unwrap(), [sample(7)]);
    assert_eq!(store.insert(&[sample(1), sample(2_000)]).unwrap(), inserted(1, 1));
    store.remove(&[sample(2).id], "me").unwrap();
    assert_eq!(store.workloads().unwrap(), [(sample(1).workload, 1_500)]);
}

#[test]
fn a_page_ends_after_its_limit_and_names_where_the_next_one_begins() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(1), sample(2), sample(3)]).unwrap();
    let page = |limit: usize, bytes: u64| {
        let page = store.page(&Filter { limit: Some(limit), ..Filter::default() }, bytes).unwrap();
        (page.end, page.next)
    };
    assert_eq!(page(3, u64::MAX), (3, None));
    assert_eq!(page(2, u64::MAX), (2, Some(sample(2).id)));
    assert_eq!(page(3, 10), (1, Some(sample(1).id)), "one sample at least");
}

#[test]
fn a_reader_sees_what_was_committed_and_waits_for_no_writer() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(1)]).unwrap();
    let reader = store.reader().unwrap();
    let writing = store.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    insert(&writing, &[&[sample(2)]]).unwrap();
    assert_eq!(reader.ids().unwrap(), [sample(1).id]);
    writing.commit().unwrap();
    assert_eq!(reader.ids().unwrap(), [sample(1).id, sample(2).id]);
}

/// Number of samples, and mean, least and largest completion time, seconds.
type Counted = (u64, Option<(f64, f64, f64)>);

fn all_runs(store: &Store) -> Vec<Counted> {
    let runs = store.runs(&RunsFilter { limit: 100, ..RunsFilter::default() }).unwrap();
    let times = |runs: &Runs| runs.times.map(|times| (times.mean_secs, times.least_secs, times.most_secs));
    runs.iter().map(|runs| (runs.samples, times(runs))).collect()
}

#[test]
fn equal_runs_are_counted_together_through_every_change() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    let taking = |number: u128, secs: f64| Sample { completion_time_secs: Some(secs), ..sample(number) };
    let mut other = sample(9);
    other.configuration.executors = 2;
    let mut failed = sample(8);
    (failed.outcome, failed.completion_time_secs) = (Outcome::Failed, None);
    store.insert(&[taking(1, 2.0), taking(2, 4.0), other, failed, taking(1, 2.0)]).unwrap();
    assert_eq!(all_runs(&store), [(2, Some((3.0, 2.0, 4.0))), (1, Some((2.5, 2.5, 2.5))), (1, None)]);
    store.insert(&[taking(3, 1.0), taking(2, 4.0)]).unwrap();
    assert_eq!(all_runs(&store)[0], (3, Some((7.0 / 3.0, 1.0, 4.0))));
    store.remove(&[sample(3).id, sample(9).id], "me").unwrap();
    assert_eq!(all_runs(&store), [(2, Some((3.0, 2.0, 4.0))), (1, None)]);
    let filter = RunsFilter { outcome: Some("failed".into()), limit: 9, ..RunsFilter::default() };
    assert_eq!(store.runs(&filter).unwrap().len(), 1);
    let later = "2100-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(store.remove_before(later, 100, "me").unwrap(), 3);
    assert_eq!(all_runs(&store), []);
    assert_eq!(store.count().unwrap(), 0);
    let record: Vec<String> = store.audit().unwrap().into_iter().map(|line| line.what).collect();
    assert_eq!(record.len(), 3);
    assert!(record[2].starts_with("removed 3 samples from before 2100"), "{record:?}");
}

#[test]
fn a_removed_store_takes_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    store.insert(&[sample(1)]).unwrap();
    store.probe().unwrap();
    std::fs::remove_file(store.path()).unwrap();
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
    store.insert(&[sample(3)]).unwrap();
    let path = store.path().to_owned();
    assert!(restore(&copy, &path, "me").unwrap_err().to_string().contains("stop the collector"));
    drop(store);
    let (samples, kept) = restore(&copy, &path, "me").unwrap();
    assert_eq!((samples, Store::open_existing(kept.as_deref()).unwrap().count().unwrap()), (2, 3));
    let store = Store::open_existing(Some(&path)).unwrap();
    assert_eq!(store.samples(&Filter::default()).unwrap(), [sample(1), sample(2)]);
    assert!(store.audit().unwrap()[0].what.contains("restored the store from"));
}
