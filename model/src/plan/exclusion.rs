//! Why a configuration cannot be recommended.

use std::fmt;

use foreglow_shared::{IncompleteOutcome, IncompleteRun, Job, format_count};
use serde::{Deserialize, Serialize};

use crate::Setting;
use crate::memory::{Footprint, is_out_of_memory};

/// Why a configuration must not be recommended. `Display` gives a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Exclusion {
    /// A run that needed no more memory ran out of memory.
    OutOfMemory {
        /// Cores per executor of that run.
        cores_per_executor: u32,
        /// Memory of each of its executors, MiB.
        memory_per_executor_mib: u32,
        /// Its partition size, images.
        partition_size: u32,
    },
    /// The peak memory of other runs suggests that executors need more memory than they have.
    ExpectedOutOfMemory {
        /// Expected peak memory of an executor, MiB.
        peak_memory_mib: u32,
        /// Memory of an executor, MiB.
        memory_per_executor_mib: u32,
    },
    /// A run that needed no more memory of the GPU ran out of it.
    OutOfAcceleratorMemory {
        /// Cores per executor of that run.
        cores_per_executor: u32,
        /// Its partition size, images.
        partition_size: u32,
    },
    /// No run shows whether batches and partitions of these sizes fit into memory.
    UnknownMemory {
        /// Partition size, images.
        partition_size: u32,
        /// Images per forward pass.
        batch_size: u32,
    },
    /// The executors do not fit the machines, or their time is unknown.
    Impossible {
        /// One sentence that says why, and what to do.
        reason: String,
    },
}

impl Exclusion {
    /// Returns why executors with this memory and partition size run out of memory, as the runs of
    /// the job show; `None` if no run suggests it.
    pub fn of(job: &Job, setting: Setting, memory_per_executor_mib: u32, partition_size: u32) -> Option<Self> {
        // Avoids evaluating the peaks for every one of a million configurations.
        if job.peaks.is_empty() && !job.incomplete.iter().any(is_out_of_memory) {
            return None;
        }
        let Setting { executors, cores_per_executor, sampling_rate, .. } = setting;
        let footprint =
            Footprint { executors, cores_per_executor, memory_per_executor_mib, partition_size, sampling_rate };
        if let Some(run) = footprint.goes_over_memory(job) {
            let IncompleteRun { cores_per_executor, memory_per_executor_mib, partition_size, .. } = run;
            return Some(match run.outcome {
                IncompleteOutcome::OutOfAcceleratorMemory => {
                    Self::OutOfAcceleratorMemory { cores_per_executor, partition_size }
                }
                _ => Self::OutOfMemory { cores_per_executor, memory_per_executor_mib, partition_size },
            });
        }
        let peak_memory_mib = footprint.expected_over_memory(job)?;
        Some(Self::ExpectedOutOfMemory { peak_memory_mib, memory_per_executor_mib })
    }

    /// Whether the configuration runs out of memory, or may do so.
    pub fn is_about_memory(&self) -> bool {
        !matches!(self, Self::Impossible { .. })
    }
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = |cores_per_executor: u32| format_count(cores_per_executor as usize, "core");
        match self {
            Self::OutOfMemory { cores_per_executor, memory_per_executor_mib, partition_size } => write!(
                f,
                "a run with {}, {memory_per_executor_mib} MiB for each executor and partitions of {partition_size} \
                 images ran out of memory; give executors more memory or fewer cores",
                cores(*cores_per_executor)
            ),
            Self::OutOfAcceleratorMemory { cores_per_executor, partition_size } => write!(
                f,
                "a run with {} and partitions of {partition_size} images ran out of the GPU's memory; use a smaller \
                 batch, fewer cores or a GPU with more memory",
                cores(*cores_per_executor)
            ),
            Self::ExpectedOutOfMemory { peak_memory_mib, memory_per_executor_mib } => write!(
                f,
                "each executor is expected to need {peak_memory_mib} MiB and has {memory_per_executor_mib}, according \
                 to the peak memory of other runs; give executors more memory or fewer cores"
            ),
            Self::UnknownMemory { partition_size, batch_size } => write!(
                f,
                "no run with partitions of {partition_size} images or more and as many cores completed there with a batch \
                 of {batch_size} or more, so whether they fit into memory is not known; measure one"
            ),
            Self::Impossible { reason } => f.write_str(reason),
        }
    }
}
