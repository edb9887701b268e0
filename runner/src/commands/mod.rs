//! Commands: each file has the arguments and the implementation of one.

pub mod advise;
pub mod collect;
pub mod completions;
pub mod demo;
pub mod devices;
mod dry_run;
mod engine_args;
pub mod evaluate;
pub mod executor;
mod grid_args;
pub mod import;
pub mod link;
pub mod man;
pub mod models;
pub mod pack;
pub mod plan;
pub mod predict;
pub mod read_test;
pub mod run;
pub mod samples;
pub mod serve;
pub mod simulate;
mod training_args;
pub mod upload;
mod upload_args;
mod workload_args;
