//! Whether the time of the user's own program follows its work.

use foreglow_numeric::median;
use foreglow_shared::{Job, Observation};

use crate::{FitError, Setting};

/// Least ratio of two sampling rates whose times are compared.
const APART: f64 = 4.0;
/// Least share of the longer run's time that has to depend on the work. Below it, repetitions
/// differ as much, and the time of the whole job would be extrapolated from their noise.
const LEAST_SHARE: f64 = 0.04;

/// Checks that a program takes longer for more work, on one configuration at least. A CNN that
/// Foreglow runs always does.
pub(crate) fn check(job: &Job) -> Result<(), FitError> {
    if job.context.workload.command.is_none() {
        return Ok(());
    }
    let mut unchanged = None;
    for run in &job.observations {
        let alike = |other: &&Observation| Setting::of(other).split() == Setting::of(run).split();
        let rates = job.observations.iter().filter(alike).map(|run| run.sampling_rate);
        let (low, high) = rates.fold((f64::INFINITY, 0.0_f64), |(low, high), rate| (low.min(rate), high.max(rate)));
        if high < APART * low {
            continue;
        }
        let secs = |rate: f64| {
            let same = job.observations.iter().filter(alike).filter(|run| run.sampling_rate == rate);
            median(same.map(|run| run.completion_time_secs))
        };
        let (short, long) = (secs(low), secs(high));
        let of_work = (long - short) * high / (high - low);
        if of_work >= LEAST_SHARE * long {
            return Ok(());
        }
        unchanged = Some(FitError::WorkWithoutEffect { low, high, low_secs: short, high_secs: long });
    }
    unchanged.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use foreglow_shared::Context;

    use super::*;

    fn job(program: bool, runs: &[(f64, f64)]) -> Job {
        let command = if program { r#","command":["./train","{steps}"]"# } else { "" };
        let context: Context = serde_json::from_str(&format!(
            r#"{{"workload":{{"model":"train","mode":"training","image_px":1,"images":9,"epochs":1,"batch_size":8{command}}},
                "engine":"command","host":{{}}}}"#
        ))
        .unwrap();
        let run = |(sampling_rate, completion_time_secs): &(f64, f64)| -> Observation {
            serde_json::from_str(&format!("[1,1,1024,8,{sampling_rate},{completion_time_secs},null]")).unwrap()
        };
        Job::of_runs(context, runs.iter().map(run).collect())
    }

    #[test]
    fn a_program_whose_time_does_not_follow_its_work_is_told() {
        let flat = [(0.01, 12.0), (0.1, 12.1), (0.1, 12.2), (0.01, 11.9)];
        let error = check(&job(true, &flat)).unwrap_err().to_string();
        assert!(error.starts_with("1 % and 10 % of the work take equally long (11.95 s and 12.15 s)"), "{error}");
        assert_eq!(check(&job(false, &flat)), Ok(()), "Foreglow's own CNNs draw their images themselves");
        for follows in [[(0.01, 12.0), (0.1, 13.0)], [(0.01, 1.0), (0.1, 10.0)], [(0.05, 12.0), (0.1, 12.0)]] {
            assert_eq!(check(&job(true, &follows)), Ok(()), "{follows:?}");
        }
        assert!(check(&job(true, &[(0.01, 12.0), (0.1, 11.0)])).is_err(), "more work takes less time");
    }
}
