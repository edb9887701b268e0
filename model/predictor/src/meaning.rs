//! Meaning of a numeric column for a job, if known.

use serde::{Deserialize, Serialize};

/// Meaning of a numeric column, which determines the scaling laws that the predictor considers.
///
/// A column without a meaning stays flexible: the time may be any smooth function of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// Amount of work: images, a sampling rate, iterations. The time is affine in it and never
    /// decreases.
    Work,
    /// Workers that share the work: machines, executors, cores. Parallel work is divided among
    /// them, serial work is constant, and communication grows with them.
    Workers,
    /// Cores or threads of one machine. They are workers whose last ones may give no speed-up,
    /// because they share a physical core.
    Cores,
    /// Workers that hold replicas of a network and average their gradients at each step. The cost
    /// of that starts with the second worker and saturates.
    Replicas,
}

impl Meaning {
    /// Whether the column counts workers of any kind.
    pub(crate) fn is_workers(self) -> bool {
        matches!(self, Self::Workers | Self::Cores | Self::Replicas)
    }
}
