//! Whole jobs that were run, beside what was planned, or what the runs before them predict.

mod groups;

use foreglow_predictor::Interval;
use foreglow_shared::{
    Context, CoreSplit, Job, Outcome, PlannedTime, Sample, Timestamp, Uuid, group_by_context, sort_by_cached_key,
};

pub use self::groups::{CheckedGroup, CheckedGroups};
use crate::{Predictor, Setting, extrapolated};

/// Most whole jobs that are checked, the newest ones: each needs a fit.
const MOST_CHECKED: usize = 500;
/// Nominal probability of the interval of a plan.
const PLANNED_PROBABILITY: f64 = 0.9;

/// A whole job that was run, and its prediction: that of the plan that was kept for it, or else
/// from the runs of its context, of any number of images and epochs, that started before it.
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
    /// What the prediction was made from.
    pub from: PredictedFrom,
    /// When the plan was made, if its prediction was kept.
    pub planned_at: Option<Timestamp>,
}

/// What a whole job is predicted from: a plan that was kept, or else the earlier runs, by the one
/// that is nearest to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PredictedFrom {
    /// A plan that was exported, or kept with `plan --keep`.
    KeptPlan,
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

impl PredictedFrom {
    /// Returns its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::KeptPlan => "kept plans",
            Self::Hundredth => "up to 2 % of the work",
            Self::Tenth => "2 to 20 % of the work",
            Self::Half => "over 20 % of the work",
            Self::OtherConfiguration => "whole jobs on others",
            Self::SameConfiguration => "whole jobs on the same",
        }
    }

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

/// Returns a completed whole job with its prediction: that of the plan that was kept for it, or
/// from the runs of the same context among `samples` that started before it. `None` for another
/// run, or if they do not predict it.
pub fn checked_run(whole: &Sample, samples: &[Sample]) -> Option<CheckedRun> {
    if whole.sampling_rate < 1.0 || whole.outcome != Outcome::Completed {
        return None;
    }
    let key = |sample: &Sample| Context::of(sample).with_size(1, 1).key();
    let of_job = key(whole);
    let is_earlier = |other: &&Sample| other.started_at < whole.started_at && key(other) == of_job;
    checked(whole, &samples.iter().filter(is_earlier).collect::<Vec<_>>())
}

/// Returns the completed whole jobs of these samples with their predictions, as [`checked_run`]
/// does, in the order of their start; at most the 500 newest ones. A run that was stopped early
/// counts as an earlier run of the whole job, and is not checked itself.
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
    match &whole.predicted {
        Some(planned) => as_planned(whole, planned),
        None => predicted_again(whole, earlier),
    }
}

/// Compares a whole job with the plan that was kept for it.
fn as_planned(whole: &Sample, planned: &PlannedTime) -> Option<CheckedRun> {
    let interval = |(lower_secs, upper_secs)| Interval { lower_secs, upper_secs, probability: PLANNED_PROBABILITY };
    Some(CheckedRun {
        sample: whole.id,
        job: Context::of(whole).title(),
        started_at: whole.started_at,
        split: whole.configuration.split(),
        completion_time_secs: whole.completed_secs()?,
        predicted_secs: planned.median_secs,
        interval: planned.lower_secs.zip(planned.upper_secs).map(interval),
        from: PredictedFrom::KeptPlan,
        planned_at: Some(planned.planned_at),
    })
}

/// Predicts a whole job from earlier runs.
fn predicted_again(whole: &Sample, earlier: &[&Sample]) -> Option<CheckedRun> {
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
        from: PredictedFrom::of(&shares, split),
        planned_at: None,
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
        let from: Vec<PredictedFrom> = checked.iter().map(|run| run.from).collect();
        assert_eq!(from, [PredictedFrom::Tenth, PredictedFrom::OtherConfiguration, PredictedFrom::SameConfiguration]);
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
        let found: Vec<(PredictedFrom, f64)> =
            checked.iter().map(|run| (run.from, (100.0 * run.error()).round())).collect();
        assert_eq!(found.len(), 2, "{checked:?}");
        assert_eq!((found[0].0, found[1].0), (PredictedFrom::Half, PredictedFrom::SameConfiguration));
        assert!(found.iter().all(|(_, error)| error.abs() <= 3.0), "{found:?}");
    }

    #[test]
    fn a_whole_job_with_a_kept_plan_is_compared_with_it() {
        let mut samples = samples();
        // The last run took 300 s, which the runs before it do not predict.
        samples[6].predicted = Some(PlannedTime {
            planned_at: "2026-11-21T09:00:00Z".parse().unwrap(),
            median_secs: 290.0,
            lower_secs: Some(280.0),
            upper_secs: Some(310.0),
            deadline_secs: None,
            success_probability: None,
        });
        let checked = checked_runs(&samples);
        let kept = &checked[2];
        assert_eq!((kept.from, kept.predicted_secs, kept.holds()), (PredictedFrom::KeptPlan, 290.0, Some(true)));
        assert_eq!(kept.planned_at.map(|at| at.to_string()).as_deref(), Some("2026-11-21T09:00:00Z"));
        assert_eq!(checked[..2], checked_runs(&samples[..6]), "the others are predicted again");
        // A plan needs no earlier runs, and may have no interval.
        if let Some(planned) = &mut samples[6].predicted {
            planned.upper_secs = None;
        }
        let alone = checked_run(&samples[6], &[]).unwrap();
        assert_eq!((alone.holds(), alone.from), (None, PredictedFrom::KeptPlan));
    }

    #[test]
    fn whole_jobs_are_counted_in_all_by_source_and_by_job() {
        let mut all = samples();
        let mut others = samples();
        for (sample, number) in others.iter_mut().zip(10..) {
            sample.workload.model = "b".to_owned();
            sample.id = Uuid::from_u128(number);
        }
        all.extend(others);
        let groups = CheckedGroups::of(&checked_runs(&all));
        assert_eq!((groups.all.runs, groups.all.held, groups.all.intervals), (6, 4, 6));
        let by_source: Vec<(&str, usize, usize)> =
            groups.by_source.iter().map(|(from, group)| (from.name(), group.runs, group.held)).collect();
        let same = ("whole jobs on the same", 2, 0);
        assert_eq!(by_source, [("2 to 20 % of the work", 2, 2), ("whole jobs on others", 2, 2), same]);
        let by_job: Vec<(usize, usize)> = groups.by_job.iter().map(|(_, group)| (group.runs, group.held)).collect();
        assert_eq!(by_job, [(3, 2), (3, 2)]);
        let sentences = groups.sentences();
        assert_eq!(sentences.len(), 1 + 3 + 2);
        assert!(
            sentences[4].starts_with("3 whole jobs of b inference, 1000 images")
                && sentences[4].ends_with("2 of 3 in the 90 % interval."),
            "{sentences:?}"
        );
        let single = CheckedGroups::of(&checked_runs(&samples()[..6])).sentences();
        assert_eq!(single.len(), 1 + 2, "a single job is all of them: {single:?}");
        assert_eq!(CheckedGroups::of(&[]).sentences(), ["0 whole jobs: median error 0.0 %, no interval."]);
    }

    #[test]
    fn a_first_whole_job_and_runs_of_other_jobs_show_nothing() {
        assert_eq!(checked_runs(&samples()[4..5]), []);
        let mut others = samples();
        others[..4].iter_mut().for_each(|sample| sample.workload.model = "b".to_owned());
        assert_eq!(checked_runs(&others[..5]), []);
    }
}
