//! The charts. Their layout is plain Rust, and their markup is SVG written by hand.

pub mod grid;
pub mod lines;
pub mod markup;
pub mod resource_use;
pub mod scale;
pub mod sheet;

#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod about;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod axes;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod card;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod completion_time;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod effects;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod export;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod heat_map;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod held_out;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod overview;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod sampling_rate;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod speed_up;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
mod time_by_money;

#[cfg(all(target_arch = "wasm32", feature = "page"))]
pub use self::{
    about::named,
    completion_time::CompletionTimeChart,
    effects::EffectsCharts,
    heat_map::HeatMapChart,
    held_out::{PredictedByMeasuredChart, ResidualsChart},
    overview::Overview,
    sampling_rate::SamplingRateChart,
    speed_up::SpeedUpChart,
    time_by_money::TimeByMoneyChart,
};
