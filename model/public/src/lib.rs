//! Speeds of networks on GPUs from public measurements of the runs of others.
//!
//! One linear model with random effects: ln(images/s) of a network by the costs of its graph, on a
//! GPU by its data sheet, with a number format, software, GPUs and machines. [`PublicModel::fit`]
//! solves it once; [`PublicModel::speeds`] predicts questions, given numbers of the user's own
//! ([`KnownSpeed`]), which share the effects of the user's software with the questions.

mod aliases;
mod built_in;
mod columns;
mod effects;
mod fit;
mod gpu;
mod learning;
mod measurement;
mod moments;
mod packed;
mod speed;
mod step_memory;
mod table;
mod variances;

pub use crate::built_in::BuiltInNetwork;
pub use crate::effects::Case;
pub use crate::fit::{PublicModel, learn, years};
pub use crate::gpu::{Gpu, Gpus, short_name, similar_names};
pub use crate::measurement::{Conditions, GraphSums, Measurement, NetworkCosts, Precision, SoftwareKind, Source};
pub use crate::speed::{KnownSpeed, Speed};
pub use crate::step_memory::{MemorySource, StepMemory};
pub use crate::table::Measurements;
pub use crate::variances::Variances;

/// Why a table or a question cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublicError {
    /// A table has another form.
    #[error("{0}")]
    Table(String),
    /// A row names something that no table has.
    #[error("{0:?} is in no table")]
    Unknown(String),
    /// The GPU cannot compute in the number format.
    #[error("{gpu} has no units for {format}; choose another number format")]
    NoFormat {
        /// The GPU.
        gpu: String,
        /// The number format.
        format: &'static str,
    },
    /// No data sheet has this name.
    #[error("no GPU is called {name:?}; similar names: {}", similar.join(", "))]
    UnknownGpu {
        /// The name.
        name: String,
        /// Similar names.
        similar: Vec<String>,
    },
}

/// Returns the square, with the same digits on every machine.
pub(crate) fn squared(number: f64) -> f64 {
    number * number
}
