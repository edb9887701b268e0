//! The planner: a page that fits the predictor in the browser and answers what-if questions about a
//! CNN job.
//!
//! Modules, each of which uses only those before it: [`data`] is what the page is about; [`plot`]
//! lays out the charts; [`worker`] is the work off the page's thread, and its messages; `client` is
//! the page's side of the workers; `state` holds everything in signals; `source` loads it from a
//! collector, a file or a link; `control`, `chart` and `panel` show it. Everything except the user
//! interface is plain Rust that is tested natively; Leptos and the browser APIs are dependencies on
//! wasm32 only.
//!
//! The crate builds three wasm modules: `main` is the page and its fit worker; `reader` reads
//! files, counts what networks cost, advises, evaluates the published scenarios and compares
//! machine types; `web/comparison` compares all learners with Burn, which is as large as everything
//! else. The latter two are fetched on first use.
//!
//! This crate must not compute predictions or prices or define number formats: `model` and `shared`
//! do, so that the page and the command line print the same digits. It must not send anything
//! anywhere; it reads from its own origin.

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
