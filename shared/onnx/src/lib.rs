//! Reads ONNX files: decodes and validates the graph, infers the shape of every value, folds
//! constants, and computes the cost of each layer.
//!
//! Weights are not read with the graph: each is stored as a range of the file, so that the costs of
//! a network of any size need only a few kilobytes of the file. The source is any `Read + Seek`,
//! which lets the crate work in a browser. `foreglow-cnn` runs the plan on Burn's tensors.
//!
//! The wire format of protocol buffers has four kinds of field, which `wire` reads in about a
//! hundred lines. A generated decoder would copy every weight into memory first.

mod compose;
mod cost;
mod decode;
mod error;
#[cfg(test)]
mod export_tests;
mod fold;
mod known;
mod network;
mod node;
mod operation;
mod plan;
mod random;
mod read;
mod resample;
mod rules;
mod scan;
mod tape;
#[cfg(test)]
mod tests;
mod weight;
mod wire;

pub use self::cost::{Convolution, Costs, LayerCost, useful_taps};
pub use self::error::Error;
pub use self::known::{Known, Numbers};
pub use self::network::{Dimension, Network};
pub use self::operation::{
    Binary, Coordinates, Operation, PadMode, Reduction, ResizeMode, Rounding, SliceRange, Unary, Window,
};
pub use self::plan::{Argument, Plan, Step, ValueId, WeightId};
pub use self::random::Draw;
pub use self::resample::{Filter, Resampling};
pub use self::scan::CumSum;
pub use self::tape::{Operand, PeakBytes, Rule, StepBytes, Tape, TensorId};
pub use self::weight::{Weight, WeightRange};

/// Oldest and newest supported operator set.
pub const OPSETS: std::ops::RangeInclusive<i64> = 7..=24;

/// Limit on the axes of a tensor.
pub const MOST_AXES: usize = 6;
