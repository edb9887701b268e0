//! A thread of an executor that takes partitions, reads and decodes them, runs the CNN and reports.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use burn::tensor::Device;
use foreglow_cnn::device::failure;
use foreglow_cnn::{Answer, Cnn};
use foreglow_data::{Decoded, Decoder, Item, ItemError, images_in_sample};
use foreglow_machine::bounds::peak_memory_mib;
use foreglow_protocol::{Assignment, BrokenImage, Partition, Phases, Report, mini_batches};

use super::Reports;
use super::data::Data;
use super::loader::Loader;

/// Warm-up passes for each mini-batch size: in the first the device compiles and tunes kernels, in
/// the second its memory is already allocated.
const WARM_UP_ROUNDS: usize = 2;

/// State of one inference thread.
pub struct Slot {
    cnn: Box<dyn Cnn>,
    device: Device,
    data: Arc<Data>,
    decoder: Decoder,
    loader: Loader,
    batch_size: usize,
    warm_up_sizes: Vec<usize>,
    /// Name of the GPU that a cluster has assigned.
    assigned: Option<String>,
}

impl Slot {
    /// Creates a slot with its own handle to the executor's CNN.
    pub fn new(cnn: Box<dyn Cnn>, device: Device, job: &Assignment, data: Arc<Data>) -> Self {
        let images = images_in_sample(job.images, job.sampling_rate);
        Self {
            cnn,
            decoder: data.decoder(),
            loader: data.loader(&device),
            device,
            data,
            batch_size: job.batch_size as usize,
            warm_up_sizes: mini_batches(images, u64::from(job.partition_size), u64::from(job.batch_size)),
            assigned: job.assigned.clone(),
        }
    }

    /// Runs a mini-batch of each expected size through the whole path, from the file on.
    pub fn warm_up(&mut self) -> anyhow::Result<()> {
        let result = catch_unwind(AssertUnwindSafe(|| {
            for size in self.warm_up_sizes.clone() {
                for _ in 0..WARM_UP_ROUNDS {
                    let places = (0..self.data.sample.len()).cycle().take(size);
                    // Broken images are reported by the partition that contains them.
                    let sent = self.mini_batch(places, &mut Phases::default(), &mut Vec::new())?;
                    receive(sent, &mut Phases::default())?;
                }
            }
            Ok(())
        }));
        result.unwrap_or_else(|panic| Err(anyhow::anyhow!("the CNN panicked: {}", words(panic.as_ref()))))
    }

    /// Processes partitions from the queue until it closes.
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

    /// Processes a partition. On an asynchronous device (a GPU) the next mini-batch is read and
    /// decoded during the forward pass of the previous one, whose answer is awaited only after the
    /// next one is sent. On the CPU the CNN runs in the slot's own thread. Only the disk can
    /// overlap, so it gets read-ahead hints; a separate decoding thread would use more than one
    /// core per slot.
    fn partition(&mut self, partition: Partition) -> anyhow::Result<Report> {
        let mut phases = Phases::default();
        let mut broken = Vec::new();
        let end = partition.first.checked_add(partition.len).filter(|end| *end <= self.data.sample.len());
        let end = end.with_context(|| {
            format!("the sample has {} images and no partition {partition:?}", self.data.sample.len())
        })?;
        let (mut expected, mut in_flight) = (partition.first, None);
        for first in (partition.first..end).step_by(self.batch_size) {
            let after = first.saturating_add(self.batch_size as u64).min(end);
            let soon = after.saturating_add(self.batch_size as u64).min(end);
            self.expect(expected..soon, &mut phases);
            expected = soon;
            let sent = self.mini_batch(first..after, &mut phases, &mut broken)?;
            if let Some(before) = in_flight.replace(sent) {
                receive(before, &mut phases)?;
            }
        }
        if let Some(last) = in_flight {
            receive(last, &mut phases)?;
        }
        let idle = Instant::now();
        self.device.sync().map_err(failure)?;
        phases.forward_secs += idle.elapsed().as_secs_f64();
        let images = partition.len - broken.len() as u64;
        let peak_memory_mib = peak_memory_mib("self");
        let accelerator = self.assigned.clone();
        Ok(Report::Done { partition: partition.index, images, broken, phases, peak_memory_mib, accelerator })
    }

    fn expect(&self, places: Range<u64>, phases: &mut Phases) {
        let start = Instant::now();
        for place in places {
            self.data.sample.expect(place);
        }
        phases.read_secs += start.elapsed().as_secs_f64();
    }

    /// Reads and decodes images and sends them through the CNN.
    fn mini_batch(
        &mut self,
        places: impl Iterator<Item = u64>,
        phases: &mut Phases,
        broken: &mut Vec<BrokenImage>,
    ) -> anyhow::Result<InFlight> {
        let mut all = self.decoder.room(self.batch_size.min(self.data.sample.len() as usize));
        let mut images = 0;
        for place in places {
            let start = Instant::now();
            let image = self.data.sample.read(place);
            let read = Instant::now();
            let decoded = image.and_then(|image| self.decode(&image, &mut all));
            phases.read_secs += (read - start).as_secs_f64();
            phases.decode_secs += read.elapsed().as_secs_f64();
            match decoded {
                Ok(()) => images += 1,
                Err(ItemError(why)) => broken.push(BrokenImage { name: self.data.sample.name(place), why }),
            }
        }
        if images == 0 {
            return Ok(InFlight { answer: None, images });
        }
        let start = Instant::now();
        let batch = self.loader.load(all, images);
        let copied = Instant::now();
        let answer = Answer::of(self.cnn.forward(batch).argmax(1), None);
        phases.copy_secs += (copied - start).as_secs_f64();
        phases.forward_secs += copied.elapsed().as_secs_f64();
        Ok(InFlight { answer: Some(answer), images })
    }

    /// Decodes an item; a panic of the decoder counts as a broken image.
    fn decode(&mut self, image: &Item, decoded: &mut Decoded) -> Result<(), ItemError> {
        let before = decoded.len();
        catch_unwind(AssertUnwindSafe(|| self.decoder.decode(image, decoded))).unwrap_or_else(|panic| {
            decoded.truncate(before);
            Err(ItemError(format!("the decoder panicked: {}", words(panic.as_ref()))))
        })
    }
}

/// A mini-batch that was sent to the device.
struct InFlight {
    /// `None` if no image was usable.
    answer: Option<Answer>,
    images: usize,
}

/// Waits for the answer.
fn receive(sent: InFlight, phases: &mut Phases) -> anyhow::Result<()> {
    let Some(answer) = sent.answer else { return Ok(()) };
    let start = Instant::now();
    let grades = answer.wait().map_err(failure).context("the answer of the CNN could not be read")?;
    anyhow::ensure!(grades.classes.len() == sent.images, "the CNN gave a wrong number of answers");
    phases.forward_secs += start.elapsed().as_secs_f64();
    Ok(())
}

/// Returns the message of a panic.
pub fn words(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a word")
}
