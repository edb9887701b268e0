//! The work of the workers, and their messages.

pub mod advice;
#[cfg(target_arch = "wasm32")]
mod collected;
pub mod import;
mod log_use;
pub mod messages;
pub mod network;
#[cfg(target_arch = "wasm32")]
mod open_file;
pub mod plan;
pub mod published;
#[cfg(target_arch = "wasm32")]
pub mod serve;
pub mod whole_jobs;
pub mod wire;

#[cfg(target_arch = "wasm32")]
pub use self::serve::{serve_comparison, serve_plans, serve_readings};
