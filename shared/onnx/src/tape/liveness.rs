//! The bytes of a step that are alive at the same time.

use super::rule::{Format, Gradient, Keeps, Place};
use super::{Entry, Operand, Tape, TensorId};

/// Number formats of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepFormat {
    /// 32 bits.
    Full,
    /// Automatic mixed precision: products in 16 bits, normalisations of an image in 32.
    Mixed,
}

/// Batches whose peaks give the line of [`PeakBytes`].
const BATCHES: [u64; 2] = [16, 128];

/// Bytes alive at the peak of a step, by its batch. Weights, momenta and the gradients of the step
/// before are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeakBytes {
    /// Without images: converted weights, and gradients that exist at the peak.
    pub fixed: u64,
    /// For each image.
    pub per_image: u64,
}

/// Peaks of a step: in 32 bits, and in automatic mixed precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepBytes {
    /// Of inference.
    pub inference: [PeakBytes; 2],
    /// Of training.
    pub training: [PeakBytes; 2],
}

impl Tape {
    /// Returns the peaks of a step.
    pub fn step_bytes(&self) -> StepBytes {
        let peaks =
            |is_training| [StepFormat::Full, StepFormat::Mixed].map(|format| self.peak_line(format, is_training));
        StepBytes { inference: peaks(false), training: peaks(true) }
    }

    fn peak_line(&self, format: StepFormat, is_training: bool) -> PeakBytes {
        let [few, many] = BATCHES;
        let [less, more] = [few, many].map(|batch| self.peak_bytes(format, is_training, batch));
        let per_image = more.saturating_sub(less) / (many - few);
        PeakBytes { fixed: less.saturating_sub(few.saturating_mul(per_image)), per_image }
    }

    /// Returns the peak of the bytes alive for a batch. A tensor lives until the last operation
    /// that reads it, or until the backward pass of the last one that keeps it.
    pub(super) fn peak_bytes(&self, format: StepFormat, is_training: bool, batch: u64) -> u64 {
        let mut pass = Pass::new(self, format, is_training, batch);
        for entry in &self.entries {
            pass.forward(entry);
        }
        if is_training {
            pass.start_backward();
            for (place, entry) in self.entries.iter().enumerate().rev() {
                pass.backward(place, entry);
            }
        }
        pass.storages.peak
    }
}

/// Index of a storage.
type StorageId = usize;

/// Storages with the number of their holders.
#[derive(Default)]
struct Storages {
    /// Bytes and holders.
    all: Vec<(u64, u32)>,
    now: u64,
    peak: u64,
}

impl Storages {
    /// Adds a storage with one holder.
    fn add(&mut self, bytes: u64) -> StorageId {
        self.all.push((bytes, 1));
        self.now = self.now.saturating_add(bytes);
        self.peak = self.peak.max(self.now);
        self.all.len() - 1
    }

    fn hold(&mut self, storage: StorageId) -> StorageId {
        self.all[storage].1 += 1;
        storage
    }

    fn release(&mut self, storage: StorageId) {
        let (bytes, holders) = &mut self.all[storage];
        *holders -= 1;
        if *holders == 0 {
            self.now = self.now.saturating_sub(*bytes);
        }
    }

    fn is_held_once(&self, storage: StorageId) -> bool {
        self.all[storage].1 == 1
    }
}

/// A tensor of the tape while a step runs.
#[derive(Clone, Copy, Default)]
struct State {
    storage: StorageId,
    is_half: bool,
    has_gradient: bool,
    /// Operations that will still read it.
    readers: u32,
    gradient: Option<StorageId>,
}

/// A step that runs.
struct Pass<'a> {
    tape: &'a Tape,
    format: StepFormat,
    is_training: bool,
    batch: u64,
    storages: Storages,
    tensors: Vec<State>,
    /// Storages that each operation keeps.
    kept: Vec<Vec<StorageId>>,
    /// Operands of each operation that were converted.
    converted: Vec<Vec<bool>>,
}

impl<'a> Pass<'a> {
    fn new(tape: &'a Tape, format: StepFormat, is_training: bool, batch: u64) -> Self {
        let mut tensors = vec![State::default(); tape.numbers.len()];
        for tensor in tape.entries.iter().flat_map(|entry| &entry.operands).filter_map(|operand| operand.tensor()) {
            tensors[tensor].readers += 1;
        }
        let (kept, converted, storages) = (Vec::new(), Vec::new(), Storages::default());
        let mut pass = Self { tape, format, is_training, batch, storages, tensors, kept, converted };
        // The program holds its images, in 32 bits.
        pass.tensors[0].storage = pass.storages.add(pass.bytes(0, false));
        pass.tensors[0].readers += 1;
        pass
    }

