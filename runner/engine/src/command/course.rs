//! The share of a run that its program reports as done.

use foreglow_model::WholeJob;
use foreglow_shared::{Curve, ProgramRun, UNKNOWN_SIZE};

use super::StopAfter;

/// Returns the share of a run that a curve reports; `None` if neither the program nor the user says
/// how much there is.
fn share(curve: &Curve, run: &ProgramRun<'_>) -> Option<f64> {
    let (_, done) = curve.last()?;
    Some(done / whole(curve, run)?)
}

/// Returns the units of work of a whole run in the unit of a curve; `None` if they are unknown.
pub fn whole(curve: &Curve, run: &ProgramRun<'_>) -> Option<f64> {
    let workload = run.workload;
    let share = |units: u64| units as f64 * run.sampling_rate;
    let is_known = workload.unit.as_deref() != Some(UNKNOWN_SIZE);
    curve.whole(Some(workload.epochs)).or_else(|| match curve.unit.as_str() {
        "steps" if is_known => Some(share(workload.program_steps(run.configuration))),
        unit if is_known && unit == workload.noun() => Some(share(workload.images * u64::from(workload.epochs))),
        _ => None,
    })
}

/// Whether the work at which to stop is done. `done` is in the unit of the curve, which is read
/// only if it may be. A count that was reported once may be a setting that the program prints, and
/// shows no time: the work is done if another one follows.
pub fn is_reached(stop: StopAfter, done: f64, curve: impl FnOnce() -> Option<Curve>, run: &ProgramRun<'_>) -> bool {
    let curve = || curve().filter(|curve| curve.points.len() > 1);
    match stop {
        StopAfter::Steps(steps) => done >= steps as f64 && curve().is_some(),
        StopAfter::Share(share) => curve().and_then(|curve| self::share(&curve, run)).is_some_and(|done| done >= share),
        StopAfter::Time(_) => false,
        StopAfter::Precision(width) => curve().is_some_and(|curve| is_precise(&curve, width, run)),
    }
}

/// Whether a curve tells the time of the whole run to this half width of its interval, as a share
/// of the time.
fn is_precise(curve: &Curve, width: f64, run: &ProgramRun<'_>) -> bool {
    let job = whole(curve, run).and_then(|whole| WholeJob::from_curve(curve, whole).ok());
    job.is_some_and(|job| job.upper_secs - job.lower_secs <= 2.0 * width * job.secs)
}

#[cfg(test)]
mod tests {
    use foreglow_shared::{CommandTemplate, Configuration, Mode, Workload};

    use super::*;

    fn curve(json: &str) -> Curve {
        serde_json::from_str(json).unwrap()
    }

    fn with_run<T>(images: u64, unit: &str, read: impl FnOnce(&ProgramRun<'_>) -> T) -> T {
        let command = CommandTemplate::new(vec!["train".into(), "{rate}".into()]).unwrap();
        let mut workload = Workload::new("train", Mode::Training, 1, images);
        (workload.epochs, workload.batch_size, workload.command) = (2, 10, Some(command));
        workload.unit = Some(unit.into());
        let configuration: Configuration = serde_json::from_str(
            r#"{"executors":5,"cores_per_executor":1,"memory_per_executor_mib":1,"partition_size":1,"accelerator":null}"#,
        )
        .unwrap();
        read(&ProgramRun { workload: &workload, configuration: &configuration, sampling_rate: 0.5, seed: 0 })
    }

    #[test]
    fn the_whole_run_is_what_the_program_says_or_else_the_user() {
        for (json, unit, expected) in [
            (r#"{"unit":"steps","of":40,"points":[]}"#, "images", Some(40.0)),
            (r#"{"unit":"steps","per_epoch":30,"points":[]}"#, "images", Some(60.0)),
            (r#"{"unit":"epochs","points":[]}"#, "images", Some(2.0)),
            // 1,000 images twice, in steps of 5 × 10, and half of them.
            (r#"{"unit":"steps","points":[]}"#, "images", Some(20.0)),
            (r#"{"unit":"images","points":[]}"#, "images", Some(1000.0)),
            (r#"{"unit":"images","points":[]}"#, "tokens", None),
            (r#"{"unit":"steps","points":[]}"#, "%", None),
        ] {
            assert_eq!(with_run(1000, unit, |run| whole(&curve(json), run)), expected, "{json}");
        }
    }

    #[test]
    fn a_program_is_stopped_at_its_steps_or_its_share() {
        let half = || Some(curve(r#"{"unit":"steps","of":40,"points":[[1,10],[2,20]]}"#));
        let reached = |stop| with_run(1000, "images", |run| is_reached(stop, 20.0, half, run));
        assert!(reached(StopAfter::Steps(20)) && !reached(StopAfter::Steps(21)));
        assert!(reached(StopAfter::Share(0.5)) && !reached(StopAfter::Share(0.6)));
        // Steps of exactly one second: what is left is known to the usual changes of speed.
        let points: Vec<String> = (1..=20).map(|step| format!("[{step},{step}]")).collect();
        let steady = || Some(curve(&format!(r#"{{"unit":"steps","of":40,"points":[{}]}}"#, points.join(","))));
        let is_known =
            |width| with_run(1000, "images", |run| is_reached(StopAfter::Precision(width), 20.0, steady, run));
        assert!(is_known(0.05) && !is_known(0.01));
        let once = || Some(curve(r#"{"unit":"steps","of":40,"points":[[1,20]]}"#));
        for stop in [StopAfter::Steps(20), StopAfter::Share(0.5), StopAfter::Precision(0.9)] {
            assert!(!with_run(1000, "images", |run| is_reached(stop, 20.0, once, run)), "{stop}");
        }
    }
}
