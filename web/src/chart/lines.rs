//! What the charts draw, before it has a place: predicted lines and measured points.

use foreglow_model::{Interval, Prediction, Predictor, Setting};
use foreglow_shared::Observation;

use crate::chart::grid::thinned;

/// More lines than that cannot be told apart.
const MOST_LINES: usize = 6;

/// The predicted completion times of the whole job at one number of cores.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Cores per executor of the whole line.
    pub cores_per_executor: u32,
    /// By executors, ascending; a configuration without a prediction is left out.
    pub points: Vec<LinePoint>,
}

/// One predicted configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct LinePoint {
    /// Executors.
    pub executors: u32,
    /// Predicted completion time, seconds.
    pub secs: f64,
    /// Its interval, seconds: lower, upper.
    pub interval_secs: Option<(f64, f64)>,
}

/// One run, beside the predictions for the whole job.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The run.
    pub run: Observation,
    /// Where it stands for the whole job, seconds: the measured time itself if the run had every image; else the
    /// measured time × predicted(whole job) ÷ predicted(same share), so that its distance from the line is what the
    /// predictor missed at the run's own sampling rate.
    pub whole_job_secs: f64,
}

/// The predicted time at a setting, if it can be drawn.
pub fn predicted_secs(predictor: &Predictor, setting: Setting) -> Option<f64> {
    predictor.predict(setting).completion_time_secs.filter(|secs| secs.is_finite() && *secs > 0.0)
}

/// Lower and upper end of an interval, seconds.
pub fn ends_secs(interval: &Interval) -> (f64, f64) {
    (interval.lower_secs, interval.upper_secs)
}

/// The numbers of cores that get a line: all of them, or a spread of them.
pub fn lines_for(cores_per_executor: &[u32]) -> Vec<u32> {
    thinned(cores_per_executor, MOST_LINES)
}

/// The predicted lines of some numbers of cores, without their intervals.
pub fn lines(predictor: &Predictor, executors: &[u32], cores: &[u32]) -> Vec<Line> {
    let times = predictor.times(executors, cores);
    let line = |(place, cores_per_executor): (usize, &u32)| {
        let point = |(executors, row): (&u32, &Vec<Option<f64>>)| {
            Some(LinePoint { executors: *executors, secs: row[place]?, interval_secs: None })
        };
        let points = executors.iter().zip(&times).filter_map(point).collect();
        Line { cores_per_executor: *cores_per_executor, points }
    };
    cores.iter().enumerate().map(line).collect()
}

/// The predicted line of one number of cores, with its intervals.
pub fn line(predictor: &Predictor, executors: &[u32], cores_per_executor: u32) -> Line {
    let configurations: Vec<(u32, u32)> = executors.iter().map(|executors| (*executors, cores_per_executor)).collect();
    let predictions = predictor.predict_whole_job(&configurations);
    let point = |(executors, prediction): (&u32, Prediction)| {
        let secs = prediction.completion_time_secs.filter(|secs| secs.is_finite() && *secs > 0.0)?;
        Some(LinePoint { executors: *executors, secs, interval_secs: prediction.interval.as_ref().map(ends_secs) })
    };
    Line { cores_per_executor, points: executors.iter().zip(predictions).filter_map(point).collect() }
}

/// The measured points beside the predictions for the whole job.
pub fn measured(predictor: &Predictor, observations: &[Observation]) -> Vec<Measured> {
    let place = |run: &Observation| {
        let at = |sampling_rate: f64| {
            let Observation { executors, cores_per_executor, .. } = *run;
            predicted_secs(predictor, Setting { executors, cores_per_executor, sampling_rate })
        };
        let whole_job_secs = if run.sampling_rate == 1.0 {
            run.completion_time_secs
        } else {
            run.completion_time_secs * at(1.0)? / at(run.sampling_rate)?
        };
        Some(Measured { run: *run, whole_job_secs })
    };
    observations.iter().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cores_all_get_a_line_and_many_get_a_spread() {
        assert_eq!(lines_for(&[1, 2, 4]), [1, 2, 4]);
        let many: Vec<u32> = (1..=64).collect();
        let chosen = lines_for(&many);
        assert!(chosen.contains(&1) && chosen.contains(&64) && chosen.len() <= MOST_LINES);
    }
}
