//! How far a long calculation has come, and whether it is still wanted.

use std::ops::ControlFlow;

/// The watcher of a long calculation said stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the calculation was cancelled; start it again to have its answer")]
pub struct Cancelled;

/// Counts the steps of a calculation before a watcher.
pub(crate) struct Work<'a> {
    done: u64,
    total: u64,
    watch: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>,
}

impl<'a> Work<'a> {
    /// A calculation of so many steps.
    pub(crate) fn new(total: u64, watch: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>) -> Self {
        Self { done: 0, total, watch }
    }

    /// One step is done.
    ///
    /// # Errors
    /// The watcher wants no more.
    pub(crate) fn step(&mut self) -> Result<(), Cancelled> {
        self.move_to(self.done + 1)
    }

    /// Steps that are done.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// So many steps are done, or need not be done.
    pub(crate) fn move_to(&mut self, done: u64) -> Result<(), Cancelled> {
        self.done = done.min(self.total);
        match (self.watch)(self.done, self.total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Cancelled),
        }
    }
}