    fn numbers(&self, tensor: TensorId) -> u64 {
        self.tape.numbers[tensor].saturating_mul(self.batch)
    }

    fn bytes(&self, tensor: TensorId, is_half: bool) -> u64 {
        self.numbers(tensor).saturating_mul(if is_half { 2 } else { 4 })
    }

    /// Returns whether the result of an operation has 16 bits.
    fn is_half(&self, entry: &Entry) -> bool {
        let is_wide = |operand: &Operand| match operand {
            Operand::Tensor(tensor) | Operand::Permuted(tensor) => !self.tensors[*tensor].is_half,
            // Batch normalisation has 32-bit weights and 16-bit results.
            Operand::Parameter(_) => entry.rule.keeps != Keeps::Operands,
            Operand::Constant => false,
        };
        match (self.format, entry.rule.format) {
            (StepFormat::Full, _) | (_, Format::Full) => false,
            (_, Format::Half) => true,
            (_, Format::Widest) => !entry.operands.iter().any(is_wide),
        }
    }

    /// Whether an operation converts or copies an operand before it reads it.
    fn is_converted(&self, entry: &Entry, operand: Operand, is_half: bool) -> bool {
        let copies = entry.rule.copies_permuted && matches!(operand, Operand::Permuted(_));
        let converts = entry.rule.format != Format::Widest;
        copies || operand.tensor().is_some_and(|tensor| converts && self.tensors[tensor].is_half != is_half)
    }

    fn forward(&mut self, entry: &Entry) {
        let is_half = self.is_half(entry);
        let mut read = Vec::with_capacity(entry.operands.len());
        let mut converted = Vec::with_capacity(entry.operands.len());
        if is_half && entry.rule.format == Format::Half {
            // The copies of the weights are kept until the step ends.
            self.storages.add(entry.parameters().saturating_mul(2));
        }
        for operand in &entry.operands {
            let is_converted = self.is_converted(entry, *operand, is_half);
            read.push(operand.tensor().map(|tensor| match is_converted {
                true => self.storages.add(self.bytes(tensor, is_half)),
                false => self.storages.hold(self.tensors[tensor].storage),
            }));
            converted.push(is_converted);
        }
        let has_gradient = |operand: &Operand| match operand {
            Operand::Tensor(tensor) | Operand::Permuted(tensor) => self.tensors[*tensor].has_gradient,
            Operand::Parameter(_) => true,
            Operand::Constant => false,
        };
        let with_gradient: Vec<bool> = entry.operands.iter().map(has_gradient).collect();
        let storage = self.result(entry, &read, is_half);
        let state = &mut self.tensors[entry.output];
        *state = State { storage, is_half, has_gradient: with_gradient.contains(&true), ..*state };
        let keeps = self.is_training && state.has_gradient;
        let kept = if keeps { self.keep(entry, &read, &with_gradient) } else { Vec::new() };
        self.kept.push(kept);
        self.converted.push(converted);
        read.into_iter().flatten().for_each(|storage| self.storages.release(storage));
        for tensor in entry.operands.iter().filter_map(|operand| operand.tensor()) {
            self.tensors[tensor].readers -= 1;
            if self.tensors[tensor].readers == 0 {
                self.storages.release(self.tensors[tensor].storage);
            }
        }
    }

    /// Returns the storage of a result.
    fn result(&mut self, entry: &Entry, read: &[Option<StorageId>], is_half: bool) -> StorageId {
        let first = entry.operands.first().and_then(|operand| operand.tensor()).zip(read.first().copied().flatten());
        match (entry.rule.result, first) {
            (Place::View, Some((_, storage))) => self.storages.hold(storage),
            (Place::Operand, Some((tensor, storage))) if self.is_free(tensor, storage, is_half) => {
                self.storages.hold(storage)
            }
            _ => self.storages.add(self.bytes(entry.output, is_half)),
        }
    }

    /// Whether an operation may overwrite an operand: the tensor and the operation alone hold it.
    fn is_free(&self, tensor: TensorId, storage: StorageId, is_half: bool) -> bool {
        let state = self.tensors[tensor];
        state.readers == 1 && state.storage == storage && state.is_half == is_half && self.storages.all[storage].1 == 2
    }

