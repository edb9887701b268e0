//! Runs of a part of a job that tell their progress, as runs of the whole job.

use std::collections::BTreeMap;

use foreglow_curve::{CurveError, WholeJob};
use foreglow_shared::{Context, Curve, Outcome, Placeholder, RUN_SECS, Sample};

/// Limit on the standard error of ln t.
const MOST_LOG_ERROR: f64 = 10.0;
/// Half the width of the 90 % interval of the standard normal distribution.
const NORMAL_90: f64 = 1.645;
/// Of a run that follows its command, the last report has at least this share of its work.
const LEAST_REPORTED: f64 = 0.5;
/// Runs of less than this share of the longest part of the job on their configuration are left out:
/// their start and end weigh more, and their pace is less precise.
const LEAST_SHARE: f64 = 0.5;

/// Returns the time of the whole job from the progress of a run; `None` if the run has no progress
/// or the size of the whole job is unknown.
pub fn whole_job(sample: &Sample) -> Option<Result<WholeJob, CurveError>> {
    Some(extrapolate(sample, sample.progress.as_ref()?, sample.whole_units()?))
}

/// Extrapolates the curve of a run to `units` of work.
fn extrapolate(sample: &Sample, curve: &Curve, units: f64) -> Result<WholeJob, CurveError> {
    let job = WholeJob::from_curve(curve, units)?;
    Ok(if sample.is_disturbed() { job.beside_other_work() } else { job })
}

/// Returns runs as the predictor learns from them. A run that was stopped early, or a run of a part
/// of a job of the user's own program, counts as a run of the whole job if its progress tells the
/// time of it. Of the parts on one configuration, the longest count.
pub fn extrapolated(samples: &[Sample]) -> Vec<Sample> {
    let parts: Vec<Option<Part>> = samples.iter().map(Part::of).collect();
    let mut longest: BTreeMap<String, f64> = BTreeMap::new();
    for (sample, part) in samples.iter().zip(&parts) {
        if let Some(part) = part {
            let share = longest.entry(configuration(sample)).or_default();
            *share = share.max(part.share);
        }
    }
    if longest.is_empty() {
        return samples.to_vec();
    }
    let counts = |sample: &Sample, share: f64| {
        longest.get(&configuration(sample)).is_none_or(|longest| share >= LEAST_SHARE * longest)
    };
    let learned = |(sample, part): (&Sample, Option<Part>)| match part {
        Some(part) => counts(sample, part.share).then_some(part.whole),
        None if is_part(sample) => counts(sample, sample.sampling_rate).then(|| sample.clone()),
        None => Some(sample.clone()),
    };
    samples.iter().zip(parts).filter_map(learned).collect()
}

/// Returns what runs of one job on one configuration have in common.
fn configuration(sample: &Sample) -> String {
    format!("{} {:?}", Context::of(sample).key(), sample.configuration)
}

/// Whether a run did a part of the job of the user's own program.
fn is_part(sample: &Sample) -> bool {
    sample.workload.command.is_some() && sample.outcome == Outcome::Completed && sample.sampling_rate < 1.0
}

/// A run of a part of a job, whose progress tells the whole job.
#[derive(Clone, Debug)]
struct Part {
    /// The run as one of the whole job.
    whole: Sample,
    /// Share of the whole job that it did.
    share: f64,
}

impl Part {
    /// Returns `None` for a run of the whole job, and for one of which the progress tells too
    /// little.
    fn of(sample: &Sample) -> Option<Self> {
        let (curve, done) = (sample.progress.as_ref()?, sample.progress.as_ref()?.last()?.1);
        if sample.outcome == Outcome::TimedOut {
            let job = whole_job(sample)?.ok()?;
            let share = done / sample.whole_units()?;
            return Some(Self { whole: as_whole(sample, &job, job.startup_secs, 0.0), share });
        }
        let units = bounded_units(sample).filter(|_| is_part(sample))?;
        let own = units * sample.sampling_rate;
        // A program that does not follow its placeholder does other work.
        if !(LEAST_REPORTED * own..=own * (1.0 + 1e-9)).contains(&done) {
            return None;
        }
        let startup_secs = sample.startup_secs?;
        // What the run took beyond its progress, such as a last evaluation and the end of the
        // process, the whole job takes too.
        let predicted = WholeJob::from_curve(curve, own).ok()?;
        let took_secs = startup_secs + sample.completion_time_secs?;
        let job = extrapolate(sample, curve, units).ok()?;
        let beyond_secs = took_secs - (predicted.secs - predicted.ending_secs) - job.ending_secs;
        Some(Self { whole: as_whole(sample, &job, startup_secs, beyond_secs), share: sample.sampling_rate })
    }
}

/// Returns the work of the whole job in the units of the progress, if a placeholder of the command
/// bounds it in these; `None` if the length of an epoch changes with the share of the job, because
/// pauses between epochs do not.
fn bounded_units(sample: &Sample) -> Option<f64> {
    let (curve, workload) = (sample.progress.as_ref()?, &sample.workload);
    match (workload.bound()?, curve.unit.as_str()) {
        (Placeholder::Epochs, "epochs") => Some(f64::from(workload.epochs)),
        (Placeholder::Epochs, _) => curve.per_epoch.map(|units| units * f64::from(workload.epochs)),
        (Placeholder::Steps, "steps") => Some(workload.program_steps(&sample.configuration) as f64),
        _ => None,
    }
}

