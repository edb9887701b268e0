//! The runs that can be made.

use foreglow_shared::{CoreSplit, Job, distinct};

use crate::capacity::Capacity;
use crate::{Exclusion, Setting};

/// Sampling rates offered in addition to the measured ones.
pub(super) const RATES: [f64; 4] = [0.01, 0.03, 0.1, 0.3];
/// Limit on the counts of a resource: the ends and geometric steps between them.
const MOST_COUNTS: usize = 8;

/// Thins a list of counts: short lists are kept, long ones are reduced to the ends and geometric
/// steps.
pub(super) fn thinned(counts: &[u32]) -> Vec<u32> {
    let sorted = distinct(counts.iter().copied());
    if sorted.len() <= MOST_COUNTS {
        return sorted;
    }
    let last = sorted.len() - 1;
    let mut kept = vec![sorted[0]];
    for &count in &sorted[1..last] {
        // Every kept count is at least 1.5 times the one before.
        if u64::from(count) * 2 >= u64::from(kept[kept.len() - 1]) * 3 && kept.len() + 1 < MOST_COUNTS {
            kept.push(count);
        }
    }
    kept.push(sorted[last]);
    kept
}

/// Returns the settings that can be measured, by executors, cores and sampling
/// rate: neither measured nor stopped yet, with a partition for every task thread, within the
/// machine's known processors and accelerators, and within memory.
pub(super) fn settings(job: &Job, executors: &[u32], cores: &[u32], memory_per_executor_mib: u32) -> Vec<Setting> {
    let capacity = Capacity::of(&job.context);
    let is_held = |setting: Setting| capacity.is_none_or(|capacity| capacity.holds(setting));
    let partition_size = partition_size(job);
    let is_large_enough = |setting: &Setting| {
        let images = job.context.workload.images as f64 * setting.sampling_rate;
        images >= f64::from(setting.slots()) * f64::from(partition_size)
    };
    let is_measured = |setting: &Setting| was_made(job, setting.split(), setting.sampling_rate);
    let fits = |setting: &Setting| Exclusion::of(job, *setting, memory_per_executor_mib, partition_size).is_none();
    let rates = rates(job);
    let cores = thinned(cores);
    let mut settings = Vec::new();
    for executors in thinned(executors) {
        for &cores_per_executor in &cores {
            for &sampling_rate in &rates {
                settings.push(Setting::even(executors, cores_per_executor, sampling_rate));
            }
        }
    }
    settings.retain(|setting| is_held(*setting) && is_large_enough(setting) && !is_measured(setting) && fits(setting));
    settings
}

/// Returns the most executors that are worth trying; `None` without a limit. A program of the user
/// without a placeholder for them does the same on several as on one, unless runs on several were
/// made.
pub(super) fn most_executors(job: &Job) -> Option<u32> {
    let command = job.context.workload.command.as_ref()?;
    let measured = job.observations.iter().map(|run| run.executors).max();
    (!command.scales_out()).then_some(measured.unwrap_or(1))
}

/// Whether a run of this configuration and sampling rate completed or was stopped.
pub(super) fn was_made(job: &Job, split: CoreSplit, sampling_rate: f64) -> bool {
    let is_equal = |of: CoreSplit, rate: f64| of == split && (rate / sampling_rate - 1.0).abs() < 1e-6;
    job.observations.iter().any(|run| is_equal(run.split(), run.sampling_rate))
        || job.incomplete.iter().any(|run| is_equal(run.split(), run.sampling_rate))
}

/// Returns the partition size to use: the smallest that completed.
pub(super) fn partition_size(job: &Job) -> u32 {
    job.observations.iter().map(|run| run.partition_size).min().unwrap_or(1)
}

/// Returns the sampling rates to offer, ascending. All are below 1, because samples are to save a
/// run of the whole job.
fn rates(job: &Job) -> Vec<f64> {
    let measured = job.observations.iter().map(|run| run.sampling_rate).filter(|rate| *rate < 1.0);
    let mut rates: Vec<f64> = RATES.into_iter().chain(measured).collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates.dedup();
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_thinned_to_its_ends_and_geometric_steps() {
        assert_eq!(thinned(&[4, 1, 2, 2]), [1, 2, 4]);
        assert_eq!(thinned(&(1..=64).collect::<Vec<u32>>()), [1, 2, 3, 5, 8, 12, 18, 64]);
        assert_eq!(thinned(&(1..=9).collect::<Vec<u32>>()), [1, 2, 3, 5, 8, 9]);
    }
}
