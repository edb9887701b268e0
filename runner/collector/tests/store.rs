//! The same tests over both kinds of store: a file, and a PostgreSQL database.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "postgres/mod.rs"]
mod server;

/// Runs each test with a file and with a database.
macro_rules! over_both {
    ($($name:ident)*) => {
        mod file {
            $(#[test]
            fn $name() {
                super::$name(&crate::Place::file());
            })*
        }
        mod database {
            $(#[test]
            fn $name() {
                if let Some(place) = crate::Place::database() {
                    super::$name(&place);
                }
            })*
        }
    };
}

#[path = "store/access.rs"]
mod access;
#[path = "store/damage.rs"]
mod damage;
#[path = "store/events.rs"]
mod events;
#[path = "store/faults.rs"]
mod faults;
#[path = "store/front.rs"]
mod front;
#[path = "store/hostile.rs"]
mod hostile;
#[path = "store/identity.rs"]
mod identity;
#[path = "store/jobs.rs"]
mod jobs;
#[path = "store/workloads.rs"]
mod workloads_in_pages;

use foreglow_collector::Access;
use foreglow_shared::{Outcome, Sample, Uuid, Workload, parse_line};
use foreglow_store::token::Hash;
use foreglow_store::{After, Encoded, Filter, Inserted, Location, Roles, Runs, RunsFilter, Store, Token, Waiting};

const LINE: &str = r#"{"schema":1,"id":"01890000-0000-7000-8000-000000000001","workload":{"model":"lenet5","mode":"inference",
"image_px":28,"images":1000,"epochs":1,"batch_size":8},"configuration":{"executors":1,"cores_per_executor":1,
"memory_per_executor_mib":1024,"partition_size":8,"accelerator":null},"sampling_rate":0.1,"outcome":"completed",
"completion_time_secs":2.5,"engine":"local","runner_version":"0.1.0","host":{"cpu":"A","adapter":null},
"started_at":"2026-11-21T10:00:00Z","note":"kept"}"#;

/// A token of 128 bits.
const SECRET: &str = "7b1f0c2e9d5a4836b0e1f2a3c4d5e6f7";

fn sample(number: u128) -> Sample {
    let mut sample = parse_line(&LINE.replace('\n', "")).unwrap();
    sample.id = Uuid::from_u128((0x0189 << 112) | (7 << 76) | (2 << 62) | number);
    sample
}

/// Returns the first workloads with their numbers of samples.
fn workloads(store: &Store) -> Vec<(Workload, u64)> {
    let listed = store.workloads(None, 9).unwrap().workloads;
    listed.iter().map(|counted| (serde_json::from_str(&counted.workload).unwrap(), counted.samples)).collect()
}

fn inserted(new: usize, known: usize) -> Inserted {
    Inserted { new, known, conflicts: Vec::new() }
}

fn waiting(collector: &str, waiting: u64) -> Waiting {
    Waiting { collector: collector.to_owned(), waiting, rejected: 0 }
}

/// Location of an initially empty store.
struct Place {
    location: Location,
    /// Removes the file on drop.
    _folder: Option<tempfile::TempDir>,
    server: Option<&'static server::Server>,
}

impl Place {
    fn file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = folder.path().join("inner").join("samples.sqlite").into();
        Self { location, _folder: Some(folder), server: None }
    }

    /// Returns a new database; `None` without PostgreSQL.
    fn database() -> Option<Self> {
        let server = server::shared()?;
        let location = Location::Database(server.database().unwrap());
        Some(Self { location, _folder: None, server: Some(server) })
    }

    fn open(&self) -> Store {
        Store::open(Some(&self.location)).unwrap()
    }

    /// Changes the tables directly, without the store.
    fn alter(&self, sql: &str) {
        match (&self.location, self.server) {
            (Location::File(path), _) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
            (Location::Database(url), Some(server)) => drop(server.sql(url, sql).unwrap()),
            (Location::Database(_), None) => panic!("a database has a server"),
        }
    }
}

over_both! {
    a_sample_is_stored_once_and_read_back_unchanged
    filters_select_samples_and_pages_have_no_gaps
    a_sample_waits_until_its_collector_has_it
    workloads_are_counted
    a_sample_from_before_the_limits_is_left_out_and_can_be_removed
    samples_that_wait_are_listed_sent_elsewhere_or_discarded
    a_rejected_sample_is_kept_with_the_reason_until_it_is_sent_again_or_discarded
    a_sample_that_the_user_sends_replaces_the_one_that_waits_or_was_rejected
    another_sample_with_a_known_id_is_a_conflict_and_changes_nothing
    a_page_ends_after_its_limit_and_names_where_the_next_one_begins
    equal_runs_are_counted_together_through_every_change
    runs_are_counted_though_another_store_removes_them
    altered_figures_are_found
    a_store_of_a_newer_version_is_rejected
    a_reader_sees_what_was_committed
    samples_of_any_size_and_with_any_character_are_stored
    a_token_is_found_by_its_hash_until_it_is_revoked
    the_token_of_a_sender_is_not_that_of_the_collector
}

