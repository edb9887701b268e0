//! The work of the workers, and their messages.

pub mod advice;
pub mod fit;
pub mod import;
pub mod machines;
pub mod messages;
pub mod network;
#[cfg(target_arch = "wasm32")]
mod open_file;
mod packed;
#[cfg(target_arch = "wasm32")]
pub mod serve;

#[cfg(target_arch = "wasm32")]
pub use self::serve::{serve_comparison, serve_fits, serve_readings};
