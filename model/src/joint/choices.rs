//! Partition sizes and batch sizes of the arms.

use std::sync::Arc;

use foreglow_shared::{Job, distinct};

use super::arms::FittedArm;
use crate::memory::Footprint;

impl FittedArm {
    /// Returns the other partition sizes of completed runs, if the runs show the effect of the size
    /// on the time.
    pub(super) fn other_sizes(&self, has_column: bool) -> Vec<u32> {
        // A fit of the arm alone cannot predict sizes that ran only on other machine types.
        let runs = match &self.own {
            Some(_) => &self.job.observations,
            None => &self.shown_by().observations,
        };
        let is_shown = self.clone().assume_partition_size(self.partition_size, has_column);
        let sizes = runs.iter().map(|run| run.partition_size);
        distinct(sizes.filter(|size| is_shown && *size != self.partition_size))
    }

    /// Returns the arm with its usual partition size, then with each other one.
    pub(super) fn with_each_size(self, has_column: bool) -> Vec<Self> {
        let other = |size: u32| {
            let mut arm = Self { must_be_shown_to_fit: true, ..self.clone() };
            arm.assume_partition_size(size, has_column);
            arm
        };
        let others: Vec<Self> = self.other_sizes(has_column).into_iter().map(other).collect();
        std::iter::once(self).chain(others).collect()
    }

    /// Predicts with another partition size. Returns whether the runs show its effect.
    pub(super) fn assume_partition_size(&mut self, partition_size: u32, has_column: bool) -> bool {
        let is_feature = match &mut self.items {
            // Public measurements have no partitions.
            None if self.public.is_some() => true,
            Some(items) => items.assume_partition_size(partition_size),
            None => has_column,
        };
        self.is_size_unknown = !is_feature && self.partition_size != partition_size;
        self.partition_size = partition_size;
        is_feature
    }

    /// Returns the arm with a batch size that no run had, if this one has a larger one. A smaller
    /// batch never needs more memory.
    pub(super) fn with_smaller_batch(&self, batch_size: u32) -> Self {
        let mut job = Job::clone(&self.job);
        job.context.workload.batch_size = batch_size;
        // The time of a larger batch is no bound for a smaller one.
        job.incomplete.clear();
        Self {
            job: Arc::new(job),
            own: None,
            unfit: None,
            items: None,
            // The accuracy depends on the batch size.
            accuracies: Vec::new(),
            must_be_shown_to_fit: true,
            is_interpolated: true,
            ..self.clone()
        }
    }

    /// Returns the runs that show which footprints fit into memory. On GPUs these are the arm's
    /// own, because GPUs of other machine types may have more memory.
    fn shown_by(&self) -> &Job {
        if self.job.context.accelerator.is_some() { &self.job } else { &self.memory }
    }

    /// Whether a configuration may be offered: always with the usual sizes, with others only if a
    /// completed run needed at least as much memory or measured peaks determine the memory of an
    /// executor.
    pub(crate) fn may_fit(&self, footprint: Footprint) -> bool {
        let has_peaks = self.job.context.accelerator.is_none() && !self.memory.peaks.is_empty();
        !self.must_be_shown_to_fit || has_peaks || footprint.is_shown_by(self.shown_by())
    }
}

/// Returns arms with those of these batch sizes that no run had and that are between two measured
/// ones with the same averaging interval, on each hardware of the arms.
pub(super) fn between(arms: &[FittedArm], batch_sizes: &[u32]) -> Vec<FittedArm> {
    let workload = |arm: &FittedArm| (arm.job.context.workload.average_every, arm.job.context.workload.batch_size);
    let measured = distinct(arms.iter().map(workload));
    let smaller_of = |arm: &FittedArm, batch_size: u32| {
        let (interval, measured_size) = workload(arm);
        let sizes = || measured.iter().filter(|(other, _)| *other == interval).map(|(_, size)| *size);
        let next = sizes().find(|size| *size >= batch_size);
        let is_between = next == Some(measured_size) && measured_size != batch_size;
        (is_between && sizes().any(|size| size < batch_size)).then(|| arm.with_smaller_batch(batch_size))
    };
    let known = arms.iter().filter(|arm| !arm.is_lent && arm.public.is_none());
    known.flat_map(|arm| batch_sizes.iter().filter_map(|size| smaller_of(arm, *size)).collect::<Vec<_>>()).collect()
}
