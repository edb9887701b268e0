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
//! This crate must never read a file, a clock or a source of randomness. It calculates with `+ − × ÷ √`, which IEEE 754
//! fixes to the last digit, and takes exponentials and logarithms from `libm`, which is made of these: the same
//! observations, in any order, give the same bytes natively and in the browser.

mod baseline;
mod capacity;
mod curve;
mod dataset;
mod decision;
mod error;
mod hierarchy;
mod interval;
mod learner;
mod line;
mod metric;
mod prediction;
mod predictor;
mod range;
mod row;
mod scaled_time;
mod scenario;
mod selection;
mod setting;

pub use crate::dataset::{Column, Dataset, DatasetError, Features, Transform, Values};
pub use crate::decision::{Candidate, Decision, decide, pareto_front};
pub use crate::error::{DecideError, FitError, MetricError};
pub use crate::learner::Technique;
pub use crate::line::{Line, line_through};
pub use crate::metric::mape;
pub use crate::prediction::{Interval, Prediction, Warning};
pub use crate::predictor::Predictor;
pub use crate::scenario::{Scenario, ScenarioRow, scenario_table};
pub use crate::selection::{Choice, Place};
pub use crate::setting::{Feature, Setting};
