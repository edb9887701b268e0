//! Exchanged data round-trips, or is rejected with a helpful message.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what serves tests may panic as tests do")]

mod accuracies;
mod contexts;
mod foreign;
mod formats;
mod kept_plans;
mod links;
mod machines;
mod prices;
mod sample_tables;
mod samples;
mod tables;
mod words;
