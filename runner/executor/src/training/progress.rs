//! Progress of a partition, of which a graphics device may still compute the last part.

use std::collections::VecDeque;

use foreglow_protocol::{BrokenImage, EvaluationTotals, Phases, Report};

use super::learner::{BatchMetrics, Gradients};

/// A partition in progress.
#[derive(Default)]
pub struct Learned {
    epoch: u64,
    tally: EvaluationTotals,
    /// The pending answers of each step.
    unread: VecDeque<Vec<BatchMetrics>>,
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

    /// Takes the answers of a step from its passes, and returns the number of images.
    pub fn take(&mut self, passes: &mut [Gradients]) -> u64 {
        let batches: Vec<BatchMetrics> = passes.iter_mut().flat_map(|pass| std::mem::take(&mut pass.batches)).collect();
        let images = batches.iter().map(BatchMetrics::images).sum();
        self.unread.push_back(batches);
        images
    }

    /// Waits for the answers of all steps but the last `rest`.
    ///
    /// # Errors
    /// The device fails.
    pub fn wait(&mut self, rest: usize) -> anyhow::Result<()> {
        while self.unread.len() > rest {
            for batches in self.unread.pop_front().unwrap_or_default() {
                self.tally += batches.wait()?.0;
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