    /// Keeps what the backward pass of an operation needs.
    fn keep(&mut self, entry: &Entry, read: &[Option<StorageId>], with_gradient: &[bool]) -> Vec<StorageId> {
        let is_factor = |place: usize| with_gradient.iter().enumerate().any(|(other, has)| other != place && *has);
        let is_kept = |place: usize| match entry.rule.keeps {
            Keeps::Operands | Keeps::Both => true,
            Keeps::Factors => is_factor(place),
            Keeps::Nothing | Keeps::Result => false,
        };
        let operands = read.iter().enumerate().filter(|(place, _)| is_kept(*place));
        let mut kept: Vec<StorageId> = operands.filter_map(|(_, storage)| *storage).collect();
        if matches!(entry.rule.keeps, Keeps::Result | Keeps::Both) {
            kept.push(self.tensors[entry.output].storage);
        }
        kept.iter().for_each(|storage| _ = self.storages.hold(*storage));
        if entry.rule.kept_bytes > 0 {
            kept.push(self.storages.add(self.numbers(entry.output).saturating_mul(entry.rule.kept_bytes)));
        }
        kept
    }

    /// Adds the gradient of the network's result.
    fn start_backward(&mut self) {
        let Some(entry) = self.tape.entries.last() else { return };
        let gradient = self.storages.add(self.bytes(entry.output, self.tensors[entry.output].is_half));
        self.tensors[entry.output].gradient = Some(gradient);
    }

    fn backward(&mut self, place: usize, entry: &Entry) {
        if let Some(gradient) = self.tensors[entry.output].gradient.take() {
            for (operand, is_converted) in entry.operands.iter().zip(self.converted[place].clone()) {
                if let Some(tensor) = operand.tensor().filter(|tensor| self.tensors[*tensor].has_gradient) {
                    self.add_gradient(entry, tensor, gradient, is_converted);
                }
            }
            self.add_weight_gradients(entry);
            self.storages.release(gradient);
        }
        let kept = std::mem::take(&mut self.kept[place]);
        kept.into_iter().for_each(|storage| self.storages.release(storage));
    }

    /// Adds the gradients of an operation's weights, which are kept until the step ends.
    fn add_weight_gradients(&mut self, entry: &Entry) {
        let is_half = entry.rule.format == Format::Half && self.format == StepFormat::Mixed;
        let before = is_half.then(|| self.storages.add(entry.parameters().saturating_mul(2)));
        self.storages.add(entry.parameters().saturating_mul(4));
        before.into_iter().for_each(|storage| self.storages.release(storage));
    }

    /// Adds the gradient that an operation gives to one of its operands.
    fn add_gradient(&mut self, entry: &Entry, tensor: TensorId, gradient: StorageId, is_converted: bool) {
        let State { is_half, gradient: known, .. } = self.tensors[tensor];
        if entry.rule.gradient == Gradient::Part && known.is_some() {
            return;
        }
        let own = match entry.rule.gradient {
            Gradient::Passed if !is_converted => self.storages.hold(gradient),
            _ => self.new_gradient(entry, tensor, is_converted),
        };
        let total = match known {
            None => own,
            Some(known) => {
                // A sum is computed in place where no other gradient shares the storage.
                let sum = match self.storages.is_held_once(known) {
                    true => self.storages.hold(known),
                    false => self.storages.add(self.bytes(tensor, is_half)),
                };
                self.storages.release(known);
                self.storages.release(own);
                sum
            }
        };
        self.tensors[tensor].gradient = Some(total);
    }

    /// Computes the gradient of an operand: before the sum over the axes along which it was
    /// repeated, and in the format of the operation.
    fn new_gradient(&mut self, entry: &Entry, tensor: TensorId, is_converted: bool) -> StorageId {
        let is_half = self.tensors[tensor].is_half;
        let is_repeated =
            entry.rule.keeps == Keeps::Factors && self.tape.numbers[tensor] < self.tape.numbers[entry.output];
        let result_is_half = self.tensors[entry.output].is_half;
        let before = match (is_repeated, is_converted) {
            (true, _) => Some(self.bytes(entry.output, result_is_half)),
            (false, true) => Some(self.bytes(tensor, result_is_half)),
            (false, false) => None,
        };
        let before = before.map(|bytes| self.storages.add(bytes));
        let own = self.storages.add(self.bytes(tensor, is_half));
        before.into_iter().for_each(|storage| self.storages.release(storage));
        own
    }
}
