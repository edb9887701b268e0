//! Errors of ONNX files, one sentence each.

use crate::OPSETS;

/// Reason why a network cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file ends inside a field.
    #[error("the file is truncated: a field needs more bytes than it has")]
    Truncated,
    /// The bytes are not those of a model.
    #[error("this is not an ONNX file: {0}")]
    NotOnnx(String),
    /// The system could not read the file.
    #[error("the file could not be read: {0}")]
    Read(#[from] std::io::Error),
    /// The operator set is not supported.
    #[error("the file uses operator set {0}, and this version reads {first} to {last}; export it again with one of \
        these", first = OPSETS.start(), last = OPSETS.end())]
    Opset(i64),
    /// Operators that are not supported, each with its node.
    #[error("the network needs operators that are not supported: {operators}; {advice}")]
    Operators {
        /// The operators, separated by commas.
        operators: String,
        /// What to change at the export.
        advice: &'static str,
    },
    /// The network does not take one batch of images.
    #[error("{0}")]
    Input(String),
    /// A node is invalid or uses a variant that is not supported.
    #[error("the node {node} ({operator}): {why}")]
    Node {
        /// Name of the node.
        node: String,
        /// Its operator.
        operator: String,
        /// Reason.
        why: String,
    },
    /// A weight is invalid.
    #[error("the weight {name}: {why}")]
    Weight {
        /// Name of the weight.
        name: String,
        /// Reason.
        why: String,
    },
}
