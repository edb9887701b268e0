//! Techniques and their hyper-parameters.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A technique with its hyper-parameters.
///
/// | technique | definition |
/// |---|---|
/// | Lasso | minimises ‖y − Xw − b‖² / 2n + α‖w‖₁ |
/// | Ridge | minimises ‖y − Xw − b‖² + α‖w‖² |
/// | random forest | mean of regression trees, each grown on a bootstrap sample of the rows |
/// | perceptron | one hidden layer and a linear output, minimises ‖y − ŷ‖² / 2n + 10⁻⁴‖w‖² / 2n |
///
/// The definitions are those of scikit-learn (`Lasso`, `Ridge`, `RandomForestRegressor`,
/// `MLPRegressor`). The hyper-parameters are the paper's grid (Tables 10 to 12), and scikit-learn's
/// defaults where the paper names none.
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
        /// Number of trees.
        trees: u32,
        /// Number of features considered at a split.
        max_features: MaxFeatures,
        /// Maximum depth.
        max_depth: u32,
    },
    /// Multi-layer perceptron.
    Perceptron {
        /// Optimiser.
        solver: Solver,
        /// Activation of the hidden layer.
        activation: Activation,
        /// Maximum number of passes over the rows.
        max_iterations: u32,
        /// Initial step size; L-BFGS ignores it.
        learning_rate: f64,
        /// Number of units of the hidden layer.
        hidden_units: u32,
    },
}

/// Number of features considered at a split of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxFeatures {
    /// All features (the paper's "auto").
    All,
    /// The square root of the number of features.
    Sqrt,
    /// The binary logarithm of the number of features.
    Log2,
}

/// Optimiser of a perceptron.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Solver {
    /// Limited-memory BFGS.
    Lbfgs,
    /// Adam.
    Adam,
    /// Stochastic gradient descent with Nesterov momentum 0.9.
    Sgd,
}

/// Activation function of the hidden layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// 1 / (1 + e⁻ᶻ).
    Sigmoid,
    /// max(0, z).
    Relu,
}

impl Technique {
    /// Whether the fit depends on random numbers.
    pub fn is_seeded(self) -> bool {
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
