//! The ranges of all values that samples, links, price sheets, catalogs and questions may have.
//!
//! Within them, every number that is derived is finite, and no list exhausts a reader's memory.
//! Files, links, the collector and the page check the same ranges.

use std::ops::RangeInclusive;

use crate::curve::MOST_CURVE_POINTS;
use crate::slot_times::MOST_SLOT_COUNTS;
use crate::{CommandTemplate, Host, IncompleteRun, Observation, PlannedTime, Sample, SampleError, SlotTimes, Workload};

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
const ANY_U32: u64 = u32::MAX as u64;
/// Range of completion times, seconds: from a nanosecond to more than thirty years. More extreme
/// times would give predictions that are 0 or infinite.
pub const RUN_SECS: RangeInclusive<f64> = 1e-9..=1e9;
/// Range of standard errors of ln of an extrapolated time.
const LOG_ERRORS: RangeInclusive<f64> = 0.0..=10.0;
/// Range of start-up times, seconds.
pub const STARTUP_SECS: RangeInclusive<f64> = 0.0..=1e9;
/// Range of sampling rates. One image of the largest public data sets, 6 billion images, is a share
/// above 1e-10; a smaller rate makes the time of the whole job infinite.
pub const SAMPLING_RATES: RangeInclusive<f64> = 1e-12..=1.0;
/// Range of shares of a processor; the kernel's smallest CPU quota is 1 %.
pub const CORE_SHARES: RangeInclusive<f64> = 1e-4..=1.0;
/// Range of deadlines, seconds.
pub const DEADLINE_SECS: RangeInclusive<f64> = 1e-9..=1e12;
/// Range of prices, unless they are 0, and of budgets, in any currency.
pub const MONEY: RangeInclusive<f64> = 1e-12..=1e12;
/// Range of the probability with which a deadline or a budget must be met. The distribution of a
/// time has heavy tails, so that a higher probability has no finite quantile.
pub const PROBABILITIES: RangeInclusive<f64> = 1e-6..=1.0 - 1e-6;
/// Range of the least accuracy of a trained CNN.
pub const ACCURACIES: RangeInclusive<f64> = 1e-6..=1.0;
/// Maximum length of a list of candidates, such as the numbers of executors.
pub const MOST_CANDIDATES: usize = 10_000;
/// Maximum length of a name.
const MOST_LETTERS: usize = 1_000;
/// Maximum length of the command of a program.
const MOST_COMMAND_LETTERS: usize = 20_000;

/// Checks that every number is in its range, and that every name is valid.
///
/// # Errors
/// The first field that is out of range, with the range.
pub(crate) fn check(sample: &Sample) -> Result<(), SampleError> {
    let configuration = &sample.configuration;
    check_properties(&sample.workload, &sample.host, configuration.accelerator.as_ref())?;
    check_counts(&[
        ("configuration.executors", Some(configuration.executors.into()), MOST_EXECUTORS.into()),
        ("configuration.cores_per_executor", Some(configuration.cores_per_executor.into()), MOST_CORES.into()),
        (
            "configuration.memory_per_executor_mib",
            Some(configuration.memory_per_executor_mib.into()),
            MOST_MEMORY_MIB.into(),
        ),
        ("configuration.partition_size", Some(configuration.partition_size.into()), ANY_U32),
        (
            "configuration.accelerators_per_executor",
            configuration.accelerators_per_executor.map(u64::from),
            MOST_ACCELERATORS.into(),
        ),
        ("configuration.machines", configuration.machines.map(u64::from), MOST_MACHINES.into()),
    ])?;
    configuration.split().check()?;
    if sample.progress.as_ref().is_some_and(|curve| !curve.is_valid()) {
        let must =
            format!("a unit and at most {MOST_CURVE_POINTS} points, whose seconds and work ascend and are not below 0");
        return Err(SampleError::Range { field: "progress", value: "something else".to_owned(), must });
    }
    if !sample.simulated.as_ref().is_none_or(SlotTimes::is_valid) {
        let must = format!("1 to {MOST_SLOT_COUNTS} numbers of slots, ascending from 1, each with its milliseconds");
        return Err(SampleError::Range { field: "simulated", value: "something else".to_owned(), must });
    }
    sample.predicted.as_ref().map_or(Ok(()), check_planned)?;
    check_numbers(&[
        ("sampling_rate", Some(sample.sampling_rate), SAMPLING_RATES, "from 1e-12 to 1"),
        ("completion_time_secs", sample.completion_time_secs, RUN_SECS, "a number of seconds from 1e-9 to 1e9"),
        ("startup_secs", sample.startup_secs, STARTUP_SECS, "a number of seconds from 0 to 1e9"),
    ])?;
    let (images, rate) = (sample.workload.images, sample.sampling_rate);
    if is_images(&sample.workload) && !is_work(images, rate) {
        let must = format!("at least one of the {images} images, and at most 1");
        return Err(SampleError::Range { field: "sampling_rate", value: rate.to_string(), must });
    }
    Ok(())
}

/// Whether the work of a job is images, and not that of a program or an application.
fn is_images(workload: &Workload) -> bool {
    workload.unit.is_none() && workload.command.is_none()
}

/// Whether a share of the images of a job rounds to at least one. A job of a single image may be
/// one of something else, of which a run did a part.
pub(crate) fn is_work(images: u64, sampling_rate: f64) -> bool {
    images <= 1 || images as f64 * sampling_rate >= 0.5
}

