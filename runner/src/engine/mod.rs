//! Engines run a job on a configuration and say how long it took. There is one so far: processes on this machine.

mod account;
mod ending;
mod fleet;
mod local;
mod memory_group;
mod partitions;
mod processors;
mod watch;

use std::time::Duration;

use foreglow_shared::{Configuration, Host, Mode, Workload};
use serde_json::Map;

pub use self::account::broken_images;
pub use self::local::measure;
use crate::cnn::Architecture;
use crate::device::{self, Chosen};
use crate::executor::protocol::Assignment;
use crate::images::{GeneratorProgress, Source};
use crate::machine::Use;

/// A job to measure: everything about it that a configuration leaves open.
#[derive(Clone, Debug)]
pub struct Job {
    /// The CNN, and how many images it works through.
    pub workload: Workload,
    /// Where the images lie.
    pub source: Source,
    /// What the executors run on.
    pub device: Chosen,
    /// Decides which images are in a sample, and the weights.
    pub seed: u64,
    /// Longest completion time; a run that takes longer is stopped.
    pub timeout: Option<Duration>,
    /// Broken images that a run skips before it fails; `None` is one in a hundred.
    pub broken_limit: Option<u64>,
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
    /// Makes sure that the images of the whole job are in place.
    ///
    /// # Errors
    /// They are not and cannot be.
    pub fn prepare(&self, progress: GeneratorProgress<'_>) -> anyhow::Result<()> {
        self.source.prepare(self.workload.images, progress)
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
        }
    }
}
