//! Progress and cancellation of long calculations.

use std::ops::ControlFlow;

/// The watcher cancelled a calculation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the calculation was cancelled; start it again")]
pub struct Cancelled;

/// Counts steps and reports them to a watcher.
pub struct Work<'a> {
    done: u64,
    total: u64,
    watch: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>,
}

impl<'a> Work<'a> {
    /// Starts a calculation of `total` steps.
    pub fn new(total: u64, watch: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>) -> Self {
        Self { done: 0, total, watch }
    }

    /// Reports one completed step.
    ///
    /// # Errors
    /// [`Cancelled`]: the watcher cancelled the work.
    pub fn step(&mut self) -> Result<(), Cancelled> {
        self.move_to(self.done + 1)
    }

    /// Returns the number of completed steps.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Reports that `done` steps are completed or skipped.
    pub fn move_to(&mut self, done: u64) -> Result<(), Cancelled> {
        self.done = done.min(self.total);
        match (self.watch)(self.done, self.total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Cancelled),
        }
    }
}
