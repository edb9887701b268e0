//! A training thread: computes the gradient of its shares of a mini-batch.

use std::time::Instant;

use anyhow::Context as _;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::{Device, Int, Tensor, TensorData};
use foreglow_cnn::device::failure;
use foreglow_cnn::{Answer, Cnn, Network, StateDict, seed_dropout};
use foreglow_protocol::{EvaluationTotals, Phases};

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

/// Result of training on a part of a mini-batch.
#[derive(Default)]
pub struct Gradients {
    /// Gradient of each parameter, weighted by the part's share of the mini-batch.
    pub gradients: Vec<Tensor<1>>,
    /// Running statistics with the same weight.
    pub running: Vec<Tensor<1>>,
    /// Predictions of the CNN for the images of each share.
    pub batches: Vec<BatchMetrics>,
    /// Breakdown of the time. A graphics device may still compute afterwards.
    pub phases: Phases,
}

impl Gradients {
    /// Adds another part of the same mini-batch.
    pub fn add(&mut self, other: Self) {
        sum(&mut self.gradients, other.gradients);
        sum(&mut self.running, other.running);
        self.batches.extend(other.batches);
        self.phases += other.phases;
    }
}

/// The labels of a share and the answer of the CNN.
pub struct BatchMetrics {
    answer: Answer,
    labels: Vec<i32>,
}

impl BatchMetrics {
    /// Starts to read the answer back: scores `[images, classes]`, and their mean loss.
    fn new(scores: Tensor<2>, loss: Tensor<1>, share: &[&Example]) -> Self {
        let labels = share.iter().map(|example| example.label).collect();
        Self { answer: Answer::of(scores.argmax(1), Some(loss)), labels }
    }

    /// Returns the number of images.
    pub fn images(&self) -> u64 {
        self.labels.len() as u64
    }

    /// Waits for the device, and returns accuracy and loss with the label and the predicted class
    /// of each image.
    ///
    /// # Errors
    /// The device fails, or the loss is not a number.
    pub fn wait(self) -> anyhow::Result<(EvaluationTotals, Vec<(i32, i64)>)> {
        let unread = "the answer of the CNN could not be read";
        let grades = self.answer.wait().map_err(failure).context(unread)?;
        let loss = grades.loss.context(unread)?;
        anyhow::ensure!(
            loss.is_finite(),
            "training diverged: the loss is no longer a number; use a smaller --learning-rate"
        );
        let images = self.labels.len() as u64;
        let pairs: Vec<(i32, i64)> = self.labels.into_iter().zip(grades.classes).collect();
        let correct = pairs.iter().filter(|(label, class)| i64::from(*label) == *class).count();
        Ok((EvaluationTotals { images, loss_sum: f64::from(loss) * images as f64, correct: correct as u64 }, pairs))
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

    /// Computes the gradient of a share of a mini-batch that has `mini_batch` images in all. The
    /// seed determines the dropout masks.
    ///
    /// # Errors
    /// The device fails.
    pub fn backward(
        &mut self,
        numbers: &StateDict,
        share: &[&Example],
        mini_batch: usize,
        seed: u64,
    ) -> anyhow::Result<Gradients> {
        let start = Instant::now();
        seed_dropout(seed);
        let (cnn, scores, loss) = self.forward(numbers, share);
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
        let batches = vec![BatchMetrics::new(scores.without_autodiff(), loss.without_autodiff(), share)];
        let phases = Phases {
            forward_secs: (forward - start).as_secs_f64(),
            backward_secs: forward.elapsed().as_secs_f64(),
            ..Phases::default()
        };
        Ok(Gradients { gradients, running, batches, phases })
    }

    /// Returns the CNN, its scores for a share and their mean loss, which can be differentiated.
    pub fn forward(&self, numbers: &StateDict, share: &[&Example]) -> (Box<dyn Cnn>, Tensor<2>, Tensor<1>) {
        let cnn = self.with(numbers);
        let scores = cnn.forward(self.batch(share).autodiff());
        let labels = self.labels(share, &self.device);
        let loss = CrossEntropyLossConfig::new().init(&self.device).forward(scores.clone(), labels);
        (cnn, scores, loss)
    }

    /// Evaluates the CNN with these parameters on held-out images; `None` if there are none.
    pub fn evaluate(&mut self, numbers: &StateDict, share: &[Example]) -> Option<BatchMetrics> {
        if share.is_empty() {
            return None;
        }
        let cnn = self.with(numbers);
        let device = self.device.clone().without_autodiff();
        let share: Vec<&Example> = share.iter().collect();
        let scores = cnn.trained().forward(self.batch(&share));
        let loss = CrossEntropyLossConfig::new().init(&device).forward(scores.clone(), self.labels(&share, &device));
        Some(BatchMetrics::new(scores, loss, &share))
    }

    fn with(&self, numbers: &StateDict) -> Box<dyn Cnn> {
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