fn a_sample_is_stored_once_and_read_back_unchanged(place: &Place) {
    let mut store = place.open();
    assert_eq!(store.insert(&[sample(1), sample(2), sample(1)]).unwrap(), inserted(2, 1));
    assert_eq!(store.insert(&[sample(2)]).unwrap(), inserted(0, 1));
    drop(store);
    assert_eq!(place.open().samples(&Filter::default()).unwrap(), [sample(1), sample(2)]);
}

fn filters_select_samples_and_pages_have_no_gaps(place: &Place) {
    let mut store = place.open();
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
    let page = read(Filter { limit: Some(2), after: Some(After::Id(page[1].id)), ..Filter::default() });
    assert_eq!(page, [failed, sample(4)]);
    let error = store.samples(&Filter { after: Some(After::Id(sample(9).id)), ..Filter::default() }).unwrap_err();
    assert!(error.to_string().contains("there is no sample with the id"), "{error}");
}

fn a_sample_waits_until_its_collector_has_it(place: &Place) {
    let mut store = place.open();
    store.keep_for("http://a", &[sample(1), sample(2)]).unwrap();
    store.keep_for("http://b", &[sample(1)]).unwrap();
    store.settle("http://a", &[sample(1).id], &[]).unwrap();
    assert_eq!(store.waiting_for("http://a").unwrap(), [sample(2)]);
    assert_eq!(store.waiting_for("http://b").unwrap(), [sample(1)]);
    assert_eq!(store.samples(&Filter::default()).unwrap(), [], "waiting samples are not samples of this store");
}

fn workloads_are_counted(place: &Place) {
    let mut store = place.open();
    let mut other = sample(3);
    other.workload.model = "a".into();
    store.insert(&[sample(1), other.clone(), sample(2)]).unwrap();
    assert_eq!(workloads(&store), [(other.workload, 1), (sample(1).workload, 2)]);
}

fn a_sample_from_before_the_limits_is_left_out_and_can_be_removed(place: &Place) {
    let mut store = place.open();
    let mut huge = sample(1);
    huge.configuration.executors = u32::MAX;
    // The format of an earlier version.
    store.insert(&[huge, sample(2)]).unwrap();
    assert_eq!(store.samples(&Filter::default()).unwrap(), [sample(2)]);
    assert_eq!(store.ids().unwrap(), [sample(1).id, sample(2).id]);
    assert_eq!(store.remove(&[sample(1).id, sample(9).id], "me").unwrap(), 1);
    assert_eq!(store.ids().unwrap(), [sample(2).id]);
}

fn samples_that_wait_are_listed_sent_elsewhere_or_discarded(place: &Place) {
    let mut store = place.open();
    store.keep_for("http://a", &[sample(1), sample(2)]).unwrap();
    store.keep_for("http://b", &[sample(2), sample(3)]).unwrap();
    assert_eq!(store.waiting().unwrap(), [waiting("http://a", 2), waiting("http://b", 2)]);
    assert_eq!(store.redirect("http://a", "http://b").unwrap(), 2);
    assert_eq!(store.waiting().unwrap(), [waiting("http://b", 3)], "one of them waited there already");
    assert_eq!(store.redirect("http://b", "http://b").unwrap(), 0);
    assert_eq!(store.waiting().unwrap(), [waiting("http://b", 3)], "the same collector loses nothing");
    assert_eq!(store.discard("http://nobody", false).unwrap(), 0);
    assert_eq!(store.discard("http://b", false).unwrap(), 3);
    assert_eq!(store.waiting().unwrap(), []);
}

