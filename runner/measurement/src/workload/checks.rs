//! Checks of a job before its first run.

use foreglow_console::progress::Progress;
use foreglow_engine::{self as engine, Job};
use foreglow_exit::unusable;
use foreglow_machine::Warning;
use foreglow_machine::control_group::Quota;
use foreglow_shared::Workload;

/// Default number of images per task.
const DEFAULT_PARTITION_SIZE: u32 = 8;

/// Returns the default partition size: at most the number of images, and for training a mini-batch.
pub fn default_partition_size(job: &Job) -> u32 {
    let size =
        if job.training.is_some() || job.program.is_some() { job.workload.batch_size } else { DEFAULT_PARTITION_SIZE };
    u32::try_from(job.workload.images).unwrap_or(u32::MAX).clamp(1, size)
}

/// Checks that a configuration has at most as many executors and images per task as images, at most
/// as many executors as GPUs, and for training no partition that would split a mini-batch.
///
/// # Errors
/// A size is invalid; the message says what is valid.
pub fn check_sizes(job: &Job, executors: &[u32], partition_sizes: &[u32]) -> anyhow::Result<()> {
    let Workload { images, batch_size, .. } = job.workload;
    let noun = job.workload.noun();
    let most = |counts: &[u32]| counts.iter().copied().max().unwrap_or(1);
    job.device.check_executors(most(executors))?;
    for (option, count, what) in [
        ("--executors", most(executors), "executors".to_owned()),
        ("--partition-size", most(partition_sizes), format!("{noun} per partition")),
    ] {
        if u64::from(count) > images {
            return Err(unusable(format!(
                "{count} {what} are more than the job's {images} {noun}; give {option} {images} or less"
            )));
        }
    }
    let cuts = |size: &&u32| job.training.is_some() && !size.is_multiple_of(batch_size);
    if let Some(size) = partition_sizes.iter().find(cuts) {
        return Err(unusable(format!(
            "a partition of {size} {noun} would split a mini-batch; give --partition-size {batch_size} or a multiple \
            of it"
        )));
    }
    Ok(())
}

/// Ensures that the images or texts exist, with a progress bar while they are generated, and says
/// once what their folders hold besides.
///
/// # Errors
/// They cannot be generated or are missing.
pub fn prepare(job: &Job, progress: &Progress) -> anyhow::Result<()> {
    let noun = job.workload.noun();
    progress.counts(noun);
    let what = if noun == "texts" { "drawing texts" } else { "drawing images" };
    let remarks = job.prepare(&mut |there, all| progress.images(what, there, all))?;
    remarks.iter().for_each(|remark| progress.line(&format!("note: {remark}")));
    Ok(())
}

/// Refuses slow cores if they have no effect or the system does not permit them.
pub fn check_core_share(job: &Job) -> anyhow::Result<()> {
    if job.core_share.is_none() {
        return Ok(());
    }
    if job.device.accelerator().is_some() {
        return Err(unusable("--core-share slows processors, and this job runs on a GPU; add --device cpu"));
    }
    if let Some(share) = Quota::of_this_process().and_then(|quota| quota.core_share()) {
        return Err(unusable(format!(
            "the CPU quota of this container is {share:.2} processors, and a core cannot be slower; leave out \
             --core-share, and each sample records this share"
        )));
    }
    if !engine::allows_cpu_quotas() {
        return Err(unusable(
            "--core-share needs CPU quotas, which this user cannot set here; run as root, or in a container whose \
             control groups are writable",
        ));
    }
    Ok(())
}

/// Warns about settings that have no effect on a machine with `processors` processors.
pub fn warn(job: &Job, processors: Option<u32>, slots: u32, is_memory_asked: bool, progress: &Progress) {
    if let Some(processors) = processors.filter(|processors| slots > *processors) {
        progress.warn(Warning::MoreSlotsThanProcessors { slots, processors });
    }
    if is_memory_asked && !job.bounds_memory() {
        progress.line(&format!("warning: --memory is recorded but not enforced on {}", job.device.name()));
    }
}
