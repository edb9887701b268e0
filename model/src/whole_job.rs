//! Runs that were stopped early, as runs of the whole job.

use foreglow_curve::{CurveError, WholeJob};
use foreglow_shared::{Outcome, RUN_SECS, Sample};

/// Limit on the standard error of ln t.
const MOST_LOG_ERROR: f64 = 10.0;
/// Half the width of the 90 % interval of the standard normal distribution.
const NORMAL_90: f64 = 1.645;

/// Returns the time of the whole job from the progress of a run; `None` if the run has no progress
/// or the size of the whole job is unknown.
pub fn whole_job(sample: &Sample) -> Option<Result<WholeJob, CurveError>> {
    Some(WholeJob::from_curve(sample.progress.as_ref()?, sample.whole_units()?))
}

/// Returns a run that was stopped early as a completed run of the whole job, so that the predictor
/// learns from it as from any run; other runs as they are.
pub fn extrapolated(sample: &Sample) -> Sample {
    let mut sample = sample.clone();
    if sample.outcome == Outcome::TimedOut
        && let Some(Ok(job)) = whole_job(&sample)
    {
        let secs = (job.secs - job.startup_secs).clamp(*RUN_SECS.start(), *RUN_SECS.end());
        sample.outcome = Outcome::Completed;
        sample.completion_time_secs = Some(secs);
        sample.startup_secs = Some(job.startup_secs);
        sample.sampling_rate = 1.0;
        sample.reason = None;
        let half_width = libm::log(job.upper_secs / job.lower_secs.max(*RUN_SECS.start())) / 2.0;
        sample.log_error = (half_width / NORMAL_90).clamp(0.0, MOST_LOG_ERROR);
    }
    sample
}

#[cfg(test)]
mod tests {
    use foreglow_shared::{Curve, parse_line};

    use super::*;

    #[test]
    fn a_run_that_was_stopped_early_counts_as_a_run_of_the_whole_job() {
        let line = r#"{"schema":1,"id":"019aa6d1-0000-7000-8000-000000000001","workload":{"model":"a","mode":"training",
            "image_px":1,"images":1000,"epochs":2,"batch_size":10},"configuration":{"executors":1,"cores_per_executor":1,
            "memory_per_executor_mib":9,"partition_size":1,"accelerator":null},"sampling_rate":1.0,"outcome":"timed_out",
            "completion_time_secs":20.0,"engine":"local","runner_version":"0.1.0","host":{},
            "started_at":"2026-11-21T10:00:00Z"}"#;
        let mut sample = parse_line(line).unwrap();
        assert_eq!(extrapolated(&sample), sample);
        let points = (0..=20).map(|step| (5.0 + f64::from(step), f64::from(step))).collect();
        sample.progress = Some(Curve { unit: "steps".to_owned(), of: None, per_epoch: None, points });
        let whole = extrapolated(&sample);
        assert_eq!((whole.outcome, whole.startup_secs), (Outcome::Completed, Some(5.0)));
        assert!((whole.completion_time_secs.unwrap() - 200.0).abs() < 1e-6, "{:?}", whole.completion_time_secs);
        assert!(whole.log_error < 1e-6 && sample.log_error == 0.0, "equal steps: {}", whole.log_error);
        sample.outcome = Outcome::Completed;
        assert_eq!(extrapolated(&sample), sample);
    }
}
