//! The replica of the CNN that an executor trains, with its threads.

use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use burn::tensor::{Device, Tensor, TensorData};
use foreglow_architectures::Shape;
use foreglow_cnn::device::failure;
use foreglow_cnn::{Network, StateDict};
use foreglow_data::Sample;
use foreglow_protocol::{Assignment, BrokenImage, EvaluationTotals, Phases, Training};
use foreglow_shared::Confusion;

use super::super::data::Data;
use super::super::open_device;
use super::learner::{BatchMetrics, Gradients, Learner, sum};
use super::optimizer::{OptimizerStep, Update as _};
use super::pieces::{Parameter, change};
use super::reader::{self, Ahead, Example, Reader, Reading};
use super::team::{sharding, together};

/// A replica: parameters, optimiser state and C threads.
pub struct Replica {
    network: Network,
    shape: Shape,
    /// One for each thread on the CPU, and one on a graphics device.
    learners: Vec<Learner>,
    readers: Vec<Reader>,
    training: Training,
    seed: u64,
    device: Device,
    /// Whether the parameters are in the CPU's memory.
    is_native: bool,
    /// Threads of the executor.
    threads: u32,
    numbers: StateDict,
    /// The optimiser's state tensors of each parameter.
    state: Vec<Vec<Tensor<1>>>,
    /// Steps that the optimiser has taken.
    steps: u64,
    /// Whether the weights are the initial ones.
    is_fresh: bool,
    /// Share of the forward pass in the time of a step on a graphics device.
    forward_part: f64,
}

impl Replica {
    /// Creates a replica with weights from the job's seed.
    ///
    /// # Errors
    /// The device is not available, or the network's file cannot be read.
    pub fn new(network: &Network, job: &Assignment, training: &Training, data: &Data) -> anyhow::Result<Self> {
        let device = open_device(job)?;
        let numbers = network.build(job.seed, data.shape(), &device)?.numbers();
        let classes = network.classes(data.shape(), 1)?;
        // A graphics device needs only one training thread: one share keeps it busy, each further
        // thread would hold memory on it, and the executor's threads decode meanwhile.
        let is_native = job.place.is_native();
        let learners = (0..if is_native { job.threads } else { 1 }).map(|_| Learner::new(network, data, &device));
        Ok(Self {
            network: network.clone(),
            shape: data.shape(),
            learners: learners.collect::<anyhow::Result<_>>()?,
            readers: (0..job.threads).map(|_| Reader::new(data, classes)).collect(),
            training: training.clone(),
            seed: job.seed,
            state: no_state(training, &numbers),
            numbers,
            device,
            is_native,
            threads: job.threads,
            steps: 0,
            is_fresh: true,
            forward_part: 0.0,
        })
    }

