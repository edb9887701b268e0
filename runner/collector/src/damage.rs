//! Known damage of the store: one state, whatever found it.
//!
//! A request that meets a damaged page, the check in the background, and a file or write-ahead log
//! that has gone all lead to it. The collector then reports it and stores nothing more, so that
//! senders keep their samples, until it is started on a sound store, or the file is back.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use foreglow_exit::{Damaged, complain};
use tokio::time::{Instant, sleep};

use super::storage::Storage;
use foreglow_store::Unavailable;

/// Interval at which the file and its write-ahead log are looked for.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Least interval between two checks of the whole file, and the same in multiples of a check's
/// time.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
const CHECK_PAUSE: u32 = 100;

/// Known damage.
#[derive(Clone, Debug, Default)]
pub(super) struct Damage(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Lasting damage, as a sentence.
    damage: OnceLock<String>,
    /// A sentence while the file is not at its place.
    gone: Mutex<Option<String>>,
}

impl Damage {
    /// Records the damage that an error reports, with a warning for the first one.
    pub(super) fn note(&self, error: &anyhow::Error) {
        let Some(Damaged(sentence)) = error.downcast_ref() else { return };
        if self.0.damage.set(sentence.clone()).is_ok() {
            complain(&format!("foreglow: warning: {sentence}; until then, samples are refused"));
        }
    }

    /// Returns a sentence about the damage; `None` without damage.
    pub(super) fn sentence(&self) -> Option<String> {
        self.lasting().map(str::to_owned).or_else(|| self.gone().clone())
    }

    fn lasting(&self) -> Option<&str> {
        self.0.damage.get().map(String::as_str)
    }

    fn gone(&self) -> MutexGuard<'_, Option<String>> {
        self.0.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records whether the file is at its place, with a warning when it has gone.
    fn set_gone(&self, sentence: Option<String>) {
        let mut gone = self.gone();
        if let Some(sentence) = sentence.as_ref().filter(|_| gone.is_none()) {
            complain(&format!("foreglow: warning: {sentence}"));
        }
        *gone = sentence;
    }

    /// Refuses a write to a damaged store. A file that has gone refuses it itself.
    ///
    /// # Errors
    /// The store is damaged.
    pub(super) fn refuse(&self) -> anyhow::Result<()> {
        self.lasting().map_or(Ok(()), |sentence| Err(anyhow::Error::new(Damaged(sentence.to_owned()))))
    }
}

/// Looks for damage until the collector stops or has found some.
pub(super) async fn keep_looking(storage: Storage) {
    let mut due = Instant::now() + LOOK_INTERVAL;
    while storage.damage().lasting().is_none() {
        sleep(LOOK_INTERVAL).await;
        // The storage records lasting damage of both; other failures are temporary.
        let gone = storage.write(|store| store.look()).await.err().filter(|error| error.is::<Unavailable>());
        storage.damage().set_gone(gone.map(|error| format!("{error:#}")));
        if Instant::now() >= due {
            let started = Instant::now();
            // Another connection has none of the pages in its cache.
            drop(storage.read(|store| store.reader()?.check_file()).await);
            due = Instant::now() + CHECK_INTERVAL.max(started.elapsed() * CHECK_PAUSE);
        }
    }
}
