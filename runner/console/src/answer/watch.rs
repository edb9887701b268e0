//! The state of a job that is followed while it runs.

use foreglow_engine::follow::Observed;
use foreglow_model::{CurveError, INTERVAL_PROBABILITY, Interval, RunningJob, WholeJob, format_time};
use foreglow_shared::{Curve, Estimate, Timestamp, format_count, format_duration, format_money, format_probability};
use serde::Serialize;

use super::restart::{RestartAdvice, RestartPlan};
use super::{SCHEMA, range};

/// Time without a report that may be unusual, seconds.
const LONG_SILENCE_SECS: f64 = 60.0;

/// The question about a followed job.
#[derive(Clone, Debug, Default)]
pub struct WatchQuestion {
    /// Units of the whole job; `None` for those that the job reports.
    pub of: Option<f64>,
    /// Epochs of the whole job, if its progress counts the work of one.
    pub epochs: Option<u32>,
    /// Deadline, seconds since the start of the job.
    pub deadline_secs: Option<f64>,
    /// Price of an hour.
    pub hourly_price: Option<f64>,
    /// The job on other configurations.
    pub plan: Option<RestartPlan>,
    /// Units of work between two checkpoints; `None` if the job writes none.
    pub checkpoint_every: Option<f64>,
}

/// State of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It runs, and has reported too little.
    Starting,
    /// It runs.
    Running,
    /// It has done all of its work.
    Finished,
    /// It has ended before.
    Ended,
}

/// How a followed job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// With success: its work is done, whatever it reported last.
    Succeeded,
    /// With an error.
    Failed,
    /// Not known, as of the process of another program.
    Unknown,
}

/// A line of `foreglow watch`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WatchAnswer {
    schema: u32,
    /// State of the job.
    pub state: JobState,
    unit: Option<String>,
    done: Option<f64>,
    of: Option<f64>,
    /// Time since the job started, seconds: as its log or its process tells, or since it is
    /// followed.
    elapsed_secs: f64,
    /// Time since the last report of work, seconds.
    since_report_secs: Option<f64>,
    left_secs: Option<f64>,
    left_interval: Option<Interval>,
    finishes_at: Option<Timestamp>,
    /// Start-up and work together, seconds.
    whole_secs: Option<f64>,
    deadline_probability: Option<f64>,
    cost: Option<Cost>,
    /// The other configuration that is worth a restart.
    #[serde(skip_serializing_if = "Option::is_none")]
    restart: Option<RestartAdvice>,
    /// Why the time left is unknown.
    reason: Option<String>,
}

/// Cost of a followed job, in the currency of the price.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Cost {
    so_far: f64,
    at_the_end: Option<f64>,
    lower: Option<f64>,
    upper: Option<f64>,
}

impl WatchAnswer {
    /// Returns the state of a job at a moment; `elapsed_secs` is its time so far.
    pub fn new(
        question: &WatchQuestion,
        observed: Option<&Observed>,
        elapsed_secs: f64,
        end: Option<JobEnd>,
        now: Timestamp,
    ) -> Self {
        let curve = observed.map(|observed| &observed.curve);
        let done = curve.and_then(|curve| Some(curve.last()?.1));
        let of = curve.and_then(|curve| question.of.or_else(|| curve.whole(question.epochs)));
        let unreported = curve.filter(|_| end == Some(JobEnd::Unknown)).map_or(0.0, unreported_at_the_end);
        let is_complete =
            end == Some(JobEnd::Succeeded) || done.zip(of).is_some_and(|(done, of)| done + unreported >= of);
        let has_ended = end.is_some();
        // The log of a job that has done its work may be old.
        let since_the_end = observed.filter(|_| is_complete && !has_ended).map(|observed| observed.since_report_secs);
        let elapsed_secs = elapsed_secs - since_the_end.unwrap_or(0.0);
        let mut answer = Self {
            schema: SCHEMA,
            state: match (is_complete, has_ended) {
                (true, _) => JobState::Finished,
                (false, true) => JobState::Ended,
                (false, false) => JobState::Starting,
            },
            unit: curve.map(|curve| curve.unit.clone()),
            done,
            of,
            elapsed_secs,
            since_report_secs: observed.map(|observed| observed.since_report_secs),
            left_secs: None,
            left_interval: None,
            finishes_at: None,
            whole_secs: None,
            deadline_probability: None,
            cost: None,
            restart: None,
            reason: None,
        };
        let is_over = is_complete || has_ended;
        if !is_over {
            match whole_job(observed, of) {
                Ok((job, observed)) => answer.expect(&job, observed, question, now),
                Err(reason) => answer.reason = Some(reason),
            }
        }
        let cost = |secs: f64| question.hourly_price.map(|price| price * secs / 3600.0);
        let ends_within = |secs: f64| cost(elapsed_secs + secs);
        answer.cost = cost(elapsed_secs).map(|so_far| Cost {
            so_far,
            at_the_end: answer.left_secs.and_then(ends_within),
            lower: answer.left_interval.and_then(|left| ends_within(left.lower_secs)),
            upper: answer.left_interval.and_then(|left| ends_within(left.upper_secs)),
        });
        let running = answer.running_job(question);
        answer.restart = question.plan.as_ref().zip(running).and_then(|(plan, job)| plan.advice(&job));
        answer
    }

