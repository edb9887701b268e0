//! Engines run a job on a configuration and say how long it took: processes on this machine, or an Apache Spark cluster.

mod account;
mod ending;
mod fleet;
mod local;
mod memory_group;
mod partitions;
mod processors;
pub mod spark;
mod watch;

use std::time::Duration;

use foreglow_shared::{Configuration, Host, Mode, Sample, Workload};
use serde_json::{Map, Value};

pub use self::account::broken_images;
use self::account::describe_broken;
use self::spark::Spark;
use crate::cnn::Architecture;
use crate::device::{self, Chosen};
use crate::executor::protocol::{Assignment, Evaluation};
use crate::executor::training::Training;
use crate::input::{Progress as DrawingProgress, Source, true_rate};
use crate::interrupt::Interrupt;
use crate::machine::Use;

/// What a training job's workload calls the images that a thread learns at once.
pub const SHARE_SIZE: &str = "share_size";

/// A job to measure: everything about it that a configuration leaves open.
#[derive(Clone, Debug)]
pub struct Job {
    /// The CNN, and how many images it works through.
    pub workload: Workload,
    /// Where the images or texts lie.
    pub source: Source,
    /// What the executors run on.
    pub device: Chosen,
    /// Decides which images are in a sample, and the weights.
    pub seed: u64,
    /// Longest completion time; a run that takes longer is stopped.
    pub timeout: Option<Duration>,
    /// Broken images that a run skips before it fails; `None` is one in a hundred.
    pub broken_limit: Option<u64>,
    /// How the CNN is trained, and the images to judge it by; `None` for inference.
    pub training: Option<TrainingJob>,
}

/// What makes a job a training job.
#[derive(Clone, Debug)]
pub struct TrainingJob {
    /// How the CNN is trained; what depends on the configuration is filled in with it.
    pub settings: Training,
    /// Images that are not learned, to judge the CNN by after the clock has stopped.
    pub held_out: Option<Evaluation>,
}

/// What runs the executors.
pub enum Engine {
    /// Processes on this machine.
    Local,
    /// An Apache Spark cluster.
    Spark(Box<Spark>),
}

impl Engine {
    /// Runs the job once on a configuration at a sampling rate. However the run ends, that is its sample, with the share of
    /// the images that it really processed.
    ///
    /// # Errors
    /// The run was interrupted.
    pub fn measure(
        &mut self,
        job: &Job,
        configuration: &Configuration,
        sampling_rate: f64,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Sample> {
        let sampling_rate = true_rate(job.workload.images, sampling_rate);
        match self {
            Self::Local => local::measure(job, configuration, sampling_rate, interrupt, progress),
            Self::Spark(spark) => spark.measure(job, configuration, sampling_rate, interrupt, progress),
        }
    }

    /// The word for it in a sample.
    fn word(&self) -> foreglow_shared::Engine {
        match self {
            Self::Local => foreglow_shared::Engine::Local,
            Self::Spark(_) => foreglow_shared::Engine::Spark,
        }
    }

    /// Whether this engine measured a sample, on these machines.
    pub fn has_measured(&self, sample: &Sample, job: &Job) -> bool {
        sample.engine == self.word()
            && match self {
                Self::Local => sample.host == job.host(),
                Self::Spark(spark) => spark.may_be(&sample.host),
            }
    }

    /// Hardware threads that all executors share; `None` where each has its own.
    pub fn processors(&self) -> Option<u32> {
        match self {
            Self::Local => device::processors(),
            Self::Spark(_) => None,
        }
    }
}

/// Told while a run goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// The executors start.
    Starting,
    /// Images of the sample that are done, and all of them.
    Images(u64, u64),
    /// What the run uses.
    Using(Use),
}

impl Job {
    /// Makes sure that the images or texts of the whole job are in place.
    ///
    /// # Errors
    /// They are not and cannot be, or the words of the texts have no vectors.
    pub fn prepare(&self, progress: DrawingProgress<'_>) -> anyhow::Result<()> {
        self.source.prepare(self.workload.images, progress)?;
        // Each executor does the same: what it would find is better said at once.
        self.source.embedding()?;
        match self.training.as_ref().and_then(|training| training.held_out.as_ref()) {
            Some(held_out) => held_out.source.prepare(held_out.first + held_out.images, progress),
            None => Ok(()),
        }
    }

    /// The workload of a CNN at an image size, its inference.
    pub fn workload(architecture: &Architecture, image_px: u32, images: u64, batch_size: u32) -> Workload {
        Workload {
            model: architecture.name.to_owned(),
            mode: Mode::Inference,
            image_px,
            images,
            epochs: 1,
            batch_size,
            extra: Map::new(),
        }
    }

    /// The same with another image size or batch size.
    pub fn with(&self, workload: Workload) -> Self {
        let mut job = Self { workload, ..self.clone() };
        let share_size = job.workload.extra.get(SHARE_SIZE).and_then(Value::as_u64);
        if let (Some(training), Some(size)) = (&mut job.training, share_size.and_then(|size| size.try_into().ok())) {
            training.settings.share_size = size;
        }
        job
    }

    /// A configuration of this job's executors.
    pub fn configuration(&self, executors: u32, cores: u32, memory_mib: u32, partition_size: u32) -> Configuration {
        Configuration {
            executors,
            cores_per_executor: cores,
            memory_per_executor_mib: memory_mib,
            partition_size,
            accelerator: self.device.accelerator().map(str::to_owned),
            extra: Map::new(),
        }
    }

    /// The machine that measures.
    pub fn host(&self) -> Host {
        Host {
            cpu: device::processor_name(),
            processors: device::processors(),
            adapter: self.device.adapter_name().map(str::to_owned),
            extra: Map::new(),
        }
    }

    /// Whether executors can be held to their memory: on the processor always, elsewhere where groups are allowed.
    pub fn bounds_memory(&self) -> bool {
        self.device.bounds_memory() || memory_group::is_allowed()
    }

    /// What the executor of that number is told.
    fn assignment(&self, executor: usize, configuration: &Configuration, sampling_rate: f64) -> Assignment {
        Assignment {
            model: self.workload.model.clone(),
            image_px: self.workload.image_px,
            words: self.workload.text().map(|text| text.words),
            batch_size: self.workload.batch_size,
            partition_size: configuration.partition_size,
            threads: configuration.cores_per_executor,
            memory_mib: Some(configuration.memory_per_executor_mib),
            processors: processors::of_executor(executor, configuration.executors, configuration.cores_per_executor),
            place: self.device.place(executor),
            source: self.source.clone(),
            images: self.workload.images,
            sampling_rate,
            seed: self.seed,
            training: self.training.as_ref().map(|training| Training {
                executors: configuration.executors,
                listen: (configuration.executors > 1).then(|| "127.0.0.1".to_owned()),
                ..training.settings.clone()
            }),
        }
    }
}
