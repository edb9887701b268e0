//! One thread of an executor: takes a partition, reads, decodes, runs the CNN, reports.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use burn::tensor::{Device, Tensor, TensorData};

use super::Reports;
use super::protocol::{Assignment, BrokenImage, Partition, Phases, Report};
use crate::cnn::{Architecture, Cnn};
use crate::images::{Decoder, images_in_sample};

/// Mini-batches of each size that go through before the first partition: the first one makes the device compile and tune,
/// the second one finds the memory in place.
const WARM_UP_ROUNDS: usize = 2;

/// A thread's share of the executor.
pub struct Slot {
    cnn: Box<dyn Cnn>,
    device: Device,
    decoder: Decoder,
    files: Arc<Vec<PathBuf>>,
    shape: [usize; 3],
    batch_size: usize,
    warm_up_sizes: Vec<usize>,
}

impl Slot {
    /// A slot with its own handle on the executor's CNN.
    pub fn new(
        architecture: &Architecture,
        cnn: Box<dyn Cnn>,
        device: Device,
        job: &Assignment,
        files: Arc<Vec<PathBuf>>,
    ) -> Self {
        let px = job.image_px as usize;
        let images = images_in_sample(job.images, job.sampling_rate);
        Self {
            cnn,
            device,
            decoder: Decoder::new(architecture.input.colour, job.image_px),
            files,
            shape: [architecture.input.colour.channels(), px, px],
            batch_size: job.batch_size as usize,
            warm_up_sizes: mini_batches(images, u64::from(job.partition_size), u64::from(job.batch_size)),
        }
    }

    /// Sends a mini-batch of each size that will come through the whole path, from the file on.
    pub fn warm_up(&mut self) -> anyhow::Result<()> {
        let result = catch_unwind(AssertUnwindSafe(|| {
            for size in self.warm_up_sizes.clone() {
                for _ in 0..WARM_UP_ROUNDS {
                    let files: Vec<PathBuf> = self.files.iter().cycle().take(size).cloned().collect();
                    // A broken image is reported by the partition that it is in.
                    self.mini_batch(&files, &mut Phases::default(), &mut Vec::new())?;
                }
            }
            Ok(())
        }));
        result.unwrap_or_else(|panic| Err(anyhow::anyhow!("the CNN panicked: {}", words(panic.as_ref()))))
    }

    /// Takes partitions from the queue until it closes.
    pub fn work(&mut self, queue: &Mutex<Receiver<Partition>>, reports: &Reports) {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(partition) = next else { return };
            let result = catch_unwind(AssertUnwindSafe(|| self.partition(partition)))
                .unwrap_or_else(|panic| Err(anyhow::anyhow!("the CNN panicked: {}", words(panic.as_ref()))));
            let report = result.unwrap_or_else(|error| Report::Failed {
                partition: Some(partition.index),
                reason: format!("{error:#}"),
            });
            if reports.send(&report).is_err() {
                return;
            }
        }
    }

    fn partition(&mut self, partition: Partition) -> anyhow::Result<Report> {
        let mut phases = Phases::default();
        let mut broken = Vec::new();
        let files = Arc::clone(&self.files);
        let end = partition.first.checked_add(partition.len).and_then(|end| usize::try_from(end).ok());
        let files = end
            .and_then(|end| files.get(partition.first as usize..end))
            .with_context(|| format!("the sample has {} images and no partition {partition:?}", self.files.len()))?;
        for batch in files.chunks(self.batch_size) {
            self.mini_batch(batch, &mut phases, &mut broken)?;
        }
        let idle = Instant::now();
        self.device.sync().map_err(|error| anyhow::anyhow!("the device failed: {error:?}"))?;
        phases.forward_secs += idle.elapsed().as_secs_f64();
        match broken.first() {
            None => Ok(Report::Done { partition: partition.index, images: partition.len, phases }),
            Some(first) => Err(anyhow::anyhow!(
                "{} of the {} images of partition {} cannot be used; the first is {} ({})",
                broken.len(),
                partition.len,
                partition.index,
                first.path.display(),
                first.why
            )),
        }
    }

    /// Reads and decodes the files, sends them through the CNN, and waits for the answer.
    fn mini_batch(
        &mut self,
        files: &[PathBuf],
        phases: &mut Phases,
        broken: &mut Vec<BrokenImage>,
    ) -> anyhow::Result<()> {
        let mut numbers = Vec::with_capacity(files.len() * self.decoder.numbers());
        let mut images = 0;
        for path in files {
            let start = Instant::now();
            let bytes = std::fs::read(path);
            let read = Instant::now();
            let decoded = match bytes {
                Ok(bytes) => self.decoder.decode(&bytes, &mut numbers).map_err(|error| error.0),
                Err(error) => Err(error.to_string()),
            };
            phases.read_secs += (read - start).as_secs_f64();
            phases.decode_secs += read.elapsed().as_secs_f64();
            match decoded {
                Ok(()) => images += 1,
                Err(why) => broken.push(BrokenImage { path: path.clone(), why }),
            }
        }
        if images == 0 {
            return Ok(());
        }
        let start = Instant::now();
        let [channels, height, width] = self.shape;
        let batch = TensorData::new(numbers, [images, channels, height, width]);
        let scores = self.cnn.forward(Tensor::from_data(batch, &self.device));
        let classes = scores
            .argmax(1)
            .try_into_data()
            .map_err(|error| anyhow::anyhow!("the answer of the CNN could not be read from the device: {error:?}"))?;
        anyhow::ensure!(classes.num_elements() == images, "the CNN answered for another number of images");
        phases.forward_secs += start.elapsed().as_secs_f64();
        Ok(())
    }
}

/// The sizes of the mini-batches that a run has: full ones, the rest of a partition, the rest of the last partition.
fn mini_batches(images: u64, partition_size: u64, batch_size: u64) -> Vec<usize> {
    let mut sizes = Vec::new();
    for partition in [partition_size.min(images), images % partition_size] {
        for size in [batch_size.min(partition), partition % batch_size] {
            if size > 0 && !sizes.contains(&(size as usize)) {
                sizes.push(size as usize);
            }
        }
    }
    sizes
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a word")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_of_mini_batch_that_comes_is_warmed_up() {
        assert_eq!(mini_batches(100, 10, 4), [4, 2]);
        assert_eq!(mini_batches(103, 10, 4), [4, 2, 3]);
        assert_eq!(mini_batches(20, 32, 8), [8, 4]);
        assert_eq!(mini_batches(1, 32, 8), [1]);
        assert_eq!(mini_batches(64, 32, 64), [32]);
    }
}
