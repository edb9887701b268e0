//! Whole jobs that were run, beside what the runs before them predict.

use foreglow_predictor::Interval;
use foreglow_shared::{
    Context, CoreSplit, Job, Outcome, Sample, Timestamp, Uuid, group_by_context, sort_by_cached_key,
};

use crate::{Predictor, Setting, extrapolated};

/// Most whole jobs that are checked, the newest ones: each needs a fit.
const MOST_CHECKED: usize = 500;

/// A whole job that was run, and its prediction from the runs of its context, of any number of
/// images and epochs, that started before it.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedRun {
    /// The sample of the whole job.
    pub sample: Uuid,
    /// [`Context::title`](foreglow_shared::Context::title).
    pub job: String,
    /// When the run started.
    pub started_at: Timestamp,
    /// Executors and cores.
    pub split: CoreSplit,
    /// Its completion time, seconds.
    pub completion_time_secs: f64,
    /// Median of the predicted distribution, seconds.
    pub predicted_secs: f64,
    /// `None` if the runs before show no error.
    pub interval: Option<Interval>,
    /// The earlier runs that are nearest to it.
    pub from: Nearest,
}

/// The earlier runs from which a whole job is predicted, by the one that is nearest to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nearest {
    /// Runs of at most 2 % of the work.
    Hundredth,
    /// Runs of at most 20 %.
    Tenth,
    /// Runs of more, but not of the whole job.
    Half,
    /// Whole jobs on other configurations.
    OtherConfiguration,
    /// A whole job on the same configuration.
    SameConfiguration,
}

impl Nearest {
    /// Finds the nearest of earlier runs, whose work is given as a share of the whole job.
    fn of(earlier: &[(CoreSplit, f64)], split: CoreSplit) -> Self {
        if earlier.iter().any(|(of_run, share)| *share >= 1.0 && *of_run == split) {
            return Self::SameConfiguration;
        }
        match earlier.iter().map(|(_, share)| *share).fold(0.0, f64::max) {
            rate if rate >= 1.0 => Self::OtherConfiguration,
            rate if rate > 0.2 => Self::Half,
            rate if rate > 0.02 => Self::Tenth,
            _ => Self::Hundredth,
        }
    }
}

impl CheckedRun {
    /// Returns the relative error of the prediction: 0.1 if it was a tenth too long.
    pub fn error(&self) -> f64 {
        self.predicted_secs / self.completion_time_secs - 1.0
    }

    /// Whether the interval holds the time; `None` without an interval.
    pub fn holds(&self) -> Option<bool> {
        let interval = self.interval.as_ref()?;
        Some((interval.lower_secs..=interval.upper_secs).contains(&self.completion_time_secs))
    }
}

/// Predicts a completed whole job from the runs of the same context among `samples` that started
/// before it; `None` for another run, or if they do not predict it.
pub fn checked_run(whole: &Sample, samples: &[Sample]) -> Option<CheckedRun> {
    if whole.sampling_rate < 1.0 || whole.outcome != Outcome::Completed {
        return None;
    }
    let key = |sample: &Sample| Context::of(sample).with_size(1, 1).key();
    let of_job = key(whole);
    let is_earlier = |other: &&Sample| other.started_at < whole.started_at && key(other) == of_job;
    checked(whole, &samples.iter().filter(is_earlier).collect::<Vec<_>>())
}

/// Predicts each completed whole job of these samples from the runs of the same context that
/// started before it, and returns those that can be predicted, in the order of their start; at most
/// the 500 newest ones. A run that was stopped early counts as an earlier run of the whole job, and
/// is not checked itself.
pub fn checked_runs(samples: &[Sample]) -> Vec<CheckedRun> {
    let mut samples: Vec<&Sample> = samples.iter().collect();
    sort_by_cached_key(&mut samples, |sample| (sample.started_at, sample.id));
    // Runs of all sizes of a job have one key.
    let keys: Vec<String> = samples.iter().map(|sample| Context::of(sample).with_size(1, 1).key()).collect();
    let is_whole = |sample: &&Sample| sample.sampling_rate >= 1.0 && sample.outcome == Outcome::Completed;
    let wholes: Vec<usize> = (0..samples.len()).filter(|place| is_whole(&samples[*place])).collect();
    let newest = &wholes[wholes.len().saturating_sub(MOST_CHECKED)..];
    let check = |place: usize| {
        let whole = samples[place];
        let is_earlier = |other: &usize| samples[*other].started_at < whole.started_at && keys[*other] == keys[place];
        let earlier: Vec<&Sample> = (0..place).filter(is_earlier).map(|other| samples[other]).collect();
        checked(whole, &earlier)
    };
    newest.iter().filter_map(|place| check(*place)).collect()
}