/// Checks the properties that the runs of a job share.
///
/// # Errors
/// The first field that is out of range, with the range.
pub(crate) fn check_properties(
    workload: &Workload,
    host: &Host,
    accelerator: Option<&String>,
) -> Result<(), SampleError> {
    let text = workload.text.as_ref();
    check_counts(&[
        ("workload.image_px", Some(workload.image_px.into()), MOST_PX),
        ("workload.images", Some(workload.images), MOST_IMAGES),
        ("workload.epochs", Some(workload.epochs.into()), MOST_EPOCHS),
        ("workload.batch_size", Some(workload.batch_size.into()), ANY_U32),
        ("workload.average_every", workload.average_every.map(u64::from), ANY_U32),
        ("workload.classes", workload.classes.map(u64::from), ANY_U32),
        ("workload.resize_px", workload.resize_px.map(u64::from), MOST_PX),
        ("workload.share_size", workload.share_size.map(u64::from), ANY_U32),
        ("workload.text.words", text.map(|text| text.words.into()), MOST_PX),
        ("workload.text.vector_dims", text.map(|text| text.vector_dims.into()), ANY_U32),
    ])?;
    let words = workload.command.as_ref().map(CommandTemplate::words);
    if let Some(value) = words.and_then(unusable_command) {
        let must = format!("a program and its arguments, of at most {MOST_COMMAND_LETTERS} letters");
        return Err(SampleError::Range { field: "workload.command", value, must });
    }
    let names = [
        ("workload.model", Some(&workload.model)),
        ("workload.optimizer", workload.optimizer.as_ref()),
        ("workload.unit", workload.unit.as_ref()),
        ("configuration.accelerator", accelerator),
        ("host.cpu", host.cpu.as_ref()),
        ("host.machine", host.machine.as_ref()),
        ("host.adapter", host.adapter.as_ref()),
    ];
    for (field, name) in names {
        if let Some(letters) = name.map(|name| name.chars().count()).filter(|letters| *letters > MOST_LETTERS) {
            let value = format!("a text of {letters} letters");
            return Err(SampleError::Range { field, value, must: format!("at most {MOST_LETTERS} letters") });
        }
    }
    check_numbers(&[("host.core_share", host.core_share, CORE_SHARES, "above 0 and at most 1")])?;
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

/// Checks the numbers of a planned time.
///
/// # Errors
/// The first field that is out of range, with the range.
pub(crate) fn check_planned(planned: &PlannedTime) -> Result<(), SampleError> {
    let ends = 0.0..=*DEADLINE_SECS.end();
    let deadline = "a number of seconds from 1e-9 to 1e12";
    check_numbers(&[
        ("predicted.median_secs", Some(planned.median_secs), RUN_SECS, "a number of seconds from 1e-9 to 1e9"),
        ("predicted.lower_secs", planned.lower_secs, ends.clone(), "a number of seconds from 0 to 1e12"),
        ("predicted.upper_secs", planned.upper_secs, ends, "a number of seconds from 0 to 1e12"),
        ("predicted.deadline_secs", planned.deadline_secs, DEADLINE_SECS, deadline),
        ("predicted.success_probability", planned.success_probability, 0.0..=1.0, "from 0 to 1"),
    ])
}

/// Describes a command that is empty or too long; `None` if it can be used.
fn unusable_command(words: &[String]) -> Option<String> {
    let letters: usize = words.iter().map(|word| word.chars().count()).sum();
    match letters {
        0 => Some("empty".to_owned()),
        _ => (letters > MOST_COMMAND_LETTERS).then(|| format!("a text of {letters} letters")),
    }
}

fn check_counts(counts: &[(&'static str, Option<u64>, u64)]) -> Result<(), SampleError> {
    for (field, count, most) in counts {
        if let Some(count) = count.filter(|count| count == &0 || count > most) {
            return Err(SampleError::Range { field, value: count.to_string(), must: format!("from 1 to {most}") });
        }
    }
    Ok(())
}

type NumberInRange = (&'static str, Option<f64>, RangeInclusive<f64>, &'static str);

fn check_numbers(numbers: &[NumberInRange]) -> Result<(), SampleError> {
    for (field, number, range, must) in numbers {
        if let Some(number) = number.filter(|number| !range.contains(number)) {
            // Unlike `Display`, `Debug` writes 5e-324 without 323 zeros.
            let value = format!("{number:?}");
            let value = value.strip_suffix(".0").unwrap_or(&value).to_owned();
            return Err(SampleError::Range { field, value, must: (*must).to_owned() });
        }
    }
    Ok(())
}

/// Whether the numbers of a completed run, without its cores, are in their ranges.
pub(crate) fn is_run(run: &Observation) -> bool {
    (1..=MOST_MEMORY_MIB).contains(&run.memory_per_executor_mib)
        && run.partition_size > 0
        && RUN_SECS.contains(&run.completion_time_secs)
        && SAMPLING_RATES.contains(&run.sampling_rate)
        && run.startup_secs.is_none_or(|secs| STARTUP_SECS.contains(&secs))
        && LOG_ERRORS.contains(&run.log_error)
}

/// Whether the numbers of an incomplete run, without its cores, are in their ranges.
pub(crate) fn is_incomplete_run(run: &IncompleteRun) -> bool {
    (1..=MOST_MEMORY_MIB).contains(&run.memory_per_executor_mib)
        && run.partition_size > 0
        && SAMPLING_RATES.contains(&run.sampling_rate)
        && run.at_least_secs.is_none_or(|secs| RUN_SECS.contains(&secs))
}

/// Whether a price is 0 or in its range.
pub(crate) fn is_price(price: f64) -> bool {
    price == 0.0 || MONEY.contains(&price)
}
