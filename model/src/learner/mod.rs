//! The techniques that learn a number from features.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A technique with its hyper-parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Technique {
    /// Linear regression with the L1 penalty `alpha`.
    Lasso {
        /// Weight of the penalty.
        alpha: f64,
    },
    /// Linear regression with the L2 penalty `alpha`.
    Ridge {
        /// Weight of the penalty.
        alpha: f64,
    },
}

impl fmt::Display for Technique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, alpha) = match self {
            Self::Lasso { alpha } => ("Lasso", *alpha),
            Self::Ridge { alpha } => ("Ridge", *alpha),
        };
        if alpha < 1e-3 { write!(f, "{name} α={alpha:e}") } else { write!(f, "{name} α={alpha}") }
    }
}
