//! Slowdowns of oversubscribed configurations beyond the bound.
//!
//! A configuration with more task threads than processors is no faster than the fastest one that
//! fits ([`Capacity`](crate::capacity::Capacity)), and often slower, because its threads compete
//! for caches and memory. If such a configuration was measured, its runs show the slowdown.

use foreglow_shared::Observation;
use serde::{Deserialize, Serialize};

use crate::Setting;
use foreglow_numeric::median;

/// Weight of the bound itself, in runs, because a single run is mostly noise.
const PRIOR_RUNS: f64 = 1.0;

/// Measured times of oversubscribed configurations, relative to the bound.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MeasuredRatios(Vec<MeasuredRatio>);

/// The median of ln(measured time / bound) of one setting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct MeasuredRatio {
    setting: Setting,
    log_ratio: f64,
}

impl MeasuredRatios {
    /// Compares completed runs with the bound of their settings, in seconds.
    pub(crate) fn of(runs: &[Observation], bound_secs: impl Fn(Setting) -> Option<f64>) -> Self {
        let mut settings: Vec<Setting> = runs.iter().map(Setting::of).collect();
        settings.sort_by(Setting::order);
        settings.dedup();
        let ratio = |setting: Setting| {
            let bound = bound_secs(setting)?;
            let of_setting = runs.iter().filter(|run| Setting::of(run) == setting);
            let logs: Vec<f64> = of_setting.map(|run| libm::log(run.completion_time_secs / bound)).collect();
            let runs = logs.len() as f64;
            let log_ratio = median(&logs) * runs / (runs + PRIOR_RUNS);
            log_ratio.is_finite().then_some(MeasuredRatio { setting, log_ratio })
        };
        Self(settings.into_iter().filter_map(ratio).collect())
    }

    /// Returns the ratio of a configuration's time to the bound, at the measured sampling rate that
    /// is nearest to the setting's; `None` if the configuration was not measured.
    pub(crate) fn ratio(&self, setting: Setting) -> Option<f64> {
        let distance = |at: &MeasuredRatio| libm::fabs(libm::log(at.setting.sampling_rate / setting.sampling_rate));
        let is_of = |at: &&MeasuredRatio| at.setting.split() == setting.split();
        let nearest = self.0.iter().filter(is_of).min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        Some(libm::exp(nearest.log_ratio))
    }

    /// Returns the measured configurations of equal executors, E and C.
    pub(crate) fn configurations(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().filter_map(|at| at.setting.split().equal_counts())
    }
}
