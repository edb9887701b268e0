//! The memory of a network's mini-batches, from its graph and from runs of it.

use foreglow_architectures::Input;
use foreglow_cnn::{Costs, Network};
use foreglow_engine::Job;
use foreglow_model::{BatchMemory, Estimate, LargestBatch, MemoryRun, NetworkBytes, Work};
use foreglow_shared::{Configuration, Mode, Outcome, Sample, format_count};

/// Bytes of a number.
const FLOAT: u64 = 4;
/// Bytes in a MiB.
pub const MIB: f64 = 1_048_576.0;

/// Returns the memory of a network for inputs of this shape.
pub fn network_bytes(costs: &Costs, shape: [usize; 3]) -> NetworkBytes {
    let largest = costs.layers.iter().map(|layer| layer.weights).max().unwrap_or(0);
    let numbers = |count: u64| count.saturating_mul(FLOAT) as f64;
    NetworkBytes {
        weights: numbers(costs.parameters),
        largest_layer_weights: numbers(largest),
        inference: costs.inference_bytes as f64,
        training: costs.training_bytes as f64,
        input: numbers(shape.iter().product::<usize>() as u64),
    }
}

/// Returns a number of bytes in MiB, rounded.
pub fn mib(bytes: f64) -> u64 {
    // In range: far below 2⁵³.
    (bytes / MIB).round() as u64
}

/// Formats the memory of a batch: `310 to 450 MiB`.
pub fn range(memory: Estimate) -> String {
    format!("{} to {} MiB", mib(memory.lower), mib(memory.upper))
}

/// Runs of one network at one size of images that a question about its memory can use.
pub struct Question<'a> {
    /// Name of the network in samples.
    pub model: &'a str,
    /// Side of the images, pixels.
    pub image_px: u32,
    /// Work of an executor.
    pub work: Work,
}

impl Question<'_> {
    /// Returns the matching memory runs in the samples: those on processors with the same number of
    /// threads.
    pub fn runs(&self, samples: &[Sample]) -> Vec<MemoryRun> {
        samples.iter().filter(|sample| self.is_about(sample)).filter_map(run).collect()
    }

    fn is_about(&self, sample: &Sample) -> bool {
        let workload = &sample.workload;
        let is_same_work = match self.work {
            Work::Inference { threads } => {
                workload.mode == Mode::Inference && threads == u64::from(sample.configuration.cores_per_executor)
            }
            Work::Training { threads, share, moments } => {
                let batch = u64::from(workload.batch_size);
                let size = share.map_or_else(|| Work::usual_share(batch), |share| share.clamp(1, batch.max(1)));
                let is_adam = workload.optimizer.as_deref() == Some("adam");
                workload.mode == Mode::Training
                    && threads == u64::from(sample.configuration.cores_per_executor)
                    && workload.share_size.map(u64::from) == Some(size)
                    && is_adam == (moments == 2)
            }
        };
        is_same_work
            && workload.model == self.model
            && workload.image_px == self.image_px
            && sample.configuration.accelerator.is_none()
    }
}

/// Returns the memory run of a sample. Inference never holds more images than a partition has.
fn run(sample: &Sample) -> Option<MemoryRun> {
    let (workload, configuration) = (&sample.workload, &sample.configuration);
    let most = match workload.mode {
        Mode::Inference => configuration.partition_size,
        Mode::Training => u32::MAX,
    };
    let images = (workload.images as f64 * sample.sampling_rate).ceil() as u64;
    let batch = u64::from(workload.batch_size.min(most)).min(images.max(1));
    match sample.outcome {
        Outcome::Completed => Some(MemoryRun::Completed { batch, peak_bytes: sample.peak_memory_mib? as f64 * MIB }),
        Outcome::OutOfMemory => {
            let bound_bytes = f64::from(configuration.memory_per_executor_mib) * MIB;
            Some(MemoryRun::OutOfMemory { batch, bound_bytes })
        }
        _ => None,
    }
}

/// Returns a warning if even the lower limit of a job's memory exceeds the bound of an executor.
/// `None` also without a bound, or if the memory is unknown.
pub fn warning(job: &Job, configuration: &Configuration) -> Option<String> {
    if !job.device.bounds_memory() {
        return None;
    }
    let network = Network::of(&job.workload).ok()?;
    let Input::Images { colour, .. } = network.input().ok()? else { return None };
    let shape = colour.shape(job.workload.image_px);
    let memory_mib = configuration.memory_per_executor_mib;
    let threads = u64::from(configuration.cores_per_executor);
    let mut batch = u64::from(job.workload.batch_size);
    let work = match &job.training {
        None => {
            batch = batch.min(u64::from(configuration.partition_size));
            Work::Inference { threads }
        }
        Some(training) => Work::Training {
            threads,
            share: Some(u64::from(training.settings.share_size)),
            moments: training.settings.optimizer.slots() as u64,
        },
    };
    let memory = BatchMemory::of(&network_bytes(&network.costs(shape).ok()?, shape), work);
    let bound = f64::from(memory_mib) * MIB;
    let need = memory.bytes(batch);
    if need.lower <= bound {
        return None;
    }
    let LargestBatch { surely, at_most, .. } = memory.largest_batch(bound);
    let advice = match (surely, at_most) {
        (_, 0) => "no batch is expected to fit; give executors more memory".to_owned(),
        (0, _) => format!("no batch above {at_most} is expected to fit; choose a smaller --batch-size or more memory"),
        _ => format!("a batch of {surely} is expected to fit, and none above {at_most}; choose --batch-size"),
    };
    Some(format!(
        "a batch of {batch} is expected to need {} with {} in an executor, and --memory is {memory_mib} MiB: {advice}",
        range(need),
        format_count(threads as usize, "thread")
    ))
}
