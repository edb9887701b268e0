//! The planner: a page that fits the predictor in the browser and answers what-if questions about a
//! CNN job.
//!
//! Modules: [`job`] and [`duration`] define the page's data; [`view`] its views and addresses;
//! `state` holds it in signals; `source` loads it from a collector, a file or a link; `fit_worker`
//! fits off the main thread; `panel` and `chart` show it. Everything except the user interface is
//! plain Rust that is tested natively; Leptos and the browser APIs are dependencies on wasm32 only.
//!
//! The crate builds three wasm modules: `main` is the page and its fit worker; `reader` reads
//! files, counts what networks cost, advises, evaluates the published scenarios and compares
//! machine types; `web/comparison` compares all learners with Burn, which is as large as everything
//! else. The latter two are fetched on first use.
//!
//! This crate must not compute predictions or prices or define number formats: `model` and `shared`
//! do, so that the page and the command line print the same digits. It must not send anything
//! anywhere; it reads from its own origin.

pub mod advice;
pub mod chart;
pub mod compare;
pub mod duration;
pub mod example;
pub mod fit;
mod html;
pub mod import;
pub mod job;
pub mod left_out;
pub mod machines;
pub mod network;
mod packed;
pub mod run_table;
pub mod view;
pub mod why;
pub mod workload;

#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod app;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod clipboard;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod download;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod errand;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod fit_worker;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod later;
#[cfg(target_arch = "wasm32")]
mod open_file;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod panel;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod source;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod start;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod state;
#[cfg(target_arch = "wasm32")]
pub mod worker;

#[cfg(all(target_arch = "wasm32", feature = "page"))]
pub use self::start::start;
