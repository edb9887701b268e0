//! Training rows of the scenarios: checked runs with repeats averaged.

use std::cmp::Ordering;

use foreglow_shared::Observation;

use crate::runs::check;
use crate::{FitError, Setting};

/// Mean completion time of runs with the same features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AveragedRun {
    pub(crate) setting: Setting,
    /// Executor memory, MiB; that of one of the runs if the average spans several.
    pub(crate) memory_per_executor_mib: u32,
    /// Partition size, images; that of one of the runs if the average spans several.
    pub(crate) partition_size: u32,
    /// Completion time, seconds.
    pub(crate) secs: f64,
}

impl AveragedRun {
    fn of(run: &Observation) -> Self {
        Self {
            setting: Setting::of(run),
            memory_per_executor_mib: run.memory_per_executor_mib,
            partition_size: run.partition_size,
            secs: run.completion_time_secs,
        }
    }

    fn resources(&self) -> (u32, u32) {
        (self.memory_per_executor_mib, self.partition_size)
    }

    /// Compares rows by E, C, SR, executor memory, partition size and time.
    fn order(&self, other: &Self) -> Ordering {
        let setting = self.setting.order(&other.setting);
        setting.then(self.resources().cmp(&other.resources())).then(self.secs.total_cmp(&other.secs))
    }
}

/// Checks runs and averages those with the same E, C and SR. Most scenarios have no feature for
/// executor memory and partition size (the paper, §6.1: "samples having the same E_num and C_num
/// use the average completion time"). Rows are sorted by E, C and SR, regardless of the order of
/// the runs.
pub(crate) fn average(observations: &[Observation]) -> Result<Vec<AveragedRun>, FitError> {
    merge(observations, |a, b| a.setting == b.setting)
}

/// Averages like [`average`], but only runs that also have the same executor memory and partition
/// size.
pub(crate) fn average_apart(observations: &[Observation]) -> Result<Vec<AveragedRun>, FitError> {
    merge(observations, |a, b| a.setting == b.setting && a.resources() == b.resources())
}

fn merge(
    observations: &[Observation],
    same: impl Fn(&AveragedRun, &AveragedRun) -> bool,
) -> Result<Vec<AveragedRun>, FitError> {
    observations.iter().try_for_each(check)?;
    let mut runs: Vec<AveragedRun> = observations.iter().map(AveragedRun::of).collect();
    runs.sort_by(AveragedRun::order);
    let mean = |repeats: &[AveragedRun]| {
        // Sums in ascending order, so that the order of the runs does not change the result.
        let mut secs: Vec<f64> = repeats.iter().map(|run| run.secs).collect();
        secs.sort_unstable_by(f64::total_cmp);
        AveragedRun { secs: secs.iter().sum::<f64>() / repeats.len() as f64, ..repeats[0] }
    };
    Ok(runs.chunk_by(same).map(mean).collect())
}

/// Counts the distinct sampling rates below 1.
pub(crate) fn rates_below_one(rows: &[AveragedRun]) -> usize {
    let mut rates: Vec<f64> = rows.iter().map(|row| row.setting.sampling_rate).filter(|rate| *rate < 1.0).collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates.dedup();
    rates.len()
}

/// Returns the longest time, seconds.
pub(crate) fn longest_secs(rows: &[AveragedRun]) -> f64 {
    rows.iter().map(|row| row.secs).fold(0.0, f64::max)
}