fn a_rejected_sample_is_kept_with_the_reason_until_it_is_sent_again_or_discarded(place: &Place) {
    let mut store = place.open();
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

fn a_sample_that_the_user_sends_replaces_the_one_that_waits_or_was_rejected(place: &Place) {
    let mut store = place.open();
    let corrected = |number| Sample { completion_time_secs: Some(9.0), ..sample(number) };
    store.keep_for("http://a", &[sample(1), sample(2), sample(3)]).unwrap();
    store.settle("http://a", &[], &[(sample(2).id, "a newer schema".into())]).unwrap();
    store.keep_in_place("http://a", &[corrected(1), corrected(2)]).unwrap();
    assert_eq!(store.waiting_for("http://a").unwrap(), [corrected(1), corrected(2), sample(3)]);
    assert_eq!(store.rejected().unwrap(), []);
}

fn another_sample_with_a_known_id_is_a_conflict_and_changes_nothing(place: &Place) {
    let mut store = place.open();
    let mut other = sample(1);
    other.completion_time_secs = Some(9.0);
    store.insert(&[sample(1)]).unwrap();
    let outcome = store.insert(&[sample(1), other, sample(2)]).unwrap();
    assert_eq!(outcome, Inserted { new: 1, known: 1, conflicts: vec![1] });
    assert_eq!(store.samples(&Filter::default()).unwrap(), [sample(1), sample(2)]);
}

fn a_page_ends_after_its_limit_and_names_where_the_next_one_begins(place: &Place) {
    let mut store = place.open();
    store.insert(&[sample(1), sample(2), sample(3)]).unwrap();
    let page = |limit: usize, bytes: u64| {
        let page = store.page(&Filter { limit: Some(limit), ..Filter::default() }, bytes).unwrap();
        (page.end, page.next)
    };
    assert_eq!(page(3, u64::MAX), (3, None));
    assert_eq!(page(2, u64::MAX), (2, Some(After::Id(sample(2).id))));
    assert_eq!(page(3, 10), (1, Some(After::Id(sample(1).id))), "one sample at least");
}

/// Number of samples, and mean, least and largest completion time, seconds.
type Counted = (u64, Option<(f64, f64, f64)>);

fn all_runs(store: &Store) -> Vec<Counted> {
    let runs = store.runs(&RunsFilter { limit: 100, ..RunsFilter::default() }).unwrap().runs;
    let times = |runs: &Runs| runs.times.map(|times| (times.mean_secs, times.least_secs, times.most_secs));
    runs.iter().map(|runs| (runs.samples, times(runs))).collect()
}

fn equal_runs_are_counted_together_through_every_change(place: &Place) {
    let mut store = place.open();
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
    assert_eq!(store.runs(&filter).unwrap().runs.len(), 1);
    let later = "2100-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(store.remove_before(later, 100, "me").unwrap(), 3);
    assert_eq!(all_runs(&store), []);
    assert_eq!(store.count().unwrap(), 0);
    let record: Vec<String> = store.audit().unwrap().into_iter().map(|line| line.what).collect();
    assert_eq!(record.len(), 3);
    assert!(record[2].starts_with("removed 3 samples from before 2100"), "{record:?}");
}

/// A writer that cached the number of the removed run would count samples for a missing or another
/// run.
fn runs_are_counted_though_another_store_removes_them(place: &Place) {
    let (mut one, mut other) = (place.open(), place.open());
    assert_eq!(one.insert(&[sample(1)]).unwrap(), inserted(1, 0));
    assert_eq!(other.remove(&[sample(1).id], "me").unwrap(), 1);
    let timed_out = |number| Sample { outcome: Outcome::TimedOut, ..sample(number) };
    assert_eq!(other.insert(&[timed_out(2), timed_out(6)]).unwrap(), inserted(2, 0));
    assert_eq!(one.insert(&[sample(3), sample(4)]).unwrap(), inserted(2, 0));
    assert_eq!(one.remove(&[sample(3).id, sample(4).id], "me").unwrap(), 2);
    assert_eq!(one.insert(&[sample(5)]).unwrap(), inserted(1, 0));
    assert_eq!(all_runs(&one).iter().map(|(samples, _)| *samples).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(workloads(&one), [(sample(1).workload, 3)]);
}

fn altered_figures_are_found(place: &Place) {
    let mut store = place.open();
    store.insert(&[sample(1), sample(2)]).unwrap();
    store.insert(&[Sample { completion_time_secs: Some(0.1), ..sample(3) }]).unwrap();
    store.remove(&[sample(2).id], "me").unwrap();
    assert!(store.check().unwrap().is_sound());
    for figure in ["samples = 3", "timed = 1", "sum_secs = sum_secs + 0.001", "least_secs = 0.2", "most_secs = 9.0"] {
        place.alter(&format!("UPDATE runs SET {figure}"));
        let findings = store.check().unwrap();
        assert_eq!(findings.figures, ["run 1: its figures are not those of its samples"], "{figure}");
        store.insert(&[sample(4)]).unwrap();
        // A removal recomputes the figures of the run.
        store.remove(&[sample(4).id], "me").unwrap();
        assert!(store.check().unwrap().is_sound(), "{figure}");
    }
}

fn a_store_of_a_newer_version_is_rejected(place: &Place) {
    drop(place.open());
    place.alter(match place.location {
        Location::File(_) => "PRAGMA user_version = 9",
        Location::Database(_) => "UPDATE foreglow_store SET version = 9",
    });
    let error = Store::open(Some(&place.location)).unwrap_err();
    assert!(error.to_string().contains("written by a newer Foreglow (tables of version 9"), "{error}");
}

fn a_reader_sees_what_was_committed(place: &Place) {
    let mut store = place.open();
    let reader = store.reader().unwrap();
    store.insert(&[sample(1)]).unwrap();
    assert_eq!(reader.ids().unwrap(), [sample(1).id]);
    let encoded = |number| Encoded::new(&sample(number)).unwrap();
    store.insert_all(&[&[encoded(2)], &[encoded(1), encoded(3)]]).unwrap();
    assert_eq!(reader.ids().unwrap(), [sample(1).id, sample(2).id, sample(3).id]);
    assert_eq!((reader.end().unwrap(), reader.count().unwrap()), (reader.position(sample(3).id).unwrap(), 3));
    assert!(reader.size_bytes().unwrap() > 0);
}

fn samples_of_any_size_and_with_any_character_are_stored(place: &Place) {
    let mut store = place.open();
    let mut large = sample(1);
    large.workload.model = format!("a\u{0}b{}", "é\u{1f980}".repeat(2_000));
    large.host.cpu = Some("\u{0}".repeat(5_000));
    let line = serde_json::to_string(&large).unwrap();
    assert_eq!(store.insert(&[large.clone()]).unwrap(), inserted(1, 0));
    assert_eq!(store.insert(&[large.clone()]).unwrap(), inserted(0, 1));
    assert_eq!(store.sample_line(large.id).unwrap(), Some(line));
    assert_eq!(store.count().unwrap(), 1);
}

fn a_token_is_found_by_its_hash_until_it_is_revoked(place: &Place) {
    let mut store = place.open();
    let roles: Roles = "read,write".parse().unwrap();
    let time = |text: &str| text.parse().unwrap();
    let (created_at, expires_at) = (time("2026-11-21T10:00:00.000001Z"), Some(time("2027-11-21T10:00:00Z")));
    let mut token = Token { name: "anna".into(), roles, per_minute: 60, created_at, expires_at, last_used_at: None };
    assert!(!store.has_tokens().unwrap());
    store.add_token(&token, Hash::of("secret"), "me").unwrap();
    assert!(store.has_tokens().unwrap());
    let again = store.add_token(&token, Hash::of("other"), "me").unwrap_err();
    assert!(again.to_string().contains("there is a token anna already"), "{again}");
    assert_eq!(store.token(Hash::of("secret")).unwrap().as_ref(), Some(&token));
    assert_eq!(store.token(Hash::of("other")).unwrap(), None);
    token.last_used_at = expires_at;
    store.mark_used(&[("anna".into(), expires_at.unwrap()), ("nobody".into(), created_at)]).unwrap();
    assert_eq!(store.tokens().unwrap(), [token]);
    assert!(store.revoke_token("anna", "me").unwrap() && !store.revoke_token("anna", "me").unwrap());
    assert!(store.has_tokens().unwrap(), "a store that once had a token stays closed");
    let record: Vec<String> = store.audit().unwrap().into_iter().map(|line| line.what).collect();
    assert_eq!(record, ["made the token anna (read,write)", "revoked the token anna"]);
}

fn the_token_of_a_sender_is_not_that_of_the_collector(place: &Place) {
    let mut store = place.open();
    let (roles, created_at) = ("write".parse().unwrap(), "2026-11-21T10:00:00Z".parse().unwrap());
    let token = Token { name: "node1".into(), roles, per_minute: 60, created_at, expires_at: None, last_used_at: None };
    store.add_token(&token, Hash::of(SECRET), "me").unwrap();
    let refused = Access::of_store(&store, Some(SECRET.into())).unwrap_err().to_string();
    assert!(refused.contains("FOREGLOW_TOKEN_FILE) is that of node1"), "{refused}");
    let access = Access::of_store(&store, Some("0f1e2d3c4b5a69788796a5b4c3d2e1f0".into())).unwrap();
    assert!(access.has_tokens && access.token.is_some());
    assert!(Access::of_store(&store, None).unwrap().has_tokens);
}