    /// Resets the weights and the optimiser to their initial state.
    ///
    /// # Errors
    /// The network's file cannot be read.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        if !self.is_fresh {
            self.numbers = self.network.build(self.seed, self.shape, &self.device)?.numbers();
            self.state = no_state(&self.training, &self.numbers);
            (self.steps, self.is_fresh) = (0, true);
        }
        Ok(())
    }

    /// Reads mini-batches of the sample with all threads.
    ///
    /// # Errors
    /// A thread panicked.
    pub fn read(&mut self, sample: &Sample, mini_batches: &[Vec<u64>]) -> anyhow::Result<Vec<Reading>> {
        reader::read(&mut self.readers, sample, mini_batches)
    }

    /// Returns the readers, for a thread that decodes ahead; [`Self::restore_readers`] takes them
    /// back.
    pub fn take_readers(&mut self) -> Vec<Reader> {
        std::mem::take(&mut self.readers)
    }

    /// Takes the readers back.
    pub fn restore_readers(&mut self, readers: Vec<Reader>) {
        self.readers = readers;
    }

    /// Computes the gradient of a mini-batch as one summand per thread. The division into shares
    /// does not depend on the number of threads.
    ///
    /// # Errors
    /// The device fails, or a thread panicked.
    pub fn backward(&mut self, mini_batch: &[Example], step: u64) -> anyhow::Result<Vec<Gradients>> {
        let size = self.training.share_size as usize;
        let shares: Vec<(u64, Vec<&Example>)> =
            (0..).zip(mini_batch.chunks(size).map(|share| share.iter().collect())).collect();
        let (numbers, seed) = (&self.numbers, self.seed ^ step.wrapping_mul(0xD134_2543_DE82_EF95));
        let parts = sharding(shares, self.learners.len());
        let passes = together(&mut self.learners, parts, |learner, shares| {
            let mut pass = Gradients::default();
            for (index, share) in shares {
                let seed = seed.wrapping_add(index);
                pass.add(learner.backward(numbers, &share, mini_batch.len(), seed)?);
            }
            Ok(pass)
        })?;
        Ok(passes.into_iter().filter(|pass| !pass.batches.is_empty()).collect())
    }

    /// Lets every learner learn a share of this size, discards the result, and takes a step with a
    /// learning rate of 0, so that the device compiles, tunes and allocates.
    ///
    /// # Errors
    /// The device fails, or a thread panicked.
    pub fn warm_up(&mut self, sample: &Sample, images: u64) -> anyhow::Result<()> {
        let numbers = &self.numbers;
        let mut workers: Vec<_> = self.learners.iter_mut().zip(&mut self.readers).collect();
        let parts = vec![(); workers.len()];
        together(&mut workers, parts, |(learner, reader), ()| {
            // Broken images are reported later, during training.
            let places = (0..sample.len()).cycle().take(images as usize);
            let share: Vec<_> =
                places.filter_map(|place| reader.read(sample, place, &mut Phases::default()).ok()).collect();
            if share.is_empty() {
                return Ok(());
            }
            learner.backward(numbers, &share.iter().collect::<Vec<_>>(), share.len(), 0).map(drop)
        })?;
        self.step(Vec::new(), 0.0)?;
        (self.steps, self.is_fresh) = (0, true);
        Ok(())
    }

    /// Measures the share of the forward pass in a step with a share of this size, because during
    /// training the passes are not awaited separately.
    ///
    /// # Errors
    /// The device fails.
    pub fn measure_passes(&mut self, sample: &Sample, images: u64) -> anyhow::Result<()> {
        let places = (0..sample.len()).cycle().take(images as usize).collect();
        let reading = reader::read(&mut self.readers, sample, &[places])?.pop().context("there is one mini-batch")?;
        if reading.examples.is_empty() {
            return Ok(());
        }
        let learner = self.learners.first().context("a replica has a learner")?;
        self.sync()?;
        let start = Instant::now();
        learner.forward(&self.numbers, &reading.examples.iter().collect::<Vec<_>>());
        self.sync()?;
        let forward = start.elapsed().as_secs_f64();
        let start = Instant::now();
        self.backward(&reading.examples, 0)?;
        self.step(Vec::new(), 0.0)?;
        self.sync()?;
        (self.steps, self.is_fresh) = (0, true);
        let all = start.elapsed().as_secs_f64();
        self.forward_part = if all > 0.0 { (forward / all).clamp(0.0, 1.0) } else { 0.0 };
        Ok(())
    }

    /// Updates the parameters by the sum of their gradients, which is zero if there are no passes.
    ///
    /// # Errors
    /// A thread panicked.
    pub fn step(&mut self, passes: Vec<Gradients>, learning_rate: f64) -> anyhow::Result<()> {
        self.steps += 1;
        self.is_fresh = false;
        let learned = std::mem::take(&mut self.numbers.learned);
        let (mut running, mut gradients) = (Vec::new(), vec![Vec::new(); learned.len()]);
        for pass in passes {
            sum(&mut running, pass.running);
            gradients.iter_mut().zip(pass.gradients).for_each(|(all, gradient)| all.push(gradient));
        }
        if !running.is_empty() {
            self.numbers.running = running;
        }
        let (optimizer, at) = (self.training.optimizer, OptimizerStep { learning_rate, step: self.steps });
        let all = learned.into_iter().zip(gradients).zip(std::mem::take(&mut self.state));
        if self.is_native {
            let parameters = all.map(|((weights, gradients), state)| Parameter::new(weights, gradients, state));
            let mut parameters = parameters.collect::<anyhow::Result<Vec<_>>>()?;
            change(&mut self.learners, &mut parameters, |weights, gradient, state| {
                optimizer.step_numbers(weights, gradient, state, at);
            })?;
            (self.numbers.learned, self.state) = parameters.into_iter().map(Parameter::into_tensors).unzip();
        } else {
            let step = |((weights, gradients), mut state): ((Tensor<1>, Vec<Tensor<1>>), Vec<Tensor<1>>)| {
                let gradient = gradients.into_iter().reduce(|sum, gradient| sum + gradient);
                let gradient = gradient.unwrap_or_else(|| weights.zeros_like());
                (optimizer.step(weights, gradient, &mut state, at), state)
            };
            (self.numbers.learned, self.state) = all.map(step).unzip();
        }
        Ok(())
    }

    /// Evaluates as [`Self::evaluate`] on a graphics device, while all threads decode.
    fn evaluate_ahead(
        &mut self,
        sample: &Sample,
        places: &[u64],
        at_once: usize,
    ) -> anyhow::Result<(EvaluationTotals, Confusion, Vec<BrokenImage>)> {
        let mut metrics = Metrics::default();
        let readers = self.take_readers();
        let learner = self.learners.first_mut().context("a replica has a learner")?;
        let numbers = &self.numbers;
        let readers = std::thread::scope(|scope| {
            let shares = || places.chunks(at_once).map(<[u64]>::to_vec);
            let ahead = Ahead::start(scope, readers, sample, shares())?;
            let mut evaluate = || -> anyhow::Result<()> {
                let mut before = None;
                for _ in shares() {
                    let reading = ahead.next()?;
                    metrics.broken.extend(reading.broken);
                    let batches = learner.evaluate(numbers, &reading.examples);
                    metrics.add(std::mem::replace(&mut before, batches))?;
                }
                metrics.add(before)
            };
            let result = evaluate();
            ahead.end().and_then(|readers| result.map(|()| readers))
        })?;
        self.restore_readers(readers);
        Ok((metrics.tally, metrics.confusion, metrics.broken))
    }

    /// Evaluates the CNN on held-out images at these positions of a sample.
    ///
    /// # Errors
    /// The device fails, or a thread panicked.
    pub fn evaluate(
        &mut self,
        sample: &Sample,
        places: Vec<u64>,
        at_once: usize,
    ) -> anyhow::Result<(EvaluationTotals, Confusion, Vec<BrokenImage>)> {
        if !self.is_native {
            return self.evaluate_ahead(sample, &places, at_once);
        }
        let numbers = &self.numbers;
        let mut workers: Vec<_> = self.learners.iter_mut().zip(&mut self.readers).collect();
        let parts = sharding(places, workers.len());
        let metrics = together(&mut workers, parts, |(learner, reader), places| {
            let mut metrics = Metrics::default();
            for places in places.chunks(at_once) {
                let mut share = Vec::with_capacity(places.len());
                for place in places {
                    match reader.read(sample, *place, &mut Phases::default()) {
                        Ok(example) => share.push(example),
                        Err(why) => metrics.broken.push(why),
                    }
                }
                metrics.add(learner.evaluate(numbers, &share))?;
            }
            Ok(metrics)
        })?;
        let mut whole = Metrics::default();
        for part in metrics {
            whole.tally += part.tally;
            whole.confusion.merge(&part.confusion);
            whole.broken.extend(part.broken);
        }
        Ok((whole.tally, whole.confusion, whole.broken))
    }

    /// Saves the weights, with PyTorch's names or those of the ONNX file.
    ///
    /// # Errors
    /// The weights cannot be written.
    pub fn save_weights(&self, path: &Path) -> anyhow::Result<()> {
        self.network.save_weights(path, self.shape, &self.numbers)
    }

    /// Serialises parameters, running statistics and optimiser state to one list.
    ///
    /// # Errors
    /// The device fails.
    pub fn snapshot(&self) -> anyhow::Result<Snapshot> {
        let mut list = Vec::new();
        append(&mut list, self.numbers.learned.iter().chain(&self.numbers.running))?;
        let numbers = list.len();
        append(&mut list, self.state.iter().flatten())?;
        Ok(Snapshot { list, numbers, steps: self.steps })
    }

    /// Restores the list that [`Replica::snapshot`] returned for the same CNN and optimiser.
    ///
    /// # Errors
    /// The list belongs to another CNN or optimiser.
    pub fn take(&mut self, snapshot: &Snapshot) -> anyhow::Result<()> {
        self.is_fresh = false;
        let mut rest = snapshot.list.as_slice();
        let numbers = &mut self.numbers;
        let state = self.state.iter_mut().flatten();
        for tensor in numbers.learned.iter_mut().chain(&mut numbers.running).chain(state) {
            *tensor = next(&mut rest, tensor, &self.device)?;
        }
        anyhow::ensure!(rest.is_empty(), "the numbers are those of another CNN or optimiser: {} too many", rest.len());
        self.steps = snapshot.steps;
        Ok(())
    }

    /// Serialises the passes of a mini-batch to one list; without passes, to a list of zeros of
    /// the same length.
    ///
    /// # Errors
    /// The device fails.
    pub fn flatten_gradients(&self, passes: Vec<Gradients>) -> anyhow::Result<Vec<f32>> {
        let (mut whole, mut list) = (Gradients::default(), Vec::new());
        passes.into_iter().for_each(|pass| whole.add(pass));
        append(&mut list, whole.gradients.iter().chain(&whole.running))?;
        if list.is_empty() {
            let count = |tensors: &[Tensor<1>]| tensors.iter().map(|tensor| tensor.dims()[0]).sum::<usize>();
            list.resize(count(&self.numbers.learned) + count(&self.numbers.running), 0.0);
        }
        Ok(list)
    }

    /// Restores gradients and running statistics from such a list.
    ///
    /// # Errors
    /// The list belongs to another CNN.
    pub fn read_gradients(&self, list: &[f32]) -> anyhow::Result<Gradients> {
        let mut rest = list;
        let mut read = |like: &[Tensor<1>]| {
            like.iter().map(|tensor| next(&mut rest, tensor, &self.device)).collect::<anyhow::Result<Vec<_>>>()
        };
        let (gradients, running) = (read(&self.numbers.learned)?, read(&self.numbers.running)?);
        Ok(Gradients { gradients, running, ..Gradients::default() })
    }

    /// Waits until the device is idle.
    ///
    /// # Errors
    /// The device fails.
    pub fn sync(&self) -> anyhow::Result<()> {
        self.device.sync().map_err(failure)
    }

    /// Returns the number of training threads, which are blocked between steps.
    pub fn learning_threads(&self) -> f64 {
        if self.is_native { f64::from(self.threads) } else { 1.0 }
    }

    /// Adds the time since `since` of all training threads to a phase.
    pub fn add_all_threads(&self, since: Instant, secs: &mut f64) {
        *secs += since.elapsed().as_secs_f64() * self.learning_threads();
    }

    /// Adds the time of passes that began at `since`.
    pub fn add_gradients(&self, passes: &[Gradients], since: Instant, phases: &mut Phases) {
        if self.is_native {
            passes.iter().for_each(|pass| *phases += pass.phases);
        } else {
            self.add_device_time(since, phases);
        }
    }

    /// Adds the time of a step of the optimiser that began at `since`.
    pub fn add_step(&self, since: Instant, phases: &mut Phases) {
        if self.is_native {
            self.add_all_threads(since, &mut phases.backward_secs);
        } else {
            self.add_device_time(since, phases);
        }
    }

    /// Divides the time of a graphics device between the passes in the ratio of
    /// [`Self::measure_passes`].
    fn add_device_time(&self, since: Instant, phases: &mut Phases) {
        let secs = since.elapsed().as_secs_f64();
        phases.forward_secs += secs * self.forward_part;
        phases.backward_secs += secs * (1.0 - self.forward_part);
    }
}

