//! A training thread: computes the gradient of its shares of a mini-batch.

use std::time::Instant;

use anyhow::Context as _;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::{Device, Int, Tensor, TensorData};
use foreglow_cnn::device::failure;
use foreglow_cnn::{Cnn, Network, Numbers, seed_dropout};
use foreglow_protocol::{Phases, Tally};
use foreglow_shared::Confusion;

use super::super::data::Data;
use super::super::loader::Loader;
use super::reader::Example;

/// A thread's handle to the CNN. The parameters are passed in for each mini-batch and dropped
/// afterwards, so that they can be updated in place.
pub struct Learner {
    empty: Box<dyn Cnn>,
    device: Device,
    loader: Loader,
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
    ///
    /// # Errors
    /// The network's file cannot be read.
    pub fn new(network: &Network, data: &Data, device: &Device) -> anyhow::Result<Self> {
        let loader = data.loader(device);
        let device = device.clone().autodiff();
        Ok(Self { empty: network.build_empty(data.shape(), &device)?, device, loader })
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
        let scores = cnn.forward(self.batch(share).autodiff());
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
            false if part == 1.0 => cnn.numbers().running,
            false => cnn.numbers().running.into_iter().map(|running| running * part).collect(),
        };
        let (tally, _) = tally(scores.without_autodiff(), loss.without_autodiff(), share)?;
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
    pub fn judge(&mut self, numbers: &Numbers, share: &[Example]) -> anyhow::Result<(Tally, Confusion)> {
        if share.is_empty() {
            return Ok(Default::default());
        }
        let cnn = self.with(numbers);
        let device = self.device.clone().without_autodiff();
        let share: Vec<&Example> = share.iter().collect();
        let scores = cnn.trained().forward(self.batch(&share));
        let loss = CrossEntropyLossConfig::new().init(&device).forward(scores.clone(), self.labels(&share, &device));
        let (tally, predicted) = tally(scores, loss, &share)?;
        let mut confusion = Confusion::default();
        for (example, predicted) in share.iter().zip(predicted) {
            confusion.add(class(i64::from(example.label))?, class(predicted)?);
        }
        Ok((tally, confusion))
    }

    fn with(&self, numbers: &Numbers) -> Box<dyn Cnn> {
        let mut cnn = self.empty.share();
        cnn.take(numbers);
        cnn
    }

    /// Copies a share, which has at least one image, to the device without autodiff.
    fn batch(&self, share: &[&Example]) -> Tensor<4> {
        let mut all = share[0].decoded.clone();
        share[1..].iter().for_each(|example| all.append(&example.decoded));
        self.loader.load(all, share.len())
    }

    fn labels(&self, share: &[&Example], device: &Device) -> Tensor<1, Int> {
        let labels: Vec<i32> = share.iter().map(|example| example.label).collect();
        Tensor::from_data(TensorData::new(labels, [share.len()]), device)
    }
}

/// Returns accuracy and loss, and the predicted class of each image.
fn tally(scores: Tensor<2>, loss: Tensor<1>, share: &[&Example]) -> anyhow::Result<(Tally, Vec<i64>)> {
    let unread = "the answer of the CNN could not be read";
    let classes = scores.argmax(1).try_into_data().map_err(failure).context(unread)?;
    let loss = loss.try_into_data().map_err(failure).context(unread)?.iter::<f32>().next().context(unread)?;
    let predicted: Vec<i64> = classes.iter::<i64>().collect();
    let correct = predicted.iter().zip(share).filter(|(class, example)| **class == i64::from(example.label)).count();
    let images = share.len() as u64;
    Ok((Tally { images, loss_sum: f64::from(loss) * images as f64, correct: correct as u64 }, predicted))
}

fn class(number: i64) -> anyhow::Result<u32> {
    u32::try_from(number).context("the CNN gave a class below 0")
}
