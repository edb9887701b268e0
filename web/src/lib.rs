//! The planner: a page that plans a CNN job in the browser and answers what-if questions about it.
//!
//! Each module uses only earlier ones: [`data`] has the data of the page; [`plot`] lays out the
//! charts; [`worker`] has the work of the workers and their messages; `client` is the page's side
//! of the workers; `state` holds the state in signals; `source` loads it from a collector, a file
//! or a link; `control`, `chart` and `panel` show it. Everything except the user interface is plain
//! Rust that is tested natively; Leptos and the browser APIs are dependencies on wasm32 only.
//!
//! The crate builds three wasm modules: `main` is the page and its planning worker, which fits,
//! plans and decides; `reader` reads files, computes the costs of networks, advises and evaluates
//! the published scenarios; `web/comparison` compares all learners with Burn, which is as large as
//! the rest of the page. `reader` and `web/comparison` are fetched on first use.
//!
//! This crate must not compute predictions or prices or define number formats: `model` and `shared`
//! do, so that the page and the command line print the same digits. It must not send data; it only
//! reads from its own origin.

#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod app;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod chart;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod client;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod control;
pub mod data;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod panel;
pub mod plot;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod source;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod start;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod state;
pub mod worker;

#[cfg(all(target_arch = "wasm32", feature = "page"))]
pub use self::start::start;
