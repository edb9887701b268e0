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
use crate::machine::Warning;
use crate::progress::Progress;

/// Images that go through the CNN at once where the person names no number.
const DEFAULT_BATCH_SIZE: u32 = 8;
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

    /// Side of the square that the CNN sees, pixels; `foreglow collect` takes several [default: the CNN's]
    #[arg(long, value_name = "PX,…", value_delimiter = ',')]
    pub image_px: Vec<u32>,

    /// Images that go through the CNN at once; `foreglow collect` takes several [default: 8, or 32 to train]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub batch_size: Vec<u32>,

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
        for (option, sizes) in [("--image-px", &self.image_px), ("--batch-size", &self.batch_size)] {
            if sizes.len() > 1 {
                let sizes = sizes.len();
                return Err(unusable(format!(
                    "{option} names {sizes} sizes; this command measures one, `foreglow collect` several"
                )));
            }
        }
        let (job, _) = self.job_and_workloads()?;
        Ok(job)
    }

    /// The same with every combination of the image sizes and batch sizes; the job has the first of them.
    ///
    /// # Errors
    /// As [`Self::job`].
    pub fn job_and_workloads(&self) -> anyhow::Result<(Job, Vec<Workload>)> {
        self.job_on(|| device::choose(&self.device).context("the device could not be chosen"))
    }

    /// The same for executors on a cluster, which has the images where this machine has them.
    ///
    /// # Errors
    /// As [`Self::job`].
    pub fn job_and_workloads_on_cluster(&self) -> anyhow::Result<(Job, Vec<Workload>)> {
        self.job_on(|| device::on_cluster(&self.device))
    }

    fn job_on(&self, choose: impl FnOnce() -> anyhow::Result<Chosen>) -> anyhow::Result<(Job, Vec<Workload>)> {
        let architecture = Architecture::named(&self.model).ok_or_else(|| {
            unusable(format!("there is no CNN {}; choose one of: {}", self.model, Architecture::names()))
        })?;
        let timeout = match self.timeout {
            None => None,
            Some(secs) => Some(
                Duration::try_from_secs_f64(secs)
                    .ok()
                    .filter(|time| !time.is_zero())
                    .ok_or_else(|| unusable(format!("--timeout is {secs}; give a number of seconds above 0")))?,
            ),
        };
        let sizes = self.sizes(architecture)?;
        let (source, images) = self.images()?;
        // Times on one folder say nothing about another.
        let data = match self.data.as_deref().and_then(|data| data.canonicalize().ok()) {
            Some(data) => Some(data.file_name().unwrap_or(data.as_os_str()).to_string_lossy().into_owned()),
            None => (self.draw == Drawing::Digits).then(|| "digits".to_owned()),
        };
        let workload = |(image_px, batch_size)| {
            let mut workload = Job::workload(architecture, image_px, images, batch_size);
            workload.extra.extend(data.iter().map(|name| ("data".to_owned(), name.clone().into())));
            workload
        };
        let workloads: Vec<Workload> = sizes.into_iter().map(workload).collect();
        let first = workloads.first().cloned().context("there is no image size or no batch size")?;
        let device = choose()?;
        let (seed, broken_limit) = (self.seed, self.max_broken);
        Ok((Job { workload: first, source, device, seed, timeout, broken_limit, training: None }, workloads))
    }

    /// Every image size with every batch size, each pair once.
    fn sizes(&self, architecture: &Architecture) -> anyhow::Result<Vec<(u32, u32)>> {
        let name = architecture.name;
        let (smallest, largest) = (architecture.input.px.start(), architecture.input.px.end());
        let image_px =
            if self.image_px.is_empty() { vec![architecture.input.default_px] } else { distinct(&self.image_px) };
        if let Some(image_px) = image_px.iter().find(|px| !architecture.input.px.contains(px)) {
            return Err(unusable(format!(
                "{name} cannot take images of {image_px} px; choose --image-px from {smallest} to {largest}"
            )));
        }
        let batch_sizes =
            if self.batch_size.is_empty() { vec![DEFAULT_BATCH_SIZE] } else { distinct(&self.batch_size) };
        batch_sizes.iter().try_for_each(|size| at_least_one("--batch-size", *size))?;
        Ok(image_px.iter().flat_map(|px| batch_sizes.iter().map(move |size| (*px, *size))).collect())
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

/// The values, each once, in their order.
pub fn distinct<T: Copy + PartialEq>(values: &[T]) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(value) {
            distinct.push(*value);
        }
    }
    distinct
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

/// Warns of what a configuration cannot mean on machines that have so many processors.
pub fn warn(job: &Job, processors: Option<u32>, slots: u32, is_memory_asked: bool, progress: &Progress) {
    if let Some(processors) = processors.filter(|processors| slots > *processors) {
        progress.warn(Warning::MoreSlotsThanProcessors { slots, processors });
    }
    if is_memory_asked && !job.bounds_memory() {
        progress.line(&format!("warning: --memory is noted but not enforced on {}", job.device.name()));
    }
}
