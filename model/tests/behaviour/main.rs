//! What the predictor promises, through its public names alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what serves tests may panic as tests do")]

mod advise;
mod bad_input;
mod capacity;
mod decision;
mod ensemble;
mod grid;
mod interval;
mod laws;
mod metric;
mod rivals;
mod scenarios;
mod scikit_learn;
mod serialisation;
mod splits;
mod spread;
