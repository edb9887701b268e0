//! The runs that can be made.

use foreglow_shared::{CoreSplit, Job};

use crate::capacity::Capacity;
use crate::{Exclusion, Setting};

/// Sampling rates offered in addition to the measured ones.
const RATES: [f64; 4] = [0.01, 0.03, 0.1, 0.3];
/// Rate from which on a run counts as the whole job.
const LARGEST_RATE: f64 = 0.999;
/// Limit on the counts of a resource, and on the measured rates.
pub(super) const MOST_VALUES: usize = 8;
/// The same if there are many sites.
pub(super) const MOST_VALUES_OF_MANY: usize = 4;
/// Ratio of two kept values, times the limit on their number.
const STEPS: f64 = 12.0;

/// Thins a list of values, ascending: short lists are kept, long ones are reduced to the ends and
/// geometric steps, at most `most`.
fn thinned(mut values: Vec<f64>, most: usize) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    if values.len() <= most {
        return values;
    }
    let last = values.len() - 1;
    let mut kept = vec![values[0]];
    for &value in &values[1..last] {
        // Of eight, every kept value is at least 1.5 times the one before; of four, three times.
        if value * most as f64 >= kept[kept.len() - 1] * STEPS && kept.len() + 1 < most {
            kept.push(value);
        }
    }
    kept.push(values[last]);
    kept
}

/// Thins a list of counts to at most `most`.
pub(super) fn thinned_counts(counts: &[u32], most: usize) -> Vec<u32> {
    let kept = thinned(counts.iter().map(|count| f64::from(*count)).collect(), most);
    kept.into_iter().map(|count| count as u32).collect()
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
    let rates = rates(job.observations.iter().map(|run| run.sampling_rate), MOST_VALUES);
    let cores = thinned_counts(cores, MOST_VALUES);
    let mut settings = Vec::new();
    for executors in thinned_counts(executors, MOST_VALUES) {
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

/// Returns the sampling rates to offer, ascending: the usual ones and at most `most` of those
/// measured. All are below 1, because samples are to save a run of the whole job.
pub(super) fn rates(measured: impl Iterator<Item = f64>, most: usize) -> Vec<f64> {
    let mut rates = thinned(measured.filter(|rate| *rate < LARGEST_RATE).collect(), most);
    rates.extend(RATES);
    rates.sort_unstable_by(f64::total_cmp);
    rates.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_thinned_to_its_ends_and_geometric_steps() {
        assert_eq!(thinned_counts(&[4, 1, 2, 2], 8), [1, 2, 4]);
        assert_eq!(thinned_counts(&(1..=64).collect::<Vec<u32>>(), 8), [1, 2, 3, 5, 8, 12, 18, 64]);
        assert_eq!(thinned_counts(&(1..=9).collect::<Vec<u32>>(), 8), [1, 2, 3, 5, 8, 9]);
        assert_eq!(thinned_counts(&(1..=64).collect::<Vec<u32>>(), 4), [1, 3, 9, 64]);
        let many = (1..1000).map(|thousandths| f64::from(thousandths) / 1000.0);
        assert_eq!(rates(many, 8), [0.001, 0.002, 0.003, 0.005, 0.008, 0.01, 0.012, 0.019, 0.03, 0.1, 0.3, 0.998]);
    }
}
