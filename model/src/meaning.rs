//! What a numeric column means to a job, where that is known.

use serde::{Deserialize, Serialize};

/// What a numeric column means: it decides which scaling laws the predictor considers for it.
///
/// A column without a meaning stays flexible: the time may be any smooth function of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// Amount of work: images, a sampling rate, iterations. The time is affine in it and never
    /// falls.
    Work,
    /// Workers that share the work: machines, executors, cores. What is parallel is divided among
    /// them; what is serial stays, and communication grows with them.
    Workers,
}
