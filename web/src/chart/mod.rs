//! The pictures: where things lie is plain Rust, drawing them is SVG by hand.

pub mod lines;
pub mod scale;

#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod axes;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod completion_time;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod drawing;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod sampling_rate;

#[cfg(all(target_arch = "wasm32", feature = "page"))]
pub use self::{completion_time::CompletionTimeChart, sampling_rate::SamplingRateChart};
