//! Reads and decodes the images of mini-batches: before the step on the CPU, and during the
//! previous steps for a graphics device.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

use anyhow::Context as _;
use foreglow_data::{Decoded, Decoder, ItemError, Sample};
use foreglow_protocol::{BrokenImage, DataSharding, Phases};

use super::super::data::Data;
use super::super::slot::words;
use super::team::{sharding, together};

/// Limit on the mini-batches decoded ahead of the device; more would only take memory.
const AHEAD: usize = 2;

/// A decoded image with its label.
pub struct Example {
    /// The numbers of the image.
    pub decoded: Decoded,
    /// Its class.
    pub label: i32,
}

/// A decoded mini-batch.
#[derive(Default)]
pub struct Reading {
    /// The usable images.
    pub examples: Vec<Example>,
    /// Images that cannot be used.
    pub broken: Vec<BrokenImage>,
    /// Time of reading and decoding, summed over all threads. If several mini-batches are read
    /// together, it is stored in the first.
    pub phases: Phases,
}

/// A thread's decoder.
pub struct Reader {
    decoder: Decoder,
    classes: usize,
}

impl Reader {
    /// Creates a reader for a CNN with this number of classes.
    pub fn new(data: &Data, classes: usize) -> Self {
        Self { decoder: data.decoder(), classes }
    }

    /// Reads and decodes an image of the sample.
    ///
    /// # Errors
    /// The image is broken, or its class is missing or unknown to the CNN.
    pub fn read(&mut self, sample: &Sample, place: u64, phases: &mut Phases) -> Result<Example, BrokenImage> {
        let start = Instant::now();
        let image = sample.read(place);
        let read = Instant::now();
        let mut decoded = self.decoder.room(1);
        let label = image.and_then(|image| {
            // A panic of the decoder counts as a broken image.
            catch_unwind(AssertUnwindSafe(|| self.decoder.decode(&image, &mut decoded)))
                .unwrap_or_else(|panic| Err(ItemError(format!("the decoder panicked: {}", words(panic.as_ref())))))?;
            match image.label.map(|label| (label, i32::try_from(label))) {
                None => Err(ItemError("it has no class; training needs a folder for each class, or labels".into())),
                Some((_, Ok(label))) if (label as usize) < self.classes => Ok(label),
                Some((label, _)) => {
                    let classes = self.classes;
                    Err(ItemError(format!("its class is {label}, and the CNN has {classes} classes")))
                }
            }
        });
        phases.read_secs += (read - start).as_secs_f64();
        phases.decode_secs += read.elapsed().as_secs_f64();
        match label {
            Ok(label) => Ok(Example { decoded, label }),
            Err(ItemError(why)) => Err(BrokenImage { name: sample.name(place), why }),
        }
    }
}

/// Reads mini-batches of the sample in order, with all readers; broken images are omitted from
/// their mini-batch.
///
/// # Errors
/// A thread panicked.
pub fn read(readers: &mut [Reader], sample: &Sample, mini_batches: &[Vec<u64>]) -> anyhow::Result<Vec<Reading>> {
    let places: Vec<u64> = mini_batches.iter().flatten().copied().collect();
    places.iter().for_each(|place| sample.expect(*place));
    let parts = sharding(places, readers.len());
    let read = together(readers, parts, |reader, places| {
        let mut phases = Phases::default();
        let read: Vec<_> = places.into_iter().map(|place| reader.read(sample, place, &mut phases)).collect();
        Ok((read, phases))
    })?;
    let (mut examples, mut phases) = (Vec::new(), Phases::default());
    for (part, spent) in read {
        examples.extend(part);
        phases += spent;
    }
    let mut examples = examples.into_iter();
    let reading = |places: &Vec<u64>| {
        let mut reading = Reading { phases: std::mem::take(&mut phases), ..Reading::default() };
        for example in examples.by_ref().take(places.len()) {
            match example {
                Ok(example) => reading.examples.push(example),
                Err(why) => reading.broken.push(why),
            }
        }
        reading
    };
    Ok(mini_batches.iter().map(reading).collect())
}