/// Quality of a CNN on held-out images.
#[derive(Default)]
struct Metrics {
    tally: EvaluationTotals,
    confusion: Confusion,
    broken: Vec<BrokenImage>,
}

impl Metrics {
    /// Waits for the answer to a share, if it has images, and adds it.
    fn add(&mut self, batches: Option<BatchMetrics>) -> anyhow::Result<()> {
        let Some(batches) = batches else { return Ok(()) };
        let (tally, pairs) = batches.wait()?;
        self.tally += tally;
        for (label, predicted) in pairs {
            self.confusion.add(class(i64::from(label))?, class(predicted)?);
        }
        Ok(())
    }
}

fn class(number: i64) -> anyhow::Result<u32> {
    u32::try_from(number).context("the CNN gave a class below 0")
}

/// Returns the initial state of the optimiser.
fn no_state(training: &Training, numbers: &StateDict) -> Vec<Vec<Tensor<1>>> {
    let slots = training.optimizer.slots();
    numbers.learned.iter().map(|numbers| vec![numbers.zeros_like(); slots]).collect()
}

/// Parameters and optimiser state of a replica as one list.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Parameters, running statistics and optimiser state, in this order.
    pub list: Vec<f32>,
    /// Length of the list without the optimiser state.
    pub numbers: usize,
    /// Steps that the optimiser has taken.
    pub steps: u64,
}

impl Snapshot {
    /// Returns the number of averaged numbers at the start of the list; the optimiser's state comes
    /// last.
    pub fn averaged(&self, is_state_averaged: bool) -> usize {
        if is_state_averaged { self.list.len() } else { self.numbers }
    }
}

fn append<'a>(list: &mut Vec<f32>, tensors: impl Iterator<Item = &'a Tensor<1>>) -> anyhow::Result<()> {
    for tensor in tensors {
        let data = tensor.clone().try_into_data().map_err(failure).context("numbers could not be read")?;
        list.extend(data.as_slice::<f32>().ok().context("the numbers of the CNN are not 32-bit floats")?);
    }
    Ok(())
}

/// Takes the next tensor of a list, with the length of `like`.
fn next(rest: &mut &[f32], like: &Tensor<1>, device: &Device) -> anyhow::Result<Tensor<1>> {
    let count = like.dims()[0];
    let (numbers, after) =
        rest.split_at_checked(count).context("the numbers are those of another CNN or optimiser: too few")?;
    *rest = after;
    Ok(Tensor::from_data(TensorData::new(numbers.to_vec(), [count]), device))
}
