//! Engines that run a job on a configuration and measure its time: processes on this machine, an
//! Apache Spark cluster, or the user's own program.

mod checkpoint;
mod command;
mod control_group;
mod cpu_quota;
mod executor_pool;
pub mod follow;
mod last_lines;
mod local;
mod monitor;
mod partitions;
mod processors;
mod run_result;
mod run_stats;
pub mod spark;
pub mod sweep;
mod training_history;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use foreglow_data::images::Normalisation;
use foreglow_data::{Progress as DrawingProgress, Source};
use foreglow_exit::{Interrupt, unusable};
use foreglow_machine::control_group::Quota;
use foreglow_machine::device::Chosen;
use foreglow_machine::{Use, machine_memory_mib, processor_name, processors};
use foreglow_protocol::{Assignment, Evaluation, Training};
use foreglow_shared::{Configuration, CoreSplit, Host, Mode, Sample, Workload};
use serde_json::{Map, Value, json};

pub use self::checkpoint::remove as remove_checkpoint;
pub use self::command::{Command, Program, StopAfter, is_stopped};
pub use self::cpu_quota::is_allowed as allows_cpu_quotas;
pub use self::local::Local;
pub use self::monitor::open as open_monitor;
pub use self::run_stats::broken_images;
use self::run_stats::describe_broken;
pub use self::training_history::{Epoch, Score};

/// A job to measure, independent of the configuration.
#[derive(Clone, Debug)]
pub struct Job {
    /// CNN and number of images.
    pub workload: Workload,
    /// Location of the images or texts; only the user's own program reads its data.
    pub source: Source,
    /// Device of the executors.
    pub device: Chosen,
    /// Seed of the samples and of the weights.
    pub seed: u64,
    /// Limit on the completion time; a run that exceeds it is stopped.
    pub timeout: Option<Duration>,
    /// Broken images that a run skips before it fails; `None` for one in a hundred.
    pub broken_limit: Option<u64>,
    /// File to which each run appends its resource use once a second.
    pub monitor: Option<PathBuf>,
    /// Share of a processor that each core of an executor has, in (0, 1); `None` for whole ones.
    pub core_share: Option<f64>,
    /// Machine type on which the executors run; `None` if unknown.
    pub machine_type: Option<String>,
    /// File with the weights of a built-in CNN; `None` to draw them from the seed.
    pub weights: Option<PathBuf>,
    /// Normalisation of the images; `None` for the default one. It is not part of the workload,
    /// because the time does not depend on its numbers.
    pub normalisation: Option<Normalisation>,
    /// Training settings and held-out images; `None` for inference.
    pub training: Option<TrainingJob>,
    /// What only the user's own program has, whose command is in the workload; `None` for a CNN.
    pub program: Option<Program>,
}

/// Training part of a job.
#[derive(Clone, Debug)]
pub struct TrainingJob {
    /// Training settings; those that depend on the configuration are set per run.
    pub settings: Training,
    /// Held-out images to evaluate the CNN on after the clock has stopped.
    pub held_out: Option<Evaluation>,
    /// File that keeps the state of the training after each epoch, so that the same command
    /// continues after a kill.
    pub checkpoint: Option<PathBuf>,
    /// File for the trained weights.
    pub save_weights: Option<PathBuf>,
    /// Counts the learned parameters of a workload's CNN: the engine itself builds no CNN.
    pub parameters: fn(&Workload) -> Option<u64>,
}

