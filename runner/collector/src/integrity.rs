//! Known damage: from the check before a small store is served, from answers that omitted a damaged
//! sample, and from the checks in the background.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foreglow_shared::{Timestamp, format_count};

use crate::store::{Location, Store};

/// Stores up to this size are checked completely before they are served. For larger ones only the
/// structure is checked first, and the rest in the background.
pub(super) const CHECKED_BYTES: u64 = 256 << 20;
/// Limit on the stored positions of damaged samples.
const MOST_KEPT: usize = 1_000;

/// Known damage of a store.
#[derive(Debug, Default)]
pub(super) struct Integrity {
    /// Whether an answer omitted a damaged sample that no check has found yet.
    seen: AtomicBool,
    /// The same since the last check began.
    seen_since: AtomicBool,
    found: Mutex<Found>,
}

/// Findings of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Positions of damaged samples.
    damaged: BTreeSet<i64>,
    /// Number of further damaged samples.
    more: usize,
    /// Runs whose figures differ from those of their samples.
    pub(super) runs: usize,
    /// Problems of the file's structure, such as an index that differs from its table.
    pub(super) structure: usize,
    /// Samples read by the current check, or by the last one.
    pub(super) checked: u64,
    /// End of the last complete check.
    pub(super) completed_at: Option<Timestamp>,
}

impl Found {
    /// Returns the number of damaged samples.
    pub(super) fn samples(&self) -> usize {
        self.damaged.len() + self.more
    }

    /// Whether there are no findings.
    pub(super) fn is_sound(&self) -> bool {
        self.samples() == 0 && self.runs == 0 && self.structure == 0
    }

    /// Adds damaged samples, and returns the number of new ones.
    pub(super) fn add(&mut self, damaged: &[(i64, String)]) -> usize {
        let before = self.samples();
        for (position, _) in damaged {
            if self.damaged.len() < MOST_KEPT {
                self.damaged.insert(*position);
            } else if !self.damaged.contains(position) {
                self.more += 1;
            }
        }
        self.samples() - before
    }
}

impl Integrity {
    /// Checks a store before it is served: its structure, and also its samples if it has at most
    /// this size.
    ///
    /// # Errors
    /// The structure is damaged, or the store cannot be read.
    pub(super) fn of(store: &Store, most_bytes: u64) -> anyhow::Result<Self> {
        store.check_structure()?;
        let integrity = Self::default();
        if store.size_bytes()? <= most_bytes {
            let findings = store.check()?;
            let mut found = integrity.lock();
            warn_of_samples(found.add(&findings.damaged), store.location());
            found.runs = findings.figures.len();
            warn_of_runs(found.runs, store.location());
            found.structure = findings.structure.len();
            warn_of_structure(&findings.structure, store.location());
            (found.checked, found.completed_at) = (findings.samples, Some(Timestamp::now()));
        }
        Ok(integrity)
    }

    /// Records that an answer omitted a damaged sample.
    pub(super) fn saw_damage(&self) {
        self.seen.store(true, Ordering::Relaxed);
        self.seen_since.store(true, Ordering::Relaxed);
    }

    /// Whether an answer omitted a damaged sample and no check has found one.
    pub(super) fn is_unexplained(&self) -> bool {
        self.seen.load(Ordering::Relaxed) && self.lock().is_sound()
    }

    /// Begins a check of all samples.
    pub(super) fn begin_check(&self) {
        self.seen_since.store(false, Ordering::Relaxed);
        // The current check counts them anew.
        self.lock().more = 0;
    }

    /// Adds the findings of a check so far, and returns the number of new damaged samples.
    pub(super) fn add(&self, checked: u64, damaged: &[(i64, String)]) -> usize {
        let mut found = self.lock();
        found.checked = checked;
        found.add(damaged)
    }

    /// Ends a check.
    pub(super) fn end_check(&self, found: Found) {
        // Damage to samples that this check had already read is found by the next check.
        let is_unexplained = self.seen_since.load(Ordering::Relaxed) && found.is_sound();
        self.seen.store(is_unexplained, Ordering::Relaxed);
        *self.lock() = Found { completed_at: Some(Timestamp::now()), ..found };
    }

