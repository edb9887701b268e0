//! Predicts the completion times of any table of runs.
//!
//! [`TablePredictor`] is the default predictor of a [`Dataset`]: an [`Ensemble`] of regressions, in
//! which names with few runs borrow strength from other names of their category. [`RIVALS`] are
//! other methods for comparison; [`score`] computes the errors of a method. [`replay`] searches a
//! table for the best configuration.
//!
//! Where no other source is named: Myung and Yu, "Performance Prediction for Convolutional Neural
//! Network on Spark Cluster", Electronics 9(9):1340, 2020 ("the paper" below).
//!
//! Like the crate `model`, this crate uses no file, clock or source of randomness, and gives the
//! same bytes natively and in the browser.

mod dataset;
pub mod ensemble;
mod error;
mod evaluation;
mod interval;
mod meaning;
mod permutation;
mod prediction;
mod regression;
mod rival;
mod search;
mod setting;
mod spread;
mod table;
mod tuning;

pub use crate::dataset::{Column, Dataset, DatasetError, Features, Transform, Values};
pub use crate::ensemble::{Ensemble, Explanation, Part};
pub use crate::error::FitError;
pub use crate::evaluation::{
    Answer, Coverage, Held, Outcome, Repeats, Score, Settings, Split, Trial, draw, sample_trial, score,
};
pub use crate::interval::{Interval, format_cost, format_time};
pub use crate::meaning::Meaning;
pub use crate::prediction::{Prediction, Warning};
pub use crate::rival::{RIVALS, Rival, RivalError, Roles, Term, TermError};
pub use crate::search::{Probe, Proposal, Replay, SearchTable, Strategy, replay};
pub use crate::setting::{Feature, Setting};
pub use crate::spread::{HeldOutErrors, Spread, SpreadError};
pub use crate::table::TablePredictor;
pub use crate::tuning::Tuning;
