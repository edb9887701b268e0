//! The planner: a page that fits the predictor in the browser and answers what-if questions about a CNN job.
//!
//! The rooms: [`job`] and [`duration`] say what the page holds; `state` holds it in signals, `source` brings it in (a
//! collector, a file, a link), `fit_worker` fits off the main thread, `panel` and `chart` show it. Everything but the
//! showing is plain Rust that is tested natively; Leptos and the browser are there for wasm32 alone.
//!
//! Three modules are made of it. `main` is the page and its fit worker; `reader` reads files and advises; `web/comparison` compares
//! all learners with Burn, which is as large as all else. The latter two are fetched when somebody asks for what they do.
//!
//! This crate must never compute a prediction, a price or a format of its own: `model` and `shared` do, so that the page
//! and the command line print the same digits. It must never send anything anywhere: it reads from its own origin.

pub mod chart;
pub mod compare;
pub mod duration;
pub mod fit;
pub mod import;
pub mod job;
pub mod left_out;
pub mod run_table;
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