    /// Returns the job, whose last checkpoint is the last multiple of its distance.
    fn running_job(&self, question: &WatchQuestion) -> Option<RunningJob> {
        let kept = question.checkpoint_every.zip(self.done).map_or(0.0, |(every, done)| (done / every).floor() * every);
        Some(RunningJob {
            elapsed_secs: self.elapsed_secs,
            left_secs: self.left_secs?,
            left: self.left_interval?,
            left_cost: self.cost.and_then(|cost| Some(cost.at_the_end? - cost.so_far)),
            kept: (kept / self.of?).clamp(0.0, 1.0),
            deadline: question.deadline_secs.zip(self.deadline_probability),
        })
    }

    /// Adds the time left.
    fn expect(&mut self, job: &WholeJob, observed: &Observed, question: &WatchQuestion, now: Timestamp) {
        self.state = JobState::Running;
        let so_far = observed.elapsed_secs();
        let left = |secs: f64| (secs - so_far).max(0.0);
        let left_secs = left(job.secs);
        self.left_secs = Some(left_secs);
        self.left_interval = Some(Interval {
            lower_secs: left(job.lower_secs),
            upper_secs: left(job.upper_secs),
            probability: INTERVAL_PROBABILITY,
        });
        self.finishes_at = Timestamp::from_millisecond(now.as_millisecond() + (left_secs * 1e3) as i64).ok();
        self.whole_secs = Some(self.elapsed_secs + left_secs);
        // The deadline on the clock of the curve, which may have started later than the job.
        self.deadline_probability =
            question.deadline_secs.map(|deadline| job.probability_within(deadline - self.elapsed_secs + so_far));
    }

    /// Returns the share of the work that is done, in [0, 1]; `None` if it is unknown.
    pub fn share_done(&self) -> Option<f64> {
        let share = self.done? / self.of?;
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }

    /// Returns whether the deadline is likely to be missed, or was missed.
    pub fn is_late(&self, question: &WatchQuestion) -> bool {
        let is_over = question.deadline_secs.is_some_and(|deadline| self.elapsed_secs > deadline);
        is_over || self.deadline_probability.is_some_and(|probability| probability < 0.5)
    }

    /// Returns the state as one line of text, such as `120 of 1,000 steps, 12 %; left 1 h 12 min
    /// (1 h 8 min to 1 h 17 min)`.
    pub fn line(&self, currency: &str) -> String {
        let work = match (self.done, self.of, &self.unit) {
            (Some(done), Some(of), Some(unit)) => {
                format!("{} of {} {unit}, {:.0} %", count(done), count(of), 100.0 * done / of)
            }
            (Some(done), None, Some(unit)) => format!("{} {unit}", count(done)),
            _ => "no progress yet".to_owned(),
        };
        let mut parts = vec![match self.state {
            JobState::Finished => format!("finished: {work}, in {}", rounded(self.elapsed_secs)),
            JobState::Ended => format!("ended early: {work}, after {}", rounded(self.elapsed_secs)),
            JobState::Starting | JobState::Running => work,
        }];
        if let Some(interval) = &self.left_interval {
            parts.push(format!("left {} ({})", format_time(self.left_secs, Some(interval)), range(interval)));
        }
        parts.extend(self.finishes_at.map(|at| format!("done at {at:.0}")));
        parts.extend(self.cost.map(|cost| match (cost.at_the_end, cost.lower, cost.upper) {
            (Some(end), Some(lower), Some(upper)) => {
                let error = (upper - lower) / 2.0;
                let [end, lower, upper] = [end, lower, upper].map(|money| Estimate::new(money, error).money(currency));
                format!("cost {}, at the end {end} ({lower} to {upper})", format_money(cost.so_far, currency))
            }
            _ => format!("cost {}", format_money(cost.so_far, currency)),
        }));
        let chance = |probability: f64| format!("meets the deadline with {}", format_probability(probability));
        parts.extend(self.deadline_probability.map(chance));
        parts.extend(self.restart.as_ref().map(|restart| restart.line(currency)));
        parts.extend(self.silence().map(|secs| format!("no report for {}", rounded(secs))));
        parts.extend(self.reason.clone());
        parts.join("; ")
    }

