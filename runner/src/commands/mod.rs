//! Commands: each file has the arguments and the implementation of one.

pub mod advise;
pub mod calibrate;
pub mod collect;
pub mod completions;
pub mod demo;
pub mod devices;
pub mod evaluate;
pub mod executor;
pub mod export;
pub mod import;
pub mod link;
pub mod machines;
pub mod man;
pub mod models;
pub mod pack;
pub mod plan;
pub mod predict;
pub mod read_test;
pub mod run;
pub mod samples;
pub mod scaling;
pub mod serve;
pub mod simulate;
pub mod store;
pub mod tokens;
pub mod upload;
