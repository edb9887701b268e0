//! Follows a job while it runs: its log, one of its processes, or a command.

mod command;
mod growing_file;
mod process;

use std::time::{Duration, Instant};

use foreglow_progress::{PatternError, Reader};
use foreglow_shared::{Curve, Timestamp};

pub use self::command::FollowedCommand;
pub use self::growing_file::GrowingFile;
pub use self::process::RunningProcess;

/// The progress that one stream of a followed job tells.
///
/// The times of a log's lines are those that the lines tell, also of the part from before the
/// job was followed. If they tell none, the moments at which they arrive count.
#[derive(Clone, Debug)]
pub struct FollowedProgress {
    recorded: Reader,
    live: Reader,
    followed_since: Instant,
    /// The last report of work: the units, and when it arrived.
    last_report: Option<(f64, Instant)>,
}

/// The observed progress of a followed job.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The progress: times since the job started, or since it was followed.
    pub curve: Curve,
    /// Time since the last report, seconds.
    pub since_report_secs: f64,
    /// Start of the job, if its log tells it.
    pub started_at: Option<Timestamp>,
}

impl Observed {
    /// Returns the progress of the stream that tells most of it.
    pub fn of_streams(streams: &[FollowedProgress]) -> Option<Self> {
        let weight = |observed: &Self| (observed.curve.of.is_some(), observed.curve.points.len());
        streams.iter().filter_map(FollowedProgress::observed).max_by_key(weight)
    }

    /// Returns the time since the start of the curve, seconds.
    pub fn elapsed_secs(&self) -> f64 {
        self.curve.last().map_or(0.0, |(secs, _)| secs) + self.since_report_secs
    }
}

impl FollowedProgress {
    /// Follows the output of a job from now on; `pattern` is the regular expression of the lines
    /// with its progress, and `None` for all known forms.
    ///
    /// # Errors
    /// The pattern is not a regular expression, or no group counts work.
    pub fn new(pattern: Option<&str>) -> Result<Self, PatternError> {
        let reader = pattern.map_or_else(|| Ok(Reader::new()), Reader::with_pattern)?;
        Ok(Self { recorded: reader.clone(), live: reader, followed_since: Instant::now(), last_report: None })
    }

    /// Adds output that was there before the job was followed; `age` is the time since its end was
    /// written.
    pub fn push_history(&mut self, bytes: &[u8], age: Duration) {
        self.add(bytes, 0.0, Instant::now().checked_sub(age));
    }

    /// Adds output that arrives now.
    pub fn push(&mut self, bytes: &[u8]) {
        let now = Instant::now();
        self.add(bytes, (now - self.followed_since).as_secs_f64(), Some(now));
    }

    fn add(&mut self, bytes: &[u8], secs: f64, at: Option<Instant>) {
        self.recorded.push_recorded(bytes);
        self.live.push(bytes, secs);
        let done = self.live.done();
        if done != self.last_report.map(|(done, _)| done) {
            self.last_report = done.map(|done| (done, at.unwrap_or(self.followed_since)));
        }
    }

    /// Returns the progress so far; `None` if no line reported any.
    pub fn observed(&self) -> Option<Observed> {
        let (_, reported) = self.last_report?;
        let since_report_secs = reported.elapsed().as_secs_f64();
        if let Some(curve) = self.recorded.curve().filter(|_| self.recorded.done() == self.live.done()) {
            let started_at = self.recorded.started_at_secs().and_then(timestamp);
            return Some(Observed { curve, since_report_secs, started_at });
        }
        let mut curve = self.live.curve()?;
        // Of the work from before, only the last report has a time: that of the moment at which
        // the job was followed, or a little earlier.
        let before = curve.points.iter().take_while(|(secs, _)| *secs <= 0.0).count();
        curve.points.drain(..before.saturating_sub(1));
        Some(Observed { curve, since_report_secs, started_at: None })
    }
}

fn timestamp(secs: f64) -> Option<Timestamp> {
    Timestamp::from_millisecond((secs * 1e3) as i64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(steps: std::ops::RangeInclusive<u32>, line: impl Fn(u32) -> String) -> Vec<u8> {
        steps.map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn lines_with_times_tell_the_progress_from_before() {
        let mut followed = FollowedProgress::new(None).unwrap();
        let line = |step| format!("2026-11-28 18:00:{step:02},000 INFO step {step}/100 loss 1.5\n");
        followed.push_history(&lines(1..=20, line), Duration::from_secs(5));
        let observed = followed.observed().unwrap();
        assert_eq!(observed.curve.last(), Some((19.0, 20.0)));
        assert_eq!(observed.started_at, "2026-11-28T18:00:01Z".parse().ok());
        assert!((5.0..60.0).contains(&observed.since_report_secs), "{observed:?}");
    }

    #[test]
    fn lines_without_times_have_those_at_which_they_arrive() {
        let mut followed = FollowedProgress::new(None).unwrap();
        assert_eq!(followed.observed(), None);
        let line = |step| format!("step {step}/100 loss 1.5\n");
        followed.push_history(&lines(1..=20, line), Duration::ZERO);
        assert_eq!(followed.observed().unwrap().curve.points, [(0.0, 20.0)]);
        std::thread::sleep(Duration::from_millis(20));
        followed.push(&lines(21..=22, line));
        let curve = followed.observed().unwrap().curve;
        assert_eq!((curve.points[0], curve.last().map(|(_, done)| done)), ((0.0, 20.0), Some(22.0)));
        assert!(curve.last().unwrap().0 >= 0.02, "{curve:?}");
    }
}
