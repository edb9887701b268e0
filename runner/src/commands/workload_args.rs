//! The job that `run`, `collect` and `demo` measure, as arguments.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use foreglow_shared::Workload;

use crate::cnn::Architecture;
use crate::device::{self, Chosen, Wish};
use crate::engine::Job;
use crate::exit::unusable;
use crate::images::{Drawing, Format, Source};
use crate::progress::Progress;

/// Images of a job where neither the person nor a folder says how many.
const DEFAULT_IMAGES: u64 = 3200;
const LARGEST_JOB: u64 = 1 << 32;

/// The job.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Job")]
pub struct WorkloadArgs {
    /// The CNN; `foreglow models` lists them
    #[arg(long, value_name = "NAME", default_value = "resnet18")]
    pub model: String,

    /// Images of the whole job [default: all of --data, or 3200]
    #[arg(long, value_name = "N")]
    pub images: Option<u64>,

    /// The images: a folder of JPEG or PNG files with its sub-folders, or TFRecord, CIFAR-10, IDX or BSON files [default:
    /// images that Foreglow draws]
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,

    /// Format of the images
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub data_format: Format,

    /// Broken images that a run skips before it fails [default: 1 in 100]
    #[arg(long, value_name = "N")]
    pub max_broken: Option<u64>,

    /// What Foreglow draws where there is no --data
    #[arg(long, value_enum, default_value_t, conflicts_with = "data")]
    pub draw: Drawing,

    /// Where drawn images are kept [default: the user's cache directory; FOREGLOW_CACHE]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,

    /// Side of the square that the CNN sees, pixels [default: the CNN's]
    #[arg(long, value_name = "PX")]
    pub image_px: Option<u32>,

    /// Images that go through the CNN at once
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub batch_size: u32,

    /// auto, cpu, gpu, or the number or name of one that `foreglow devices` lists
    #[arg(long, value_name = "DEVICE", default_value_t = Wish::Auto)]
    pub device: Wish,

    /// Decides which images are in a sample, and the weights of the CNN
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Longest completion time of a run, seconds; a longer run is stopped and its time is a lower bound
    #[arg(long, value_name = "SECS")]
    pub timeout: Option<f64>,
}

impl WorkloadArgs {
    /// Checks the arguments and finds the device and the images; draws none yet.
    ///
    /// # Errors
    /// An argument is unusable: the sentence names it and says what it may be.
    pub fn job(&self) -> anyhow::Result<Job> {
        self.job_on(|| device::choose(&self.device).context("the device could not be chosen"))
    }

    /// The same for executors on a cluster, which has the images where this machine has them.
    ///
    /// # Errors
    /// An argument is unusable.
    pub fn job_on_cluster(&self) -> anyhow::Result<Job> {
        self.job_on(|| device::on_cluster(&self.device))
    }

    fn job_on(&self, choose: impl FnOnce() -> anyhow::Result<Chosen>) -> anyhow::Result<Job> {
        let architecture = Architecture::named(&self.model).ok_or_else(|| {
            unusable(format!("there is no CNN {}; choose one of: {}", self.model, Architecture::names()))
        })?;
        let image_px = self.image_px.unwrap_or(architecture.input.default_px);
        let allowed = &architecture.input.px;
        if !allowed.contains(&image_px) {
            let name = architecture.name;
            let (smallest, largest) = (allowed.start(), allowed.end());
            return Err(unusable(format!(
                "{name} cannot take images of {image_px} px; choose --image-px from {smallest} to {largest}"
            )));
        }
        at_least_one("--batch-size", self.batch_size)?;
        let timeout = match self.timeout {
            None => None,
            Some(secs) => Some(
                Duration::try_from_secs_f64(secs)
                    .ok()
                    .filter(|time| !time.is_zero())
                    .ok_or_else(|| unusable(format!("--timeout is {secs}; give a number of seconds above 0")))?,
            ),
        };
        let (source, images) = self.images()?;
        let mut workload = Job::workload(architecture, image_px, images, self.batch_size);
        if let Some(name) = self.data.as_deref().and_then(|data| data.canonicalize().ok()) {
            // Times on one folder say nothing about another.
            let name = name.file_name().unwrap_or(name.as_os_str()).to_string_lossy().into_owned();
            workload.extra.insert("data".into(), name.into());
        } else if self.draw == Drawing::Digits {
            workload.extra.insert("data".into(), "digits".into());
        }
        let device = choose()?;
        Ok(Job { workload, source, device, seed: self.seed, timeout, broken_limit: self.max_broken, training: None })
    }

