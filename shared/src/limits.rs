//! Limits of the values in a sample, so that an invalid one cannot exhaust a reader's memory.

use std::ops::RangeInclusive;

use crate::{Sample, SampleError};

/// Maximum number of executors. Readers list all numbers up to the largest.
pub const MOST_EXECUTORS: u32 = 10_000;
/// Maximum number of threads per executor.
pub const MOST_CORES: u32 = 1_000;
/// Maximum memory per executor: 16 TiB.
pub const MOST_MEMORY_MIB: u32 = 1 << 24;
/// Maximum number of images of a job: counts up to here are exact as `f64`.
const MOST_IMAGES: u64 = 1 << 53;
/// Maximum side of an image, or maximum number of words in a text.
const MOST_PX: u64 = 1 << 16;
const MOST_EPOCHS: u64 = 1_000_000;
/// Range of completion times, seconds: from a nanosecond to more than thirty years. More extreme
/// times would give predictions that are 0 or infinite.
pub const RUN_SECS: RangeInclusive<f64> = 1e-9..=1e9;
/// Maximum length of a name.
const MOST_LETTERS: usize = 1_000;

/// Checks that every count is between 1 and its limit, and that every name is valid.
///
/// # Errors
/// The first field that is out of range, with the range.
pub(crate) fn check(sample: &Sample) -> Result<(), SampleError> {
    let (workload, configuration) = (&sample.workload, &sample.configuration);
    let counts = [
        ("workload.image_px", u64::from(workload.image_px), MOST_PX),
        ("workload.images", workload.images, MOST_IMAGES),
        ("workload.epochs", u64::from(workload.epochs), MOST_EPOCHS),
        ("workload.batch_size", u64::from(workload.batch_size), u64::from(u32::MAX)),
        ("configuration.executors", u64::from(configuration.executors), u64::from(MOST_EXECUTORS)),
        ("configuration.cores_per_executor", u64::from(configuration.cores_per_executor), u64::from(MOST_CORES)),
        (
            "configuration.memory_per_executor_mib",
            u64::from(configuration.memory_per_executor_mib),
            u64::from(MOST_MEMORY_MIB),
        ),
        ("configuration.partition_size", u64::from(configuration.partition_size), u64::from(u32::MAX)),
    ];
    for (field, count, most) in counts {
        if count == 0 || count > most {
            return Err(SampleError::Range { field, value: count.to_string(), must: format!("from 1 to {most}") });
        }
    }
    let split = configuration.split();
    if let Some(total) = split.total_cores.filter(|_| !split.is_consistent()) {
        let must = format!(
            "the total of an uneven split: at least executors, above executors × (cores_per_executor - 1) and below \
             executors × cores_per_executor, here {} × {}",
            split.executors, split.cores_per_executor
        );
        return Err(SampleError::Range { field: "configuration.total_cores", value: total.to_string(), must });
    }
    let names = [
        ("workload.model", Some(&workload.model)),
        ("configuration.accelerator", configuration.accelerator.as_ref()),
        ("host.cpu", sample.host.cpu.as_ref()),
        ("host.machine", sample.host.machine.as_ref()),
        ("host.adapter", sample.host.adapter.as_ref()),
    ];
    for (field, name) in names {
        if let Some(letters) = name.map(|name| name.chars().count()).filter(|letters| *letters > MOST_LETTERS) {
            let value = format!("a text of {letters} letters");
            return Err(SampleError::Range { field, value, must: format!("at most {MOST_LETTERS} letters") });
        }
    }
    if let Some(share) = sample.host.core_share.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
        let must = "above 0 and at most 1".to_owned();
        return Err(SampleError::Range { field: "host.core_share", value: share.to_string(), must });
    }
    if workload.model.trim().is_empty() {
        let value = "empty".to_owned();
        return Err(SampleError::Range { field: "workload.model", value, must: "the name of a CNN".to_owned() });
    }
    Ok(())
}
