//! The check of all samples in the background, in slices. It finds damage in stores of any size
//! while they are served.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::integrity::{Found, Integrity, warn_of_runs, warn_of_samples};
use super::storage::Storage;
use crate::store::Location;

/// Samples of a slice.
const SLICE: usize = 1_000;
/// Pause after a slice, in multiples of its time: the check takes a fifth of a processor at most.
const PAUSE: u32 = 4;
/// Interval from the end of a check to the next one.
const INTERVAL: Duration = Duration::from_hours(24);
/// The same while damage is known.
const SHORT_INTERVAL: Duration = Duration::from_mins(10);
/// Pause after the store could not be read.
const PAUSE_AFTER_ERROR: Duration = Duration::from_mins(1);
/// Interval at which known damage is rechecked, because it may have been repaired.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Checks the store repeatedly until the collector stops.
pub(super) async fn keep_checking(storage: Storage, location: Location) {
    let integrity = storage.integrity();
    let mut due = Instant::now() + first_check(&integrity);
    let mut pause = LOOK_AGAIN;
    loop {
        if integrity.is_unexplained() || Instant::now() >= due {
            if let Err(error) = check(&storage, &location).await {
                eprintln!("foreglow: the samples could not be checked: {error:#}");
                sleep(PAUSE_AFTER_ERROR).await;
                continue;
            }
            due = Instant::now() + next_check(&integrity);
        }
        sleep(pause).await;
        let started = Instant::now();
        // A temporary failure of the store changes nothing.
        let _ = look_again(&storage).await;
        pause = LOOK_AGAIN.max(started.elapsed() * PAUSE);
    }
}

/// Returns the delay of the first check. A small store is checked before it is served.
fn first_check(integrity: &Integrity) -> Duration {
    if integrity.found().completed_at.is_some() { next_check(integrity) } else { Duration::ZERO }
}

fn next_check(integrity: &Integrity) -> Duration {
    if integrity.is_damaged() { SHORT_INTERVAL } else { INTERVAL }
}

/// Checks all samples and runs once. After an error, the earlier findings stay.
async fn check(storage: &Storage, location: &Location) -> anyhow::Result<()> {
    let integrity = storage.integrity();
    integrity.begin_check();
    let mut of_check = Found::default();
    let mut after = 0;
    loop {
        let started = Instant::now();
        let slice = storage.read(move |store| store.check_slice(after, SLICE)).await?;
        of_check.checked += slice.samples;
        of_check.add(&slice.damaged);
        warn_of_samples(integrity.add(of_check.checked, &slice.damaged), location);
        match slice.end {
            Some(end) => after = end,
            None => break,
        }
        sleep(started.elapsed() * PAUSE).await;
    }
    of_check.runs = storage.read(|store| store.check_runs()).await?.len();
    let known = integrity.found();
    warn_of_runs(of_check.runs.saturating_sub(known.runs), location);
    of_check.structure = structure(storage, &known).await?;
    integrity.end_check(of_check);
    Ok(())
}

/// Removes repaired damage from the findings: replaced or removed samples, recomputed figures, and
/// rebuilt indexes.
async fn look_again(storage: &Storage) -> anyhow::Result<()> {
    let integrity = storage.integrity();
    let (known, positions) = (integrity.found(), integrity.positions());
    if known.is_sound() {
        return Ok(());
    }
    let sound = storage.read(move |store| store.sound_among(&positions)).await?;
    let runs = if known.runs > 0 { storage.read(|store| store.check_runs()).await?.len() } else { 0 };
    integrity.forget(&sound, runs, structure(storage, &known).await?);
    Ok(())
}

