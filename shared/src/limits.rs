//! Limits of the values in a sample, so that an invalid one cannot exhaust a reader's memory.

use std::ops::RangeInclusive;

use crate::{Sample, SampleError};

/// Maximum number of executors. Readers list all numbers up to the largest.
pub const MOST_EXECUTORS: u32 = 10_000;
/// Maximum number of threads per executor.
pub const MOST_CORES: u32 = 1_000;
/// Maximum number of accelerators per executor.
const MOST_ACCELERATORS: u32 = 1_000;
/// Maximum number of machines that the executors run on.
const MOST_MACHINES: u32 = MOST_EXECUTORS;
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

/// Checks that every count is between 1 and its limit, and that every name and share is valid.
///
/// # Errors
/// The first field that is out of range, with the range.
pub(crate) fn check(sample: &Sample) -> Result<(), SampleError> {
    let (workload, configuration) = (&sample.workload, &sample.configuration);
    let any_u32 = u64::from(u32::MAX);
    let text = workload.text.as_ref();
    let counts = [
        ("workload.image_px", Some(u64::from(workload.image_px)), MOST_PX),
        ("workload.images", Some(workload.images), MOST_IMAGES),
        ("workload.epochs", Some(u64::from(workload.epochs)), MOST_EPOCHS),
        ("workload.batch_size", Some(u64::from(workload.batch_size)), any_u32),
        ("workload.average_every", workload.average_every.map(u64::from), any_u32),
        ("workload.classes", workload.classes.map(u64::from), any_u32),
        ("workload.resize_px", workload.resize_px.map(u64::from), MOST_PX),
        ("workload.share_size", workload.share_size.map(u64::from), any_u32),
        ("workload.text.words", text.map(|text| text.words.into()), MOST_PX),
        ("workload.text.vector_dims", text.map(|text| text.vector_dims.into()), any_u32),
        ("configuration.executors", Some(u64::from(configuration.executors)), u64::from(MOST_EXECUTORS)),
        ("configuration.cores_per_executor", Some(u64::from(configuration.cores_per_executor)), u64::from(MOST_CORES)),
        (
            "configuration.memory_per_executor_mib",
            Some(u64::from(configuration.memory_per_executor_mib)),
            u64::from(MOST_MEMORY_MIB),
        ),
        ("configuration.partition_size", Some(u64::from(configuration.partition_size)), any_u32),
        (
            "configuration.accelerators_per_executor",
            configuration.accelerators_per_executor.map(u64::from),
            u64::from(MOST_ACCELERATORS),
        ),
        ("configuration.machines", configuration.machines.map(u64::from), u64::from(MOST_MACHINES)),
    ];
    for (field, count, most) in counts {
        if let Some(count) = count.filter(|count| *count == 0 || *count > most) {
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
        ("workload.optimizer", workload.optimizer.as_ref()),
        ("workload.unit", workload.unit.as_ref()),
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
    if let Some(share) = workload.validation.filter(|share| !(*share > 0.0 && *share < 1.0)) {
        let must = "above 0 and below 1".to_owned();
        return Err(SampleError::Range { field: "workload.validation", value: share.to_string(), must });
    }
    let required = [
        ("workload.model", Some(&workload.model), "the name of a CNN"),
        ("workload.unit", workload.unit.as_ref(), "the plural noun for a unit of work"),
    ];
    for (field, name, must) in required {
        if name.is_some_and(|name| name.trim().is_empty()) {
            let value = "empty".to_owned();
            return Err(SampleError::Range { field, value, must: must.to_owned() });
        }
    }
    Ok(())
}
