//! Whether a run exceeded the memory of an executor or of a GPU.

use serde::{Deserialize, Serialize};

use crate::{Context, Outcome, Sample};

/// The memory that a run exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExceededMemory {
    /// That of an executor.
    Executor,
    /// That of the accelerator.
    Accelerator,
}

/// Phrases about a GPU's memory in the reasons of samples without the field: samples of earlier
/// versions, and those of Spark, whose driver only forwards the executor's message.
const REASONS: [&str; 2] = ["the memory of the GPU", "the device could not allocate a buffer"];
/// GPUs of one product report the same memory up to this factor, because drivers reserve different
/// shares of it. Larger differences mean different products.
const SAME_PRODUCT: f64 = 1.1;

impl Sample {
    /// Whether the run ended because its accelerator had too little memory.
    pub fn is_out_of_accelerator_memory(&self) -> bool {
        if self.outcome != Outcome::OutOfMemory || self.configuration.accelerator.is_none() {
            return false;
        }
        match self.exceeded_memory {
            Some(whose) => whose == ExceededMemory::Accelerator,
            None => self.reason.as_ref().is_some_and(|reason| REASONS.iter().any(|words| reason.contains(words))),
        }
    }
}

impl Context {
    /// Returns the least memory of an accelerator of the machine, MiB; `None` if it is unknown.
    fn accelerator_memory_mib(&self) -> Option<u64> {
        self.host.accelerators.iter().map(|accelerator| accelerator.memory_mib).min().flatten()
    }

    /// Whether an accelerator of this context has at most as much memory as one of the other
    /// context, judged by the sizes if both are known, else by the names. False if unknown.
    pub fn has_no_more_accelerator_memory_than(&self, other: &Self) -> bool {
        let is_same_name = self.accelerator.is_some() && self.accelerator == other.accelerator;
        match (self.accelerator_memory_mib(), other.accelerator_memory_mib()) {
            (Some(own), Some(others)) => own as f64 <= others as f64 * if is_same_name { SAME_PRODUCT } else { 1.0 },
            _ => is_same_name,
        }
    }
}
