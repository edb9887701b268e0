//! The planner: a page that fits the predictor in the browser and answers what-if questions about a CNN job.
//!
//! The rooms: [`job`] and [`duration`] say what the page holds; `state` holds it in signals, `source` brings it in (a
//! collector, a file, a link), `fit_worker` fits off the main thread, `panel` and `chart` show it. Everything but the
//! showing is plain Rust that is tested natively; Leptos and the browser are there for wasm32 alone.
//!
//! This crate must never compute a prediction, a price or a format of its own: `model` and `shared` do, so that the page
//! and the command line print the same digits. It must never send anything anywhere: it reads from its own origin.

pub mod chart;
pub mod compare;
pub mod duration;
pub mod fit;
pub mod job;
pub mod presets;
pub mod why;

#[cfg(target_arch = "wasm32")]
mod app;
#[cfg(target_arch = "wasm32")]
mod fit_worker;
#[cfg(target_arch = "wasm32")]
mod panel;
#[cfg(target_arch = "wasm32")]
mod source;
#[cfg(target_arch = "wasm32")]
mod start;
#[cfg(target_arch = "wasm32")]
mod state;
