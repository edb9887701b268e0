//! The pictures: where things lie is plain Rust, drawing them is SVG by hand.

pub mod grid;
pub mod lines;
pub mod scale;
pub mod sheet;

#[cfg(target_arch = "wasm32")]
mod about;
#[cfg(target_arch = "wasm32")]
mod axes;
#[cfg(target_arch = "wasm32")]
mod card;
#[cfg(target_arch = "wasm32")]
mod completion_time;
#[cfg(target_arch = "wasm32")]
mod effects;
#[cfg(target_arch = "wasm32")]
mod export;
#[cfg(target_arch = "wasm32")]
mod heat_map;
#[cfg(target_arch = "wasm32")]
mod held_out;
#[cfg(target_arch = "wasm32")]
mod overview;
#[cfg(target_arch = "wasm32")]
mod sampling_rate;
#[cfg(target_arch = "wasm32")]
mod speed_up;
#[cfg(target_arch = "wasm32")]
mod time_by_money;

#[cfg(target_arch = "wasm32")]
pub use self::{
    about::named,
    completion_time::CompletionTimeChart,
    effects::EffectsCharts,
    export::download,
    heat_map::HeatMapChart,
    held_out::{PredictedByMeasuredChart, ResidualsChart},
    overview::Overview,
    sampling_rate::SamplingRateChart,
    speed_up::SpeedUpChart,
    time_by_money::TimeByMoneyChart,
};
