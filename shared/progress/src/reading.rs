//! What one line says about the progress.

use std::borrow::Cow;

/// What one line says about the progress.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    pub source: Source,
    /// Distinguishes the bars and counters of one output.
    pub key: u64,
    /// Units done, in this bar.
    pub step: f64,
    /// The count at which the bar starts, as its first reading shows it.
    pub origin: f64,
    /// Units of the whole bar.
    pub of: Option<f64>,
    pub unit: Cow<'static, str>,
    /// The epoch in which the bar counts.
    pub epoch: Option<Epoch>,
}

impl Reading {
    /// Creates a reading without a total and without an epoch.
    pub fn new(source: Source, key: u64, step: f64, unit: impl Into<Cow<'static, str>>) -> Self {
        Self { source, key, step, origin: 0.0, of: None, unit: unit.into(), epoch: None }
    }
}

/// The kind of a reading, from the weakest evidence of progress to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// A rate without a count.
    Rate,
    /// A count of epochs.
    Epochs,
    /// A bar or a counter of steps.
    Steps,
    /// Evaluations of `:::MLLOG`.
    Evaluations,
    /// Blocks of epochs of `:::MLLOG`.
    Blocks,
    /// Other counts of `:::MLLOG`, the user's pattern, or the own protocol.
    Declared,
}

/// The number of an epoch, as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Epoch {
    pub number: f64,
    /// Epochs of the whole job.
    pub of: Option<f64>,
}

/// Hashes the words that identify a bar (FNV-1a).
pub(crate) fn hash(seed: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes
        .into_iter()
        .fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
