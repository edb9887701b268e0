//! What the charts draw, before it has a place: predicted lines and measured points.

use foreglow_model::{Interval, Predictor, Setting};
use foreglow_shared::Observation;

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

/// The numbers of cores that get a line: all of them, or a spread of them with the one that is looked at.
pub fn lines_for(cores_per_executor: &[u32], looked_at: u32) -> Vec<u32> {
    let mut chosen: Vec<u32> = if cores_per_executor.len() <= MOST_LINES {
        cores_per_executor.to_vec()
    } else {
        // One line fewer leaves room for the one that is looked at; ratios, because time goes with 1/C.
        let (first, last) = (cores_per_executor[0], cores_per_executor[cores_per_executor.len() - 1]);
        let ratio = (f64::from(last) / f64::from(first.max(1))).powf(1.0 / (MOST_LINES - 2) as f64);
        let wanted = |index: usize| f64::from(first) * ratio.powi(index as i32);
        let nearest = |wanted: f64| {
            cores_per_executor
                .iter()
                .copied()
                .min_by(|a, b| (f64::from(*a) - wanted).abs().total_cmp(&(f64::from(*b) - wanted).abs()))
        };
        (0..MOST_LINES - 1).filter_map(|index| nearest(wanted(index))).collect()
    };
    chosen.push(looked_at);
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// The predicted line of one number of cores.
pub fn line(predictor: &Predictor, executors: &[u32], cores_per_executor: u32) -> Line {
    let point = |executors: u32| {
        let prediction = predictor.predict(Setting { executors, cores_per_executor, sampling_rate: 1.0 });
        let secs = prediction.completion_time_secs.filter(|secs| secs.is_finite() && *secs > 0.0)?;
        Some(LinePoint { executors, secs, interval_secs: prediction.interval.as_ref().map(ends_secs) })
    };
    Line { cores_per_executor, points: executors.iter().copied().filter_map(point).collect() }
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
    fn few_cores_all_get_a_line_and_many_get_a_spread_with_the_one_looked_at() {
        assert_eq!(lines_for(&[1, 2, 4], 2), [1, 2, 4]);
        assert_eq!(lines_for(&[1, 2, 4], 3), [1, 2, 3, 4]);
        let many: Vec<u32> = (1..=64).collect();
        let chosen = lines_for(&many, 7);
        assert!(chosen.contains(&1) && chosen.contains(&64) && chosen.contains(&7));
        assert!(chosen.len() <= MOST_LINES);
    }
}
