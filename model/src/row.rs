//! The rows that a predictor learns from: checked runs, repeats averaged.

use foreglow_shared::Observation;

use crate::runs::check;
use crate::{FitError, Scenario, Setting};

/// The mean completion time of the runs of one setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) setting: Setting,
    /// Seconds.
    pub(crate) secs: f64,
}

/// Checks runs and averages those that are equal in E, C and SR: executor memory and partition size are no features of
/// these scenarios (the paper, §5.6: "samples having the same E_num and C_num use the average completion time").
/// Rows come by E, C and SR ascending, whatever the order of the runs.
pub(crate) fn average(observations: &[Observation]) -> Result<Vec<Row>, FitError> {
    observations.iter().try_for_each(check)?;
    let mut runs: Vec<Row> =
        observations.iter().map(|run| Row { setting: Setting::of(run), secs: run.completion_time_secs }).collect();
    runs.sort_by(|a, b| a.setting.order(&b.setting).then(a.secs.total_cmp(&b.secs)));
    let mean = |repeats: &[Row]| Row {
        setting: repeats[0].setting,
        secs: repeats.iter().map(|run| run.secs).sum::<f64>() / repeats.len() as f64,
    };
    Ok(runs.chunk_by(|a, b| a.setting == b.setting).map(mean).collect())
}

/// Distinct sampling rates below 1.
pub(crate) fn rates_below_one(rows: &[Row]) -> usize {
    let mut rates: Vec<f64> = rows.iter().map(|row| row.setting.sampling_rate).filter(|rate| *rate < 1.0).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    rates.len()
}

/// The longest time of rows, seconds.
pub(crate) fn longest_secs(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.secs).fold(0.0, f64::max)
}

impl Scenario {
    /// Whether the scenario trains on a run at this sampling rate.
    pub(crate) fn trains_at(self, sampling_rate: f64) -> bool {
        match self {
            Self::Baseline => sampling_rate == 1.0,
            Self::FourTwo => sampling_rate < 1.0,
        }
    }
}