/// Runs jobs on configurations and measures their time.
pub trait Engine {
    /// Runs the job once on a configuration at a sampling rate. Every outcome of the run gives a
    /// sample, with the share of the images that the run drew. It includes broken images: the whole
    /// job has its share of them, so that a rate without them would predict too long a job, and a
    /// run of all images would no longer be a whole job.
    ///
    /// # Errors
    /// The run was interrupted, or the monitor's file cannot be opened.
    fn measure(
        &mut self,
        job: &Job,
        configuration: &Configuration,
        sampling_rate: f64,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Sample>;

    /// Returns whether this engine measured a sample on these machines.
    fn has_measured(&self, sample: &Sample, job: &Job) -> bool;

    /// Returns the hardware threads that all executors share; `None` if the executors are on
    /// different machines.
    fn processors(&self, job: &Job) -> Option<u32>;

    /// Whether the engine runs on a cluster, where each configuration needs a new start of the
    /// application.
    fn is_cluster(&self) -> bool;

    /// Checks before the first run that these configurations can run.
    ///
    /// # Errors
    /// The machines are too small for one of them, or a setting is invalid.
    fn check(&self, job: &Job, configurations: &[&Configuration]) -> anyhow::Result<()>;
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// The executors are starting.
    Starting,
    /// Finished images and all images of the sample.
    Images(u64, u64),
    /// Resource use.
    Using(Use),
    /// A training run continues after this many epochs.
    Resumed(u32),
    /// A finished epoch of a training run.
    Epoch(Epoch),
}

impl Job {
    /// Ensures that the images or texts of the whole job exist. Returns sentences on what is in
    /// their folders and not part of the data.
    ///
    /// # Errors
    /// They are missing and cannot be generated, or the words of the texts have no vectors.
    pub fn prepare(&self, progress: DrawingProgress<'_>) -> anyhow::Result<Vec<String>> {
        if self.program.is_some() {
            return Ok(Vec::new());
        }
        let mut remarks: Vec<String> = self.source.prepare(self.workload.images, progress)?.into_iter().collect();
        // Every executor loads the embedding, so an error should be reported before they start.
        self.source.embedding()?;
        if let Some(held_out) = self.training.as_ref().and_then(|training| training.held_out.as_ref()) {
            remarks.extend(held_out.source.prepare(held_out.first + held_out.images, progress)?);
            remarks.dedup();
        }
        Ok(remarks)
    }

    /// Reads the items of a run's sample once before the run, so that every run of a sweep finds
    /// them in the system's page cache: otherwise the first run at a sampling rate would wait for
    /// the disk, and later ones, on other configurations, would not.
    ///
    /// # Errors
    /// There are too few items.
    fn fill_page_cache(&self, sampling_rate: f64, interrupt: &Interrupt) -> anyhow::Result<()> {
        let sample = self.source.sample(self.workload.images, sampling_rate, self.seed)?;
        // A larger sample would displace what was read first.
        let most_bytes = machine_memory_mib().map_or(u64::MAX, |memory| memory << 20);
        sample.read_once(|bytes| bytes < most_bytes && !interrupt.is_raised());
        Ok(())
    }

    /// Returns the inference workload of the CNN with this name at an image size.
    pub fn workload(model: &str, image_px: u32, images: u64, batch_size: u32) -> Workload {
        Workload { batch_size, ..Workload::new(model, Mode::Inference, image_px, images) }
    }

    /// Returns the job with another workload, which differs in image size or batch size.
    pub fn with(&self, workload: Workload) -> Self {
        let mut job = Self { workload, ..self.clone() };
        if let (Some(training), Some(size)) = (&mut job.training, job.workload.share_size) {
            training.settings.share_size = size;
        }
        job
    }

    /// Returns a configuration on this job's device.
    pub fn configuration(
        &self,
        placement: impl Into<Placement>,
        memory_mib: u32,
        partition_size: u32,
    ) -> Configuration {
        let Placement { split, accelerators_per_executor, machines } = placement.into();
        Configuration {
            accelerator: self.device.accelerator().map(str::to_owned),
            shares_accelerators: self.device.is_shared(),
            accelerators_per_executor,
            machines,
            ..Configuration::new(split, memory_mib, partition_size)
        }
    }

    /// Returns the sampling rate of a run at the requested one: a share of whole images, or of the
    /// steps or epochs that bound the user's program.
    pub fn true_rate(&self, workload: &Workload, configuration: &Configuration, sampling_rate: f64) -> f64 {
        match &self.program {
            Some(_) => workload.program_rate(configuration, sampling_rate),
            None => foreglow_data::true_rate(workload.images, sampling_rate),
        }
    }

    /// Returns the measuring machine.
    pub fn host(&self) -> Host {
        Host {
            cpu: processor_name(),
            machine: self.machine_type.clone(),
            processors: processors().map(|count| slow_cores(count, self.core_share)),
            core_share: self.core_share.or_else(|| Quota::of_this_process()?.core_share()),
            adapter: self.device.adapter_name().map(str::to_owned),
            accelerators: self.device.accelerators(),
            extra: Map::new(),
        }
    }

