//! A technique with its hyper-parameters.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A technique with its hyper-parameters.
///
/// | technique | what it is |
/// |---|---|
/// | Lasso | minimises ‖y − Xw − b‖² / 2n + α‖w‖₁ |
/// | Ridge | minimises ‖y − Xw − b‖² + α‖w‖² |
/// | random forest | mean of regression trees, each grown on a bootstrap sample of the rows |
/// | perceptron | one hidden layer and a linear output, ‖y − ŷ‖² / 2n + 10⁻⁴‖w‖² / 2n made small by a solver |
///
/// These are scikit-learn's (`Lasso`, `Ridge`, `RandomForestRegressor`, `MLPRegressor`); the hyper-parameters come from the
/// paper's grid (Tables 10 to 12), and what the paper leaves open is scikit-learn's default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
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
    /// Random forest.
    RandomForest {
        /// Trees.
        trees: u32,
        /// Features that a split chooses from.
        max_features: MaxFeatures,
        /// Splits at most from the root to a leaf.
        max_depth: u32,
    },
    /// Multi-layer perceptron.
    Perceptron {
        /// What trains it.
        solver: Solver,
        /// Activation of the hidden layer.
        activation: Activation,
        /// Passes over the rows at most.
        max_iterations: u32,
        /// First step size; L-BFGS has none and ignores it.
        learning_rate: f64,
        /// Units of the hidden layer.
        hidden_units: u32,
    },
}

/// How many of the features a split of a tree chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxFeatures {
    /// All (the paper's "auto").
    All,
    /// The square root of their number.
    Sqrt,
    /// The logarithm of their number to base 2.
    Log2,
}

/// What trains a perceptron.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Solver {
    /// Limited-memory BFGS.
    Lbfgs,
    /// Adam.
    Adam,
    /// Gradient descent with Nesterov's momentum 0.9.
    Sgd,
}

/// Activation of a hidden layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// 1 / (1 + e⁻ᶻ).
    Sigmoid,
    /// max(0, z).
    Relu,
}

impl Technique {
    /// Whether what it learns depends on random numbers.
    pub(crate) fn is_seeded(self) -> bool {
        matches!(self, Self::RandomForest { .. } | Self::Perceptron { .. })
    }
}

impl fmt::Display for Technique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lasso { alpha } => penalised(f, "Lasso", *alpha),
            Self::Ridge { alpha } => penalised(f, "Ridge", *alpha),
            Self::RandomForest { trees, max_features, max_depth } => {
                let features = match max_features {
                    MaxFeatures::All => "all",
                    MaxFeatures::Sqrt => "sqrt",
                    MaxFeatures::Log2 => "log2",
                };
                write!(f, "random forest of {trees} trees, depth {max_depth}, {features} features")
            }
            Self::Perceptron { solver, activation, max_iterations, learning_rate, hidden_units } => {
                let solver = match solver {
                    Solver::Lbfgs => "L-BFGS".to_owned(),
                    Solver::Adam => format!("Adam {learning_rate}"),
                    Solver::Sgd => format!("SGD {learning_rate}"),
                };
                let activation = match activation {
                    Activation::Sigmoid => "sigmoid",
                    Activation::Relu => "ReLU",
                };
                write!(f, "perceptron of {hidden_units} {activation} units, {solver}, {max_iterations} iterations")
            }
        }
    }
}

fn penalised(f: &mut fmt::Formatter<'_>, name: &str, alpha: f64) -> fmt::Result {
    if alpha < 1e-3 { write!(f, "{name} α={alpha:e}") } else { write!(f, "{name} α={alpha}") }
}
