//! Known damage of the store: one state, whatever found it.
//!
//! A request that meets a damaged page, the check in the background, and a file or write-ahead log
//! that has gone all lead to it. The collector then reports it and stores nothing more, so that
//! senders keep their samples, until it is started on a sound store, or the file is back.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use foreglow_exit::{Damaged, complain};

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

    /// Returns a sentence about lasting damage.
    pub(super) fn lasting(&self) -> Option<&str> {
        self.0.damage.get().map(String::as_str)
    }

    fn gone(&self) -> MutexGuard<'_, Option<String>> {
        self.0.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records whether the file is at its place, with a warning when it has gone.
    pub(super) fn set_gone(&self, sentence: Option<String>) {
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
