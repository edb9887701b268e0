//! Progress of a partition, of which a graphics device may still compute the last part.

use std::collections::VecDeque;

use foreglow_protocol::{BrokenImage, Phases, Report, Tally};

use super::learner::{Graded, Lesson};

/// A partition in progress.
#[derive(Default)]
pub struct Learned {
    epoch: u64,
    tally: Tally,
    /// The pending answers of each step.
    unread: VecDeque<Vec<Graded>>,
    /// Images that cannot be used.
    pub broken: Vec<BrokenImage>,
    /// Breakdown of the time.
    pub phases: Phases,
}

impl Learned {
    /// Starts a partition of this epoch.
    pub fn new(epoch: u64) -> Self {
        Self { epoch, ..Self::default() }
    }

    /// Takes the answers of a step from its lessons, and returns the number of images.
    pub fn take(&mut self, lessons: &mut [Lesson]) -> u64 {
        let graded: Vec<Graded> = lessons.iter_mut().flat_map(|lesson| std::mem::take(&mut lesson.graded)).collect();
        let images = graded.iter().map(Graded::images).sum();
        self.unread.push_back(graded);
        images
    }

    /// Waits for the answers of all steps but the last `rest`.
    ///
    /// # Errors
    /// The device fails.
    pub fn wait(&mut self, rest: usize) -> anyhow::Result<()> {
        while self.unread.len() > rest {
            for graded in self.unread.pop_front().unwrap_or_default() {
                self.tally += graded.wait()?.0;
            }
        }
        Ok(())
    }

    /// Waits for all steps and returns the report.
    ///
    /// # Errors
    /// The device fails.
    pub fn report(mut self) -> anyhow::Result<Report> {
        self.wait(0)?;
        let Self { epoch, tally, broken, phases, .. } = self;
        Ok(Report::Learned { epoch, tally, broken, phases })
    }
}
