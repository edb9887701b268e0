//! The mathematics of Foreglow: from a few short runs to the completion time, and the money, of every configuration.
//!
//! [`Predictor::fit`] learns from [`Observation`](foreglow_shared::Observation)s that share one
//! [`Context`](foreglow_shared::Context); [`Predictor::predict`] answers for any [`Setting`]; [`decide`] weighs every
//! configuration of a [`Question`](foreglow_shared::Question); [`scenario_table`] says how accurate the published
//! scenarios are on what was measured.
//!
//! Source, where no other is named: Myung and Yu, "Performance Prediction for Convolutional Neural Network on Spark
//! Cluster", Electronics 9(9):1340, 2020 ("the paper" below).
//!
//! This crate must never read a file, a clock or a source of randomness, and it calculates with `+ − × ÷ √` alone, which
//! IEEE 754 fixes to the last digit: the same observations, in any order, give the same bytes natively and in the
//! browser.

mod capacity;
mod decision;
mod error;
mod interval;
mod learner;
mod metric;
mod prediction;
mod predictor;
mod published;
mod range;
mod setting;

pub use crate::decision::{Candidate, Decision, decide, pareto_front};
pub use crate::error::{DecideError, FitError, MetricError};
pub use crate::learner::{Activation, Cancelled, Grid, MaxFeatures, Solver, Technique};
pub use crate::metric::mape;
pub use crate::prediction::{Interval, Prediction, Warning};
pub use crate::predictor::Predictor;
pub use crate::published::{Choice, Place, Scenario, ScenarioRow, scenario_row, scenario_table};
pub use crate::setting::{Feature, Setting};
