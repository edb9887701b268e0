//! The charts. Their data and layout are in [`plot`](crate::plot), which needs no browser.

mod about;
mod axes;
mod card;
mod completion_time;
mod effects;
mod export;
mod heat_map;
mod held_out;
mod sampling_rate;
mod speed_up;
mod switch;
mod time_by_money;

pub use self::{
    completion_time::CompletionTimeChart,
    effects::EffectsCharts,
    heat_map::HeatMapChart,
    held_out::{PredictedByMeasuredChart, ResidualsChart},
    sampling_rate::SamplingRateChart,
    speed_up::SpeedUpChart,
    time_by_money::TimeByMoneyChart,
};