    /// Returns the time since the last report if it is unusually long, seconds.
    fn silence(&self) -> Option<f64> {
        let is_running = matches!(self.state, JobState::Starting | JobState::Running);
        let usual = self.elapsed_secs / self.done.filter(|done| *done > 0.0)?;
        self.since_report_secs.filter(|secs| is_running && *secs > LONG_SILENCE_SECS.max(10.0 * usual))
    }

    /// Returns the state as one line of JSON.
    pub fn json_line(&self) -> String {
        serde_json::to_string(self).expect("an answer holds only strings, numbers and lists")
    }
}

/// Returns the units that an ended job may have done after its last report: as many as between its
/// last two reports, and at least one, because some programs count from 0. An epoch is too much to
/// assume.
fn unreported_at_the_end(curve: &Curve) -> f64 {
    match curve.points.as_slice() {
        _ if curve.unit == "epochs" => 0.0,
        [.., (_, before), (_, last)] => (last - before).max(1.0),
        _ => 1.0,
    }
}

/// Returns the whole job, or why it is unknown.
fn whole_job(observed: Option<&Observed>, of: Option<f64>) -> Result<(WholeJob, &Observed), String> {
    let observed = observed.ok_or("waiting for the first line with progress")?;
    let of = of.ok_or_else(|| {
        format!("the progress does not tell how many {} the whole job has; give --of", observed.curve.unit)
    })?;
    match WholeJob::from_curve(&observed.curve, of) {
        Ok(job) => Ok((job, observed)),
        Err(CurveError::TooShort(reports)) => {
            Err(format!("{} so far; the time left needs some more", format_count(reports, "report")))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Formats a count of work, which may have a part of a unit.
fn count(units: f64) -> String {
    if units.fract() == 0.0 && units < 1e15 {
        foreglow_shared::format_integer(units as u64)
    } else {
        format!("{units:.2}")
    }
}

/// Formats a time that has an error of its own: whole seconds, and whole minutes from an hour on.
fn rounded(secs: f64) -> String {
    match secs {
        ..59.5 => format!("{secs:.0} s"),
        ..3599.5 => format!("{:.0} min {:02.0} s", (secs.round() / 60.0).floor(), secs.round() % 60.0),
        _ => format_duration((secs / 60.0).round() * 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(steps: u32, of: Option<f64>) -> Observed {
        let points = (0..=steps).map(|step| (10.0 + 2.0 * f64::from(step), f64::from(step))).collect();
        let curve = Curve { unit: "steps".to_owned(), of, per_epoch: None, points };
        Observed { curve, since_report_secs: 1.0, started_at: None }
    }

    fn now() -> Timestamp {
        "2026-11-28T18:00:00Z".parse().unwrap()
    }

    #[test]
    fn the_time_left_counts_from_now() {
        let question = WatchQuestion { deadline_secs: Some(3000.0), hourly_price: Some(3.6), ..Default::default() };
        let answer = WatchAnswer::new(&question, Some(&observed(100, Some(1000.0))), 300.0, None, now());
        // 900 steps of 2 s, one second of which has passed, and 2.5 s for the end of the program.
        assert!((answer.left_secs.unwrap() - 1801.5).abs() < 1e-6, "{answer:?}");
        assert!((answer.whole_secs.unwrap() - 2101.5).abs() < 1e-6);
        assert!(answer.deadline_probability.unwrap() > 0.99 && !answer.is_late(&question));
        insta::assert_snapshot!(answer.line("USD"), @"100 of 1,000 steps, 10 %; left 30 min (28 min 30 s to 31 min 30 s); done at 2026-11-28T18:30:01Z; cost USD 0.3000, at the end USD 2.10 (USD 2.01 to USD 2.19); meets the deadline with > 99 %");
        let late = WatchQuestion { deadline_secs: Some(1800.0), ..question };
        let answer = WatchAnswer::new(&late, Some(&observed(100, Some(1000.0))), 300.0, None, now());
        assert!(answer.is_late(&late) && answer.deadline_probability.unwrap() < 0.01);
    }

    #[test]
    fn a_restart_is_proposed_only_if_it_is_worth_it() {
        let plan = |secs: f64, cost: f64| {
            let text = format!(
                r#"{{"currency":"USD","startup":{{"median_secs":60.0}},"candidates":[{{"machine":"g5.xlarge","is_named":true,
                "machines":2,"executors":2,"cores_per_executor":4,"completion_time_secs":{secs},"cost":{cost},
                "interval":{{"lower_secs":{},"upper_secs":{},"probability":0.9}},"exclusion":null}}]}}"#,
                0.9 * secs,
                1.1 * secs
            );
            Some(RestartPlan::read(text.as_bytes()).unwrap())
        };
        let question = WatchQuestion { hourly_price: Some(3.6), plan: plan(1000.0, 0.5), ..Default::default() };
        let answer = |question: &WatchQuestion| {
            WatchAnswer::new(question, Some(&observed(150, Some(1000.0))), 311.0, None, now())
        };
        // 1,702 s are left, for 1.70.
        let from_the_start = answer(&question).restart.unwrap();
        assert!((from_the_start.left_secs - 1060.0).abs() < 1e-9, "{from_the_start:?}");
        let checkpoints = WatchQuestion { checkpoint_every: Some(100.0), ..question.clone() };
        let answered = answer(&checkpoints);
        assert!((answered.restart.as_ref().unwrap().left_secs - 960.0).abs() < 1e-9, "{answered:?}");
        insta::assert_snapshot!(answered.line("USD"));
        assert_eq!(answer(&WatchQuestion { plan: plan(1000.0, 1.7), ..question }).restart, None);
        let late = WatchQuestion { deadline_secs: Some(1900.0), plan: plan(1000.0, 5.0), ..checkpoints };
        assert_eq!(answer(&late).restart.unwrap().reason, "meets_deadline");
        assert!(RestartPlan::read(b"{}").unwrap_err().contains("foreglow plan"));
    }

    #[test]
    fn a_job_whose_size_or_progress_is_unknown_says_so() {
        let question = WatchQuestion::default();
        let answer = |observed: Option<&Observed>, end| WatchAnswer::new(&question, observed, 60.0, end, now());
        assert_eq!(answer(None, None).line("USD"), "no progress yet; waiting for the first line with progress");
        let unknown = answer(Some(&observed(50, None)), None);
        assert_eq!(
            unknown.line("USD"),
            "50 steps; the progress does not tell how many steps the whole job has; give --of"
        );
        assert_eq!(
            (unknown.state, answer(Some(&observed(50, None)), Some(JobEnd::Failed)).state),
            (JobState::Starting, JobState::Ended)
        );
        let short = answer(Some(&observed(1, Some(9.0))), None);
        assert_eq!(short.line("USD"), "1 of 9 steps, 11 %; 2 reports so far; the time left needs some more");
        let finished = answer(Some(&observed(9, Some(9.0))), None);
        assert_eq!((finished.state, finished.elapsed_secs), (JobState::Finished, 59.0), "a second ago");
        assert_eq!(answer(Some(&observed(8, Some(9.0))), None).state, JobState::Running);
        let state = |steps, end| answer(Some(&observed(steps, Some(9.0))), Some(end)).state;
        assert_eq!(state(8, JobEnd::Unknown), JobState::Finished, "steps from 0");
        assert_eq!(state(7, JobEnd::Unknown), JobState::Ended);
        assert_eq!(state(7, JobEnd::Succeeded), JobState::Finished);
        let given = WatchQuestion { of: Some(100.0), ..question.clone() };
        assert!(WatchAnswer::new(&given, Some(&observed(50, None)), 60.0, None, now()).left_secs.is_some());
    }
}
