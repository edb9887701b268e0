//! The data of the charts, independent of their layout: predicted lines and measured points.

use foreglow_model::{Interval, Prediction, Predictor, Setting};
use foreglow_shared::Observation;

use crate::plot::grid::thinned;

/// Limit on the lines, for distinguishable lines.
const MOST_LINES: usize = 6;

/// Predicted completion times of the whole job for one number of cores.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Cores per executor.
    pub cores_per_executor: u32,
    /// Sorted by ascending executors; configurations without a prediction are omitted.
    pub points: Vec<LinePoint>,
}

/// One predicted configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct LinePoint {
    /// Number of executors.
    pub executors: u32,
    /// Predicted completion time, seconds.
    pub secs: f64,
    /// Lower and upper end of its interval, seconds.
    pub interval_secs: Option<(f64, f64)>,
}

/// A measured run, comparable with the predictions for the whole job.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The run.
    pub run: Observation,
    /// The whole-job time implied by the run, seconds: the measured time if the run had every
    /// image, else the measured time × predicted(whole job) ÷ predicted(same sampling rate). Its
    /// distance from the line is therefore the predictor's relative error at the run's own sampling
    /// rate.
    pub whole_job_secs: f64,
}

/// The predicted time of a setting, if it is finite and positive.
pub fn predicted_secs(predictor: &Predictor, setting: Setting) -> Option<f64> {
    predictor.predict(setting).completion_time_secs.filter(|secs| secs.is_finite() && *secs > 0.0)
}

/// Lower and upper end of an interval, seconds.
pub fn ends_secs(interval: &Interval) -> (f64, f64) {
    (interval.lower_secs, interval.upper_secs)
}

/// The counts that get a line: all of them, or a spread. In a spread, each measured count replaces
/// the nearest unmeasured inner one, so that the runs of a count have a line.
pub fn lines_for(counts: &[u32], measured: &[u32]) -> Vec<u32> {
    let mut chosen = thinned(counts, MOST_LINES);
    for count in measured.iter().filter(|count| counts.contains(count)) {
        let last = chosen.len().saturating_sub(1);
        let is_free = |place: &usize| *place > 0 && *place < last && !measured.contains(&chosen[*place]);
        let ratio = |place: &usize| f64::from(chosen[*place].max(*count)) / f64::from(chosen[*place].min(*count));
        let nearest = (0..chosen.len()).filter(is_free).min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        if let Some(place) = nearest.filter(|_| !chosen.contains(count)) {
            chosen[place] = *count;
        }
    }
    chosen.sort();
    chosen
}

/// The distinct counts of some runs, ascending.
pub fn counts_of(observations: &[Observation], count: fn(&Observation) -> u32) -> Vec<u32> {
    let mut counts: Vec<u32> = observations.iter().map(count).collect();
    counts.sort();
    counts.dedup();
    counts
}

/// Predicts lines for several numbers of cores, without intervals.
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

/// Predicts the line of one number of cores, with intervals.
pub fn line(predictor: &Predictor, executors: &[u32], cores_per_executor: u32) -> Line {
    let configurations: Vec<(u32, u32)> = executors.iter().map(|executors| (*executors, cores_per_executor)).collect();
    let predictions = predictor.predict_whole_job(&configurations);
    let point = |(executors, prediction): (&u32, Prediction)| {
        let secs = prediction.completion_time_secs.filter(|secs| secs.is_finite() && *secs > 0.0)?;
        Some(LinePoint { executors: *executors, secs, interval_secs: prediction.interval.as_ref().map(ends_secs) })
    };
    Line { cores_per_executor, points: executors.iter().zip(predictions).filter_map(point).collect() }
}

/// Pairs the runs with their [`whole_job_secs`]; runs without one are omitted.
pub fn measured(whole_job_secs: &[Option<f64>], observations: &[Observation]) -> Vec<Measured> {
    let places = observations.iter().zip(whole_job_secs);
    places.filter_map(|(run, secs)| Some(Measured { run: *run, whole_job_secs: (*secs)? })).collect()
}

/// Computes [`Measured::whole_job_secs`] for each run. The scale is computed once per setting,
/// because there may be thousands of runs.
pub fn whole_job_secs(predictor: &Predictor, observations: &[Observation]) -> Vec<Option<f64>> {
    let mut settings: Vec<Setting> = observations.iter().map(Setting::of).collect();
    settings.sort_by(Setting::order);
    settings.dedup();
    let scale = |setting: &Setting| {
        let secs = |sampling_rate: f64| predicted_secs(predictor, Setting { sampling_rate, ..*setting });
        if setting.sampling_rate == 1.0 { Some(1.0) } else { Some(secs(1.0)? / secs(setting.sampling_rate)?) }
    };
    let scales: Vec<Option<f64>> = settings.iter().map(scale).collect();
    let scaled = |run: &Observation| {
        let place = settings.binary_search_by(|setting| setting.order(&Setting::of(run))).ok()?;
        Some(run.completion_time_secs * scales[place]?)
    };
    observations.iter().map(scaled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cores_all_get_a_line_and_many_get_a_spread() {
        assert_eq!(lines_for(&[1, 2, 4], &[]), [1, 2, 4]);
        let many: Vec<u32> = (1..=64).collect();
        let chosen = lines_for(&many, &[]);
        assert!(chosen.contains(&1) && chosen.contains(&64) && chosen.len() <= MOST_LINES);
        let eight: Vec<u32> = (1..=8).collect();
        assert_eq!(lines_for(&eight, &[]), [1, 2, 3, 5, 8]);
        assert_eq!(lines_for(&eight, &[1, 2, 4, 8, 16]), [1, 2, 3, 4, 8]);
        assert_eq!(lines_for(&eight, &eight), [1, 2, 3, 5, 8], "every one is measured");
    }
}
