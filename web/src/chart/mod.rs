//! The pictures: where things lie is plain Rust, drawing them is SVG by hand.

pub mod lines;
pub mod scale;

#[cfg(target_arch = "wasm32")]
mod axes;
#[cfg(target_arch = "wasm32")]
mod completion_time;
#[cfg(target_arch = "wasm32")]
mod drawing;
#[cfg(target_arch = "wasm32")]
mod sampling_rate;

#[cfg(target_arch = "wasm32")]
pub use self::{completion_time::CompletionTimeChart, sampling_rate::SamplingRateChart};