/// Returns a run as one of the whole job.
fn as_whole(sample: &Sample, job: &WholeJob, startup_secs: f64, beyond_secs: f64) -> Sample {
    let mut sample = sample.clone();
    let secs = (job.secs - startup_secs + beyond_secs).clamp(*RUN_SECS.start(), *RUN_SECS.end());
    sample.outcome = Outcome::Completed;
    sample.completion_time_secs = Some(secs);
    sample.startup_secs = Some(startup_secs);
    sample.sampling_rate = 1.0;
    sample.reason = None;
    let half_width = libm::log(job.upper_secs / job.lower_secs.max(*RUN_SECS.start())) / 2.0;
    sample.log_error = (half_width / NORMAL_90).clamp(0.0, MOST_LOG_ERROR);
    sample
}

#[cfg(test)]
mod tests {
    use foreglow_shared::parse_line;

    use super::*;

    const LINE: &str = r#"{"schema":1,"id":"019aa6d1-0000-7000-8000-000000000001","workload":{"model":"a",
        "mode":"training","image_px":1,"images":1000,"epochs":2,"batch_size":10},"configuration":{"executors":1,
        "cores_per_executor":1,"memory_per_executor_mib":9,"partition_size":1,"accelerator":null},"sampling_rate":1.0,
        "outcome":"timed_out","completion_time_secs":20.0,"engine":"local","runner_version":"0.1.0","host":{},
        "started_at":"2026-11-21T10:00:00Z"}"#;

    fn sample(line: &str) -> Sample {
        parse_line(&line.replace('\n', " ")).unwrap()
    }

    fn one(sample: &Sample) -> Sample {
        extrapolated(std::slice::from_ref(sample)).remove(0)
    }

    fn steps(unit: &str, per_epoch: Option<f64>, count: u32) -> Curve {
        let points = (0..=count).map(|step| (5.0 + f64::from(step), f64::from(step))).collect();
        Curve { unit: unit.to_owned(), of: None, per_epoch, points }
    }

    #[test]
    fn a_run_that_was_stopped_early_counts_as_a_run_of_the_whole_job() {
        let mut sample = sample(LINE);
        assert_eq!(one(&sample), sample);
        sample.progress = Some(steps("steps", None, 20));
        let whole = one(&sample);
        assert_eq!((whole.outcome, whole.startup_secs), (Outcome::Completed, Some(5.0)));
        // 200 s, and a quarter of the start-up for the end of the program.
        assert!((whole.completion_time_secs.unwrap() - 201.25).abs() < 1e-6, "{:?}", whole.completion_time_secs);
        assert!(whole.log_error < 0.04 && sample.log_error == 0.0, "equal steps: {}", whole.log_error);
        // Beside other work the speed of the rest is less sure.
        let warnings = serde_json::json!([{ "kind": "busy_machine" }]);
        sample.extra.insert("warnings".into(), warnings);
        let disturbed = one(&sample);
        assert_eq!(disturbed.completion_time_secs, whole.completion_time_secs);
        assert!((0.065..0.08).contains(&disturbed.log_error), "{}", disturbed.log_error);
        sample.outcome = Outcome::Completed;
        assert_eq!(one(&sample), sample);
    }

    /// A run of a share of 1,000 steps of a second each, with 2 s at its end.
    fn part(rate: f64, count: u32) -> Sample {
        let line = LINE
            .replace(r#""batch_size":10"#, r#""batch_size":1,"unit":"steps","command":["train","{steps}"]"#)
            .replace(r#""epochs":2"#, r#""epochs":1"#)
            .replace("timed_out", "completed");
        let mut sample = sample(&line);
        (sample.sampling_rate, sample.startup_secs) = (rate, Some(5.0));
        sample.completion_time_secs = Some(f64::from(count) + 2.0);
        sample.progress = Some(steps("steps", None, count));
        sample
    }

    #[test]
    fn a_part_of_a_job_counts_as_the_whole_job_with_what_it_took_at_its_end() {
        let whole = one(&part(0.02, 20));
        assert_eq!((whole.outcome, whole.sampling_rate, whole.startup_secs), (Outcome::Completed, 1.0, Some(5.0)));
        assert!((whole.completion_time_secs.unwrap() - 1002.0).abs() < 1e-6, "{:?}", whole.completion_time_secs);
        // A share of which the program did something else, and one with too few reports.
        let (other, short) = (part(0.02, 500), part(0.002, 2));
        assert_eq!((one(&other), one(&short)), (other, short));
    }

    #[test]
    fn the_longest_part_on_a_configuration_counts() {
        let mut elsewhere = part(0.002, 2);
        elsewhere.configuration.cores_per_executor = 2;
        let runs = extrapolated(&[part(0.002, 2), part(0.01, 10), part(0.02, 20), part(0.04, 40), elsewhere.clone()]);
        assert_eq!(runs.iter().map(|run| run.sampling_rate).collect::<Vec<_>>(), [1.0, 1.0, 0.002]);
        assert_eq!(runs[2], elsewhere);
    }
}
