//! A training thread: reads images and computes the gradient of its shares of a mini-batch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use anyhow::Context as _;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::{Device, Int, Tensor, TensorData};
use foreglow_architectures::{Architecture, Shape};
use foreglow_cnn::device::failure;
use foreglow_cnn::{Build as _, Cnn, Numbers, seed_dropout};
use foreglow_data::{Decoder, ItemError, Sample};
use foreglow_protocol::{BrokenImage, Phases, Tally};

use super::super::data::Data;
use super::super::slot::words;

/// A thread's handle to the CNN. The parameters are passed in for each mini-batch and dropped
/// afterwards, so that they can be updated in place.
pub struct Learner {
    empty: Box<dyn Cnn>,
    device: Device,
    decoder: Decoder,
    shape: Shape,
    classes: usize,
}

/// A decoded image with its label.
pub struct Example {
    numbers: Vec<f32>,
    label: i32,
}

/// Result of learning a part of a mini-batch.
#[derive(Default)]
pub struct Lesson {
    /// Gradient of each parameter, weighted by the part's share of the mini-batch.
    pub gradients: Vec<Tensor<1>>,
    /// Running statistics with the same weight.
    pub running: Vec<Tensor<1>>,
    /// Accuracy and loss.
    pub tally: Tally,
    /// Breakdown of the time.
    pub phases: Phases,
}

impl Lesson {
    /// Adds another part of the same mini-batch.
    pub fn add(&mut self, other: Self) {
        sum(&mut self.gradients, other.gradients);
        sum(&mut self.running, other.running);
        self.tally += other.tally;
        self.phases += other.phases;
    }
}

/// Adds tensors element-wise; an empty `here` counts as zero.
pub fn sum(here: &mut Vec<Tensor<1>>, there: Vec<Tensor<1>>) {
    if here.is_empty() {
        *here = there;
        return;
    }
    *here = std::mem::take(here).into_iter().zip(there).map(|(here, there)| here + there).collect();
}

impl Learner {
    /// Creates a learner; `device` is without autodiff.
    pub fn new(architecture: &Architecture, data: &Data, device: &Device) -> Self {
        let device = device.clone().autodiff();
        Self {
            empty: architecture.build_empty(data.shape(), &device),
            decoder: data.decoder(),
            shape: data.shape(),
            classes: architecture.classes,
            device,
        }
    }

    /// Reads and decodes an image of the sample.
    ///
    /// # Errors
    /// The image is broken, or has no class that the CNN knows.
    pub fn read(&mut self, sample: &Sample, place: u64, phases: &mut Phases) -> Result<Example, BrokenImage> {
        let start = Instant::now();
        let image = sample.read(place);
        let read = Instant::now();
        let mut numbers = Vec::with_capacity(self.decoder.numbers());
        let label = image.and_then(|image| {
            // A panic of the decoder counts as a broken image.
            catch_unwind(AssertUnwindSafe(|| self.decoder.decode(&image, &mut numbers)))
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
            Ok(label) => Ok(Example { numbers, label }),
            Err(ItemError(why)) => Err(BrokenImage { name: sample.name(place), why }),
        }
    }

    /// Learns a share of a mini-batch of `mini_batch` images in all. The seed determines the
    /// dropout masks.
    ///
    /// # Errors
    /// The device fails.
    pub fn learn(
        &mut self,
        numbers: &Numbers,
        share: &[&Example],
        mini_batch: usize,
        seed: u64,
    ) -> anyhow::Result<Lesson> {
        let start = Instant::now();
        seed_dropout(seed);
        let cnn = self.with(numbers);
        let scores = cnn.forward(self.batch(share, &self.device));
        let labels = self.labels(share, &self.device);
        let loss = CrossEntropyLossConfig::new().init(&self.device).forward(scores.clone(), labels);
        self.device.sync().map_err(failure)?;
        let forward = Instant::now();

        let part = share.len() as f64 / mini_batch as f64;
        let mut all = (loss.clone() * part).backward();
        let gradients = cnn.gradients(&mut all);
        drop(all);
        let running = match numbers.running.is_empty() {
            true => Vec::new(),
            false => cnn.numbers().running.into_iter().map(|running| running * part).collect(),
        };
        let tally = tally(scores.without_autodiff(), loss.without_autodiff(), share)?;
        let phases = Phases {
            forward_secs: (forward - start).as_secs_f64(),
            backward_secs: forward.elapsed().as_secs_f64(),
            ..Phases::default()
        };
        Ok(Lesson { gradients, running, tally, phases })
    }

    /// Evaluates the CNN with these parameters on held-out images.
    ///
    /// # Errors
    /// The device fails.
    pub fn judge(&mut self, numbers: &Numbers, share: &[Example]) -> anyhow::Result<Tally> {
        if share.is_empty() {
            return Ok(Tally::default());
        }
        let cnn = self.with(numbers);
        let device = self.device.clone().without_autodiff();
        let share: Vec<&Example> = share.iter().collect();
        let scores = cnn.trained().forward(self.batch(&share, &device));
        let loss = CrossEntropyLossConfig::new().init(&device).forward(scores.clone(), self.labels(&share, &device));
        tally(scores, loss, &share)
    }

    fn with(&self, numbers: &Numbers) -> Box<dyn Cnn> {
        let mut cnn = self.empty.share();
        cnn.take(numbers);
        cnn
    }

    fn batch(&self, share: &[&Example], device: &Device) -> Tensor<4> {
        let [channels, height, width] = self.shape;
        let numbers: Vec<f32> = share.iter().flat_map(|example| &example.numbers).copied().collect();
        Tensor::from_data(TensorData::new(numbers, [share.len(), channels, height, width]), device)
    }

    fn labels(&self, share: &[&Example], device: &Device) -> Tensor<1, Int> {
        let labels: Vec<i32> = share.iter().map(|example| example.label).collect();
        Tensor::from_data(TensorData::new(labels, [share.len()]), device)
    }
}

fn tally(scores: Tensor<2>, loss: Tensor<1>, share: &[&Example]) -> anyhow::Result<Tally> {
    let unread = "the answer of the CNN could not be read";
    let classes = scores.argmax(1).try_into_data().map_err(failure).context(unread)?;
    let loss = loss.try_into_data().map_err(failure).context(unread)?.iter::<f32>().next().context(unread)?;
    let correct =
        classes.iter::<i64>().zip(share).filter(|(class, example)| *class == i64::from(example.label)).count();
    let images = share.len() as u64;
    Ok(Tally { images, loss_sum: f64::from(loss) * images as f64, correct: correct as u64 })
}
