//! Behaviour of the public API.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what serves tests may panic as tests do")]

mod accuracy;
mod advice;
mod bills;
#[cfg(target_arch = "wasm32")]
wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

mod bad_input;
mod borrowing;
mod capacity;
mod choice;
mod coverage;
mod decision;
mod default_counts;
mod device_prices;
mod ensemble;
mod event_log_times;
mod explain;
mod grid;
mod groups;
mod hard_axes;
mod interval;
mod job_sizes;
mod large_grid;
mod laws;
mod machine_types;
mod many_machine_types;
mod metric;
mod physical_laws;
mod public;
mod public_beside;
mod repeated_runs;
mod rivals;
mod scaling;
mod scenarios;
mod scikit_learn;
mod search;
mod serialisation;
mod simulated;
mod single_context_advice;
mod sizes;
mod splits;
mod spread;
mod two_types;
mod uneven;