    fn images(&self) -> anyhow::Result<(Source, u64)> {
        let source = match &self.data {
            Some(path) => self.data_format.source(path)?,
            None => Source::drawn(self.draw, self.cache_dir.as_deref())?,
        };
        let images = match self.images {
            Some(images) => images,
            None => source.count()?.unwrap_or(DEFAULT_IMAGES),
        };
        if images == 0 || images > LARGEST_JOB {
            return Err(unusable(format!("--images is {images}; give a number from 1 to {LARGEST_JOB}")));
        }
        Ok((source, images))
    }
}

/// Images of one task where the person names no number.
const DEFAULT_PARTITION_SIZE: u32 = 8;

/// The partition size where the person names none: no more than there are images, and for training a mini-batch.
pub fn default_partition_size(job: &Job) -> u32 {
    let size = if job.training.is_some() { job.workload.batch_size } else { DEFAULT_PARTITION_SIZE };
    u32::try_from(job.workload.images).unwrap_or(u32::MAX).clamp(1, size)
}

/// Refuses configurations that have more executors or larger partitions than images, and for training partitions that
/// would cut a mini-batch.
///
/// # Errors
/// One does: the sentence names it and says what it may be.
pub fn check_sizes(job: &Job, executors: &[u32], partition_sizes: &[u32]) -> anyhow::Result<()> {
    let Workload { images, batch_size, .. } = job.workload;
    let most = |counts: &[u32]| counts.iter().copied().max().unwrap_or(1);
    for (option, count, what) in [
        ("--executors", most(executors), "executors"),
        ("--partition-size", most(partition_sizes), "images a partition"),
    ] {
        if u64::from(count) > images {
            return Err(unusable(format!(
                "{count} {what} are more than the job's {images} images; give {option} {images} or less"
            )));
        }
    }
    let cuts = |size: &&u32| job.training.is_some() && !size.is_multiple_of(batch_size);
    if let Some(size) = partition_sizes.iter().find(cuts) {
        return Err(unusable(format!(
            "a partition of {size} images would cut a mini-batch; give --partition-size {batch_size} or a multiple of it"
        )));
    }
    Ok(())
}

/// Puts the images in place, with a bar while they are drawn.
///
/// # Errors
/// They cannot be.
pub fn prepare(job: &Job, progress: &Progress) -> anyhow::Result<()> {
    job.prepare(&mut |there, all| progress.images("drawing images", there, all))
}

/// A count that may not be zero.
///
/// # Errors
/// It is.
pub fn at_least_one(option: &str, count: u32) -> anyhow::Result<()> {
    if count == 0 { Err(unusable(format!("{option} is 0; give 1 or more"))) } else { Ok(()) }
}

/// A sampling rate.
///
/// # Errors
/// It is outside (0, 1].
pub fn check_rate(sampling_rate: f64) -> anyhow::Result<()> {
    if sampling_rate > 0.0 && sampling_rate <= 1.0 {
        return Ok(());
    }
    Err(unusable(format!("--sampling-rate is {sampling_rate}; give a share above 0 and at most 1, such as 0.01")))
}

/// What a configuration cannot mean on this machine, which has so many processors, as warnings for the person.
pub fn warnings(job: &Job, processors: Option<u32>, slots: u32, is_memory_asked: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(processors) = processors.filter(|processors| slots > *processors) {
        warnings.push(format!(
            "warning: {slots} threads share {processors} processors of this machine; their times are not those of {slots} cores"
        ));
    }
    if is_memory_asked && !job.device.bounds_memory() {
        warnings.push(format!("warning: --memory is noted but not enforced on {}", job.device.name()));
    }
    warnings
}