/// A round's partitions, each with its steps and, for each step, the images of this executor as
/// positions in the sample.
#[derive(Clone)]
pub struct Partitions {
    sharding: DataSharding,
    seed: u64,
    rank: u64,
    /// Steps per partition.
    at_once: u64,
    rest: Range<u64>,
    /// An epoch and its order.
    order: Option<(u64, Vec<u64>)>,
}

impl Partitions {
    /// Divides the steps of an executor into partitions that end at the latest with their epoch.
    pub fn new(sharding: DataSharding, seed: u64, rank: u64, at_once: u64, steps: Range<u64>) -> Self {
        Self { sharding, seed, rank, at_once, rest: steps, order: None }
    }
}

impl Iterator for Partitions {
    type Item = (Range<u64>, Vec<Vec<u64>>);

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.rest.next()?;
        let (sharding, rank) = (self.sharding, self.rank);
        let epoch = step / sharding.steps();
        let order = match self.order.take() {
            Some((known, order)) if known == epoch => order,
            _ => sharding.order(self.seed, epoch),
        };
        let steps = step..(step + self.at_once).min(self.rest.end).min((epoch + 1) * sharding.steps());
        self.rest.start = steps.end;
        let mini_batches = steps
            .clone()
            .map(|step| sharding.mini_batch(step % sharding.steps(), rank))
            .map(|places| order[places.start as usize..places.end as usize].to_vec())
            .collect();
        self.order = Some((epoch, order));
        Some((steps, mini_batches))
    }
}

/// Mini-batches that a thread decodes ahead of the device.
pub struct Ahead<'scope> {
    decoded: Receiver<anyhow::Result<Reading>>,
    thread: ScopedJoinHandle<'scope, Vec<Reader>>,
}

impl<'scope> Ahead<'scope> {
    /// Starts to decode these mini-batches, positions in the sample, one after the other with all
    /// readers.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        mut readers: Vec<Reader>,
        sample: &'env Sample,
        mini_batches: impl Iterator<Item = Vec<u64>> + Send + 'scope,
    ) -> anyhow::Result<Self> {
        let (done, decoded): (SyncSender<_>, _) = sync_channel(AHEAD);
        let work = move || {
            for mini_batch in mini_batches {
                let reading = read(&mut readers, sample, &[mini_batch]).map(|mut all| all.swap_remove(0));
                // The receiver is gone after a step has failed.
                if done.send(reading).is_err() {
                    break;
                }
            }
            readers
        };
        let thread = std::thread::Builder::new().name("decoding".into()).spawn_scoped(scope, work);
        Ok(Self { decoded, thread: thread.context("the thread that decodes ahead could not be started")? })
    }

    /// Waits for the next mini-batch.
    ///
    /// # Errors
    /// A thread panicked, or there are no more mini-batches.
    pub fn next(&self) -> anyhow::Result<Reading> {
        self.decoded.recv().context("the thread that decodes ahead ended too early")?
    }

    /// Ends the thread and returns its readers.
    ///
    /// # Errors
    /// The thread panicked.
    pub fn end(self) -> anyhow::Result<Vec<Reader>> {
        drop(self.decoded);
        self.thread.join().map_err(|panic| anyhow::anyhow!("the decoder panicked: {}", words(panic.as_ref())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_end_with_their_epoch_and_cover_every_step_once() {
        let sharding = DataSharding { images: 20, batch_size: 2, executors: 2 };
        assert_eq!(sharding.steps(), 5);
        let all: Vec<_> = Partitions::new(sharding, 3, 1, 2, 1..12).collect();
        let steps: Vec<Range<u64>> = all.iter().map(|(steps, _)| steps.clone()).collect();
        assert_eq!(steps, [1..3, 3..5, 5..7, 7..9, 9..10, 10..12]);
        for (steps, mini_batches) in all {
            for (step, mini_batch) in steps.zip(mini_batches) {
                let places = sharding.mini_batch(step % 5, 1);
                let order = sharding.order(3, step / 5);
                assert_eq!(mini_batch, order[places.start as usize..places.end as usize]);
            }
        }
    }
}