fn checked(whole: &Sample, earlier: &[&Sample]) -> Option<CheckedRun> {
    let earlier = extrapolated(&earlier.iter().copied().cloned().collect::<Vec<_>>());
    let images = whole.workload.images_processed();
    let share = |run: &Sample| run.sampling_rate * run.workload.images_processed() / images;
    let shares: Vec<(CoreSplit, f64)> = earlier.iter().map(|run| (run.configuration.split(), share(run))).collect();
    let total = shares.iter().map(|(_, share)| share * images).fold(images, f64::max);
    let (context, split) = (Context::of(whole), whole.configuration.split());
    let jobs = group_by_context(&earlier);
    let job = Job::joined(context.clone(), &jobs.iter().collect::<Vec<_>>(), total);
    let prediction = Predictor::fit_job(&job).ok()?.predict(Setting::at(split, images / total));
    Some(CheckedRun {
        sample: whole.id,
        job: context.title(),
        started_at: whole.started_at,
        split,
        completion_time_secs: whole.completed_secs()?,
        predicted_secs: prediction.completion_time_secs?,
        interval: prediction.interval,
        from: Nearest::of(&shares, split),
    })
}

#[cfg(test)]
mod tests {
    use foreglow_shared::parse_line;

    use super::*;

    /// A run of a job of 100 s on one executor, which started in this second.
    fn run(second: u32, executors: u32, rate: f64, secs: f64) -> Sample {
        let line = format!(
            r#"{{"schema":1,"id":"019aa6d1-0000-7000-8000-{second:012}","workload":{{"model":"a","mode":"inference",
            "image_px":8,"images":1000,"epochs":1,"batch_size":8}},"configuration":{{"executors":{executors},
            "cores_per_executor":1,"memory_per_executor_mib":9,"partition_size":1,"accelerator":null}},
            "sampling_rate":{rate},"outcome":"completed","completion_time_secs":{secs},"engine":"local",
            "runner_version":"0.1.0","host":{{}},"started_at":"2026-11-21T10:00:{second:02}Z"}}"#
        );
        parse_line(&line.replace('\n', "")).unwrap()
    }

    fn samples() -> Vec<Sample> {
        vec![
            run(1, 1, 0.01, 2.0),
            run(2, 1, 0.1, 11.0),
            run(3, 2, 0.01, 1.5),
            run(4, 2, 0.1, 6.0),
            run(5, 1, 1.0, 101.0),
            run(6, 2, 1.0, 51.0),
            run(7, 1, 1.0, 300.0),
        ]
    }

    #[test]
    fn one_whole_job_is_predicted_as_among_all() {
        let samples = samples();
        let all = checked_runs(&samples);
        let single: Vec<CheckedRun> = samples.iter().filter_map(|sample| checked_run(sample, &samples)).collect();
        assert_eq!(single, all);
        assert!(all.len() == 3 && checked_run(&samples[0], &samples).is_none());
    }

    #[test]
    fn a_whole_job_is_predicted_from_the_runs_before_it_alone() {
        let checked = checked_runs(&samples());
        let from: Vec<Nearest> = checked.iter().map(|run| run.from).collect();
        assert_eq!(from, [Nearest::Tenth, Nearest::OtherConfiguration, Nearest::SameConfiguration]);
        let errors: Vec<f64> = checked.iter().map(|run| (100.0 * run.error()).round()).collect();
        assert!(errors[0].abs() < 10.0 && errors[1].abs() < 10.0 && errors[2] < -50.0, "{errors:?}");
        assert_eq!(checked.iter().map(CheckedRun::holds).collect::<Vec<_>>(), [Some(true), Some(true), Some(false)]);
        // Neither the order of the samples nor later runs change a prediction.
        let mut reversed = samples();
        reversed.reverse();
        assert_eq!(checked_runs(&reversed), checked);
        assert_eq!(checked_runs(&samples()[..5]), checked[..1]);
    }

    #[test]
    fn a_whole_job_is_predicted_from_whole_jobs_of_other_sizes() {
        let of_size = |second: u32, images: u64, secs: f64| {
            let mut sample = run(second, 1, 1.0, secs);
            sample.workload.images = images;
            sample
        };
        let nights = [of_size(1, 1000, 102.0), of_size(2, 2000, 202.0), of_size(3, 3000, 302.0), of_size(4, 500, 52.0)];
        let checked = checked_runs(&nights);
        let found: Vec<(Nearest, f64)> = checked.iter().map(|run| (run.from, (100.0 * run.error()).round())).collect();
        assert_eq!(found.len(), 2, "{checked:?}");
        assert_eq!((found[0].0, found[1].0), (Nearest::Half, Nearest::SameConfiguration));
        assert!(found.iter().all(|(_, error)| error.abs() <= 3.0), "{found:?}");
    }

    #[test]
    fn a_first_whole_job_and_runs_of_other_jobs_show_nothing() {
        assert_eq!(checked_runs(&samples()[4..5]), []);
        let mut others = samples();
        others[..4].iter_mut().for_each(|sample| sample.workload.model = "b".to_owned());
        assert_eq!(checked_runs(&others[..5]), []);
    }
}
