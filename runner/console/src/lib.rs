//! Shared parts of the commands: arguments (`grammar`, `question`, `split`, `place`, `catalog`,
//! `compare`, `prices`, `candidates`, `link_suffix`), the selection of samples (`ask`), progress,
//! and answers in every format (`answer`).
//!
//! This crate runs no CNN, so answers are built and tested without Burn.

pub mod answer;
pub mod ask;
pub mod calibration;
pub mod candidates;
pub mod catalog;
pub mod compare;
pub mod evaluation;
pub mod event_logs;
pub mod grammar;
pub mod imported;
pub mod kept_plans;
pub mod link_suffix;
pub mod outliers;
pub mod output;
pub mod place;
pub mod progress;
pub mod question;
pub mod run_labels;
pub mod sample_table;
pub mod samples_file;
pub mod split;
pub mod table;
pub mod training_runs;
