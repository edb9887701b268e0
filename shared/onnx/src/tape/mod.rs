//! The tape of a network: its operations with the tensors that a framework keeps for the backward
//! pass, as PyTorch's autograd does. [`Tape::step_bytes`] counts the bytes that are alive.

mod liveness;
mod record;
mod rule;
#[cfg(test)]
mod tests;

pub use self::liveness::{PeakBytes, StepBytes};
pub use self::rule::Rule;

/// Index of a tensor on a tape.
pub type TensorId = usize;

impl Entry {
    /// Returns the number of learned numbers among the operands.
    fn parameters(&self) -> u64 {
        let numbers = self.operands.iter().map(|operand| match operand {
            Operand::Parameter(numbers) => *numbers,
            _ => 0,
        });
        numbers.fold(0, u64::saturating_add)
    }
}

/// Operations in the order in which they run, for one image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tape {
    /// Numbers of each tensor; 0 for those that depend on weights alone. The first are the images.
    numbers: Vec<u64>,
    entries: Vec<Entry>,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    rule: Rule,
    operands: Vec<Operand>,
    output: TensorId,
}

/// An operand of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A tensor of the tape.
    Tensor(TensorId),
    /// A tensor whose axes are in another order than its numbers, so that some operations copy it.
    Permuted(TensorId),
    /// This many learned numbers, which have 32 bits.
    Parameter(u64),
    /// Numbers that do not change and that a result does not take its format from.
    Constant,
}

impl Operand {
    fn tensor(self) -> Option<TensorId> {
        match self {
            Self::Tensor(tensor) | Self::Permuted(tensor) => Some(tensor),
            Self::Parameter(_) | Self::Constant => None,
        }
    }
}

impl Tape {
    /// Starts with images of this many numbers.
    pub fn new(image: u64) -> Self {
        Self { numbers: vec![image], entries: Vec::new() }
    }

    /// Adds an operation and returns its result of this many numbers.
    pub fn push(&mut self, rule: Rule, operands: Vec<Operand>, numbers: u64) -> TensorId {
        let output = self.numbers.len();
        self.numbers.push(numbers);
        self.entries.push(Entry { rule, operands, output });
        output
    }
}