    /// Returns the positions of damaged samples.
    pub(super) fn positions(&self) -> Vec<i64> {
        self.lock().damaged.iter().copied().collect()
    }

    /// Removes repaired or deleted samples from the findings, and updates the other counts.
    pub(super) fn forget(&self, sound: &BTreeSet<i64>, runs: usize, structure: usize) {
        let mut found = self.lock();
        let was_sound = found.is_sound();
        found.damaged.retain(|position| !sound.contains(position));
        (found.runs, found.structure) = (runs, structure);
        if !was_sound && found.is_sound() {
            self.seen.store(false, Ordering::Relaxed);
        }
    }

    /// Whether damage is known.
    pub(super) fn is_damaged(&self) -> bool {
        self.seen.load(Ordering::Relaxed) || !self.lock().is_sound()
    }

    /// Returns what the checks have found.
    pub(super) fn found(&self) -> Found {
        self.lock().clone()
    }

    /// Returns a sentence about the damage; `None` without damage.
    pub(super) fn sentence(&self) -> Option<String> {
        if !self.is_damaged() {
            return None;
        }
        let found = self.found();
        let samples = match found.samples() {
            // An answer omitted one, and the check that counts them has not ended.
            0 if found.is_sound() => Some("damaged samples".to_owned()),
            0 => None,
            count => Some(format_count(count, "damaged sample")),
        };
        let runs = (found.runs > 0).then(|| format_count(found.runs, "run") + " with wrong figures");
        let structure =
            (found.structure > 0).then(|| format_count(found.structure, "problem") + " of the file's structure");
        let what: Vec<String> = samples.into_iter().chain(runs).chain(structure).collect();
        Some(format!("the store has {}; `foreglow serve --check` lists them", what.join(" and ")))
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Warns of damaged samples.
pub(super) fn warn_of_samples(samples: usize, location: &Location) {
    if samples > 0 {
        eprintln!(
            "foreglow: warning: {} in {location} differ from what was stored, and are not served; `foreglow serve --check` lists them",
            format_count(samples, "sample")
        );
    }
}

/// Warns of runs with wrong figures.
pub(super) fn warn_of_runs(runs: usize, location: &Location) {
    if runs > 0 {
        eprintln!(
            "foreglow: warning: the figures of {} in {location} are not those of the samples; `foreglow serve --check` lists them",
            format_count(runs, "run")
        );
    }
}

/// Warns of a damaged structure.
pub(super) fn warn_of_structure(problems: &[String], location: &Location) {
    if let Some(first) = problems.first() {
        eprintln!(
            "foreglow: warning: the structure of {location} is damaged ({first}); `foreglow serve --check` lists what is"
        );
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::store::tests::sample;

    /// Damages or repairs a store directly, without the collector.
    pub(crate) fn alter(store: &Location, sql: &str) {
        rusqlite::Connection::open(store.file().unwrap()).unwrap().execute_batch(sql).unwrap();
    }

    #[test]
    fn only_a_small_store_is_checked_before_it_is_served() {
        let folder = tempfile::tempdir().unwrap();
        let location: Location = folder.path().join("samples.sqlite").into();
        let mut store = Store::open(Some(&location)).unwrap();
        store.insert(&[sample(1), sample(2)]).unwrap();
        alter(&location, "UPDATE samples SET secs = 9.0 WHERE seq = 2");
        let found = Integrity::of(&store, CHECKED_BYTES).unwrap().found();
        assert_eq!((found.samples(), found.runs, found.checked), (1, 1, 2));
        assert_eq!(Integrity::of(&store, 1_000).unwrap().found(), Found::default());
    }

    #[test]
    fn the_positions_that_are_kept_have_a_limit_and_the_others_are_counted() {
        let damaged: Vec<(i64, String)> = (0..1_500).map(|position| (position, String::new())).collect();
        let mut found = Found::default();
        assert_eq!((found.add(&damaged), found.damaged.len(), found.samples()), (1_500, MOST_KEPT, 1_500));
        assert_eq!(found.add(&damaged[..10]), 0);
    }
}