/// Returns the number of known structural problems that remain.
async fn structure(storage: &Storage, known: &Found) -> anyhow::Result<usize> {
    if known.structure == 0 {
        return Ok(0);
    }
    Ok(storage.read(|store| store.check_indexes()).await?.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrity::tests::alter;
    use crate::store::Store;
    use crate::store::tests::{damage_id, sample};

    #[tokio::test]
    async fn a_check_in_the_background_finds_damage_in_every_slice_and_its_repair() {
        let folder = tempfile::tempdir().unwrap();
        let location: Location = folder.path().join("samples.sqlite").into();
        let mut store = Store::open(Some(&location)).unwrap();
        let samples: Vec<_> = (1..=2_500).map(sample).collect();
        store.insert(&samples).unwrap();
        let (storage, _closed) = Storage::start(store, Integrity::default()).unwrap();
        let integrity = storage.integrity();
        check(&storage, &location).await.unwrap();
        let found = integrity.found();
        assert!(!integrity.is_damaged() && found.checked == 2_500 && found.completed_at.is_some(), "{found:?}");

        alter(&location, "UPDATE samples SET line = replace(line, '2.5', '2.4') WHERE seq IN (7, 1700, 2500)");
        alter(&location, "UPDATE runs SET sum_secs = 1.0");
        check(&storage, &location).await.unwrap();
        let found = integrity.found();
        assert_eq!((found.samples(), found.runs, found.checked), (3, 1, 2_500));
        let sentence = integrity.sentence().unwrap();
        assert!(sentence.starts_with("the store has 3 damaged samples and 1 run with wrong figures; "), "{sentence}");

        alter(&location, "UPDATE samples SET line = replace(line, '2.4', '2.5') WHERE seq = 7");
        alter(&location, "DELETE FROM samples WHERE seq = 1700");
        look_again(&storage).await.unwrap();
        assert_eq!((integrity.found().samples(), integrity.is_damaged()), (1, true));
    }

    #[tokio::test]
    async fn damage_that_an_answer_met_is_known_until_a_check_does_not_find_it() {
        let folder = tempfile::tempdir().unwrap();
        let location: Location = folder.path().join("samples.sqlite").into();
        let mut store = Store::open(Some(&location)).unwrap();
        store.insert(&[sample(1), sample(2)]).unwrap();
        let (storage, _closed) = Storage::start(store, Integrity::default()).unwrap();
        let integrity = storage.integrity();
        alter(&location, "UPDATE samples SET checksum = checksum + 1 WHERE seq = 2");
        let lines = storage.read(|store| store.lines_after(0, i64::MAX, 9)).await.unwrap().0;
        assert!(lines.len() == 1 && integrity.is_damaged() && integrity.found().is_sound());
        assert!(integrity.sentence().unwrap().starts_with("the store has damaged samples; "));
        alter(&location, "UPDATE samples SET checksum = checksum - 1 WHERE seq = 2");
        check(&storage, &location).await.unwrap();
        assert!(!integrity.is_damaged() && integrity.sentence().is_none());
    }

    #[tokio::test]
    async fn damage_at_the_start_is_checked_again_soon_and_its_repair_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.sqlite");
        let location: Location = path.clone().into();
        let mut store = Store::open(Some(&location)).unwrap();
        store.insert(&[sample(1), sample(2)]).unwrap();
        assert_eq!(first_check(&Integrity::of(&store, u64::MAX).unwrap()), INTERVAL);
        assert_eq!(first_check(&Integrity::of(&store, 0).unwrap()), Duration::ZERO);
        alter(&location, "UPDATE runs SET sum_secs = 1.0");
        drop(store);
        damage_id(&path, 2, b'x');

        let store = Store::open(Some(&location)).unwrap();
        let integrity = Integrity::of(&store, u64::MAX).unwrap();
        let found = integrity.found();
        assert_eq!((found.samples(), found.runs), (1, 1));
        assert!(found.structure > 0 && integrity.is_damaged(), "{found:?}");
        assert!(integrity.sentence().unwrap().contains("of the file's structure; "), "{:?}", integrity.sentence());
        assert_eq!(first_check(&integrity), SHORT_INTERVAL);

        let (storage, _closed) = Storage::start(store, integrity).unwrap();
        look_again(&storage).await.unwrap();
        assert_eq!(storage.integrity().found(), found, "nothing was repaired");
        // A sample that is sent again replaces the damaged one, and counts its run again.
        storage.write(|store| store.insert(&[sample(2)])).await.unwrap();
        look_again(&storage).await.unwrap();
        assert!(!storage.integrity().is_damaged(), "{:?}", storage.integrity().found());
    }
}