    /// Returns whether the memory of executors can be limited: always on the CPU and for the user's
    /// own program, elsewhere only by control groups.
    pub fn bounds_memory(&self) -> bool {
        self.program.is_some() || self.device.bounds_memory() || control_group::limits_memory()
    }

    /// Returns the processors of an executor that runs alone; empty if it is not pinned.
    pub fn processors_of_one(&self, cores: u32) -> Vec<u32> {
        if self.core_share.is_some() { Vec::new() } else { processors::of_executor(0, CoreSplit::even(1, cores)) }
    }

    /// Returns the field of a sample with the normalisation of the images, if it is not the
    /// default.
    fn normalisation_field(&self) -> Option<(String, Value)> {
        self.normalisation.as_ref().map(|normalisation| ("normalisation".to_owned(), json!(normalisation)))
    }

    /// Refuses paths that the executor protocol, lines of JSON, cannot carry.
    fn check_paths(&self) -> anyhow::Result<()> {
        let training = self.training.as_ref();
        let held_out = training.and_then(|training| training.held_out.as_ref()).map(|held_out| &held_out.source);
        let sources = [Some(&self.source), held_out].into_iter().flatten();
        let files = [self.weights.as_deref(), training.and_then(|training| training.save_weights.as_deref())];
        let paths = sources.flat_map(|source| [Some(source.path.as_path()), source.vectors()]).chain(files).flatten();
        match paths.into_iter().find(|path| path.to_str().is_none()) {
            Some(path) => Err(unusable(format!("the path {} is not UTF-8; rename its folders", path.display()))),
            None => Ok(()),
        }
    }

    /// Returns the assignment of an executor.
    fn assignment(&self, executor: u32, configuration: &Configuration, sampling_rate: f64) -> Assignment {
        let split = configuration.split();
        Assignment {
            model: self.workload.model.clone(),
            network: self.workload.network_file(),
            classes: self.workload.classes,
            weights: self.weights.clone(),
            image_px: self.workload.image_px,
            words: self.workload.text.as_ref().map(|text| text.words),
            normalisation: self.normalisation.clone(),
            resizing: self.workload.resizing(),
            batch_size: self.workload.batch_size,
            partition_size: configuration.partition_size,
            threads: split.cores_of(executor),
            memory_mib: Some(configuration.memory_per_executor_mib),
            // Slow cores outnumber the processors, so they are not pinned.
            processors: match self.core_share {
                None => processors::of_executor(executor, split),
                Some(_) => Vec::new(),
            },
            place: self.device.place(executor as usize),
            source: self.source.clone(),
            images: self.workload.images,
            sampling_rate,
            number_format: self.workload.number_format(),
            seed: self.seed,
            assigned: None,
            training: self.training.as_ref().map(|training| Training {
                executors: configuration.executors,
                listen: (configuration.executors > 1).then(|| "127.0.0.1".to_owned()),
                ..training.settings.clone()
            }),
        }
    }
}

/// Executors with their cores, GPUs and machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Executors and their cores.
    pub split: CoreSplit,
    /// GPUs that each executor holds, from 2; `None` for one or on CPUs.
    pub accelerators_per_executor: Option<u32>,
    /// Machines, from 2; `None` for one.
    pub machines: Option<u32>,
}

impl From<CoreSplit> for Placement {
    fn from(split: CoreSplit) -> Self {
        Self { split, accelerators_per_executor: None, machines: None }
    }
}

/// Returns the number of cores of a machine whose processors are divided into shares.
fn slow_cores(processors: u32, core_share: Option<f64>) -> u32 {
    // Tolerates rounding, so that a share of 1/N gives N cores.
    core_share.map_or(processors, |share| (f64::from(processors) / share * (1.0 + 1e-9)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_divide_the_processors_into_whole_cores() {
        let shares = [None, Some(0.05), Some(0.2), Some(1.0 / 3.0), Some(0.3), Some(0.01)];
        assert_eq!(shares.map(|share| slow_cores(2, share)), [2, 40, 10, 6, 6, 200]);
    }
}
