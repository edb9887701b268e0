//! A curve that is recorded with a bounded number of points.

use foreglow_shared::MOST_CURVE_POINTS;

/// First points that are never dropped, because start-up and warm-up need the finest resolution.
const HEAD: usize = 64;

/// Steps per second of recorded times, which keeps their decimal form short.
const RESOLUTION: f64 = 1e4;

/// Work that goes back after a pause of more than this multiple of the longest one before was
/// resumed or started again.
const RESTART_PAUSE: f64 = 2.0;

/// Records the points of a [`Curve`](foreglow_shared::Curve) in ascending order, and drops some,
/// evenly over time, when there are too many.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    points: Vec<(f64, f64)>,
    /// The newest point, which need not be among the kept ones.
    last: Option<(f64, f64)>,
    /// Least time between two kept points after the head, seconds.
    spacing: f64,
    /// What is cut out of an interrupted run; `None` if all time counts.
    cuts: Option<Cuts>,
}

/// What is cut out of a run that was interrupted.
#[derive(Clone, Debug, Default)]
struct Cuts {
    interruptions: Interruptions,
    /// Time that later points do not have, seconds.
    shift_secs: f64,
    /// Given time of the last reading, and the longest time between two, seconds.
    given_secs: Option<f64>,
    longest_secs: f64,
    /// The recording before work that went back and has not gone on yet.
    before: Option<Box<Recorder>>,
    /// The longest run before one that started again.
    earlier: Option<Box<Recorder>>,
}

/// What is left out of a recording, because the run was interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interruptions {
    /// Number of interruptions.
    pub count: u32,
    /// Their time, seconds.
    pub pause_secs: f64,
    /// Units of work that were done again, and count once.
    pub repeated: f64,
    /// Start of the recorded run after the first reading, seconds.
    pub start_secs: f64,
}

impl Recorder {
    /// Creates a recorder of a file, which may have an interrupted run. Work that goes back after a
    /// pause is resumed work: the pause is cut, and what is done again counts once.
    pub fn of_file() -> Self {
        Self { cuts: Some(Cuts::default()), ..Self::default() }
    }

    /// Whether work that goes back at this time is that of a resumed run, and not of another
    /// process or an evaluation.
    pub(crate) fn is_restart(&self, secs: f64) -> bool {
        let Some(Cuts { given_secs: Some(given), longest_secs, .. }) = self.cuts else { return false };
        longest_secs > 0.0 && secs - given > RESTART_PAUSE * longest_secs
    }

    /// Returns what was left out.
    pub fn interruptions(&self) -> Interruptions {
        self.settled().cuts.as_ref().map(|cuts| cuts.interruptions).unwrap_or_default()
    }

    /// Returns the longest run before one that started again.
    pub fn earlier(&self) -> Option<&Self> {
        self.settled().cuts.as_ref()?.earlier.as_deref()
    }

    /// Returns the recording without work that went back last and did not go on.
    fn settled(&self) -> &Self {
        self.cuts.as_ref().and_then(|cuts| cuts.before.as_deref()).unwrap_or(self)
    }

    /// Returns the time of a reading without the interruptions before it.
    fn without_interruptions(&mut self, secs: f64, done: f64) -> f64 {
        self.settle(done);
        let is_back = self.last.is_some_and(|(_, last)| done < last);
        if is_back && self.is_restart(secs) {
            self.rewind(secs, done);
        }
        let Some(cuts) = &mut self.cuts else { return secs };
        let pause = cuts.given_secs.map_or(0.0, |given| secs - given);
        if cuts.before.is_none() {
            cuts.longest_secs = cuts.longest_secs.max(pause);
        }
        cuts.given_secs = Some(secs);
        secs - cuts.shift_secs
    }

    /// Decides whether work that went back was resumed: if it passes the last one at once, it was
    /// something else, such as an evaluation.
    fn settle(&mut self, done: f64) {
        let last = self.last;
        let Some(cuts) = &mut self.cuts else { return };
        let Some(mut before) = cuts.before.take() else { return };
        if before.last.is_some_and(|(_, last)| done > last) {
            *self = *before;
        } else if last.is_some_and(|(_, last)| done <= last) {
            cuts.before = Some(before);
        } else if cuts.interruptions.start_secs > before.interruptions().start_secs {
            let done = |run: &Recorder| run.last.map_or(0.0, |last| last.1);
            let earlier = cuts.earlier.take().filter(|earlier| done(earlier) > done(&before));
            if let Some(cuts) = &mut before.cuts {
                cuts.earlier = None;
            }
            cuts.earlier = Some(earlier.unwrap_or(before));
        }
    }

    /// Goes back to where some work was done.
    fn rewind(&mut self, secs: f64, done: f64) {
        let last = self.last.map_or(0.0, |last| last.1);
        // Of several times that work went back without going on, the first has the run before.
        let before = self.cuts.as_mut().and_then(|cuts| cuts.before.take()).unwrap_or_else(|| Box::new(self.clone()));
        let Some(cuts) = &mut self.cuts else { return };
        let kept = self.points.partition_point(|point| point.1 < done);
        let reached = match (self.points[..kept].last(), self.points.get(kept).or(self.last.as_ref())) {
            (Some(from), Some(to)) if to.1 > from.1 => from.0 + (to.0 - from.0) * (done - from.1) / (to.1 - from.1),
            (_, next) => next.map_or(0.0, |next| next.0),
        };
        let interruptions = &mut cuts.interruptions;
        interruptions.count += 1;
        interruptions.pause_secs += secs - cuts.given_secs.unwrap_or(secs);
        interruptions.repeated += last - done;
        cuts.shift_secs = secs - reached;
        if kept == 0 {
            interruptions.start_secs = cuts.shift_secs;
        }
        self.points.truncate(kept);
        self.last = self.points.last().copied();
        cuts.before = Some(before);
    }

    /// Adds a point; ignores work that is not above that of the last one.
    pub fn push(&mut self, secs: f64, done: f64) {
        let secs = self.without_interruptions(secs, done);
        let (last_secs, last_done) = self.last.unwrap_or((0.0, f64::NEG_INFINITY));
        if done <= last_done {
            return;
        }
        let point = ((secs.max(last_secs) * RESOLUTION).round() / RESOLUTION, done);
        self.last = Some(point);
        let is_due = self.points.last().is_none_or(|kept| point.0 - kept.0 >= self.spacing);
        if self.points.len() < HEAD || is_due {
            self.points.push(point);
        }
        if self.points.len() >= MOST_CURVE_POINTS {
            self.thin();
        }
    }

    /// Returns the newest point: seconds and work.
    pub fn last(&self) -> Option<(f64, f64)> {
        self.settled().last
    }

    /// Returns the points.
    pub fn points(&self) -> Vec<(f64, f64)> {
        let Self { points, last, .. } = self.settled();
        let newest = last.filter(|last| points.last() != Some(last));
        points.iter().copied().chain(newest).collect()
    }

    /// Keeps about half of the room for later points.
    fn thin(&mut self) {
        let tail = &self.points[HEAD..];
        let (Some(first), Some(last)) = (tail.first(), tail.last()) else { return };
        self.spacing = (2.0 * self.spacing).max((last.0 - first.0) * 2.0 / tail.len() as f64);
        let mut kept_at = self.points[HEAD - 1].0;
        let mut position = 0;
        let spacing = self.spacing;
        self.points.retain(|(secs, _)| {
            position += 1;
            let is_kept = position <= HEAD || secs - kept_at >= spacing;
            if is_kept {
                kept_at = *secs;
            }
            is_kept
        });
        // Points at one moment have no spacing in time.
        if self.points.len() >= MOST_CURVE_POINTS {
            let mut position = 0;
            self.points.retain(|_| {
                position += 1;
                position <= HEAD || position % 2 == 0
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_beginning_its_end_and_its_course() {
        let mut recorder = Recorder::default();
        for step in 0..100_000_u32 {
            recorder.push(f64::from(step) * 0.125, f64::from(step));
            assert!(recorder.points.len() < MOST_CURVE_POINTS);
        }
        let points = recorder.points();
        assert!(points.len() > MOST_CURVE_POINTS / 3, "{}", points.len());
        assert_eq!((points[10], points.last()), ((1.25, 10.0), Some(&(12_499.875, 99_999.0))));
        let widest = points.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(0.0, f64::max);
        assert!(widest < 12_500.0 / 150.0, "{widest}");
        assert!(points.iter().all(|(secs, done)| (secs - done * 0.125).abs() < 1e-6));
    }

    fn recorded(readings: &[(f64, f64)]) -> Recorder {
        let mut recorder = Recorder::of_file();
        readings.iter().for_each(|(secs, done)| recorder.push(*secs, *done));
        recorder
    }

    #[test]
    fn resumed_work_counts_once_and_without_the_pause() {
        let recorder = recorded(&[(0.0, 10.0), (1.0, 20.0), (2.0, 30.0), (100.0, 15.0), (101.0, 25.0), (102.0, 35.0)]);
        assert_eq!(recorder.points(), [(0.0, 10.0), (0.5, 15.0), (1.5, 25.0), (2.5, 35.0)]);
        let cut = Interruptions { count: 1, pause_secs: 98.0, repeated: 15.0, start_secs: 0.0 };
        assert_eq!((recorder.interruptions(), recorder.earlier().is_none()), (cut, true));
        // Not after a short pause, and not while the output arrives.
        let short = recorded(&[(0.0, 10.0), (1.0, 20.0), (2.0, 30.0), (3.0, 15.0), (4.0, 25.0), (5.0, 35.0)]);
        assert_eq!((short.points()[3], short.interruptions().count), ((5.0, 35.0), 0));
    }

    #[test]
    fn a_run_that_starts_again_is_the_run_and_the_one_before_is_kept() {
        let mut readings = vec![(5.0, 1.0), (6.0, 2.0), (7.0, 3.0), (90.0, 1.0), (92.0, 2.0)];
        let recorder = recorded(&readings);
        assert_eq!((recorder.points(), recorder.interruptions().start_secs), (vec![(5.0, 1.0), (7.0, 2.0)], 85.0));
        assert_eq!(recorder.earlier().unwrap().points().len(), 3);
        readings.extend([(300.0, 1.0), (303.0, 2.0), (306.0, 3.0), (309.0, 4.0)]);
        let recorder = recorded(&readings);
        assert_eq!((recorder.last(), recorder.interruptions().count), (Some((14.0, 4.0)), 2));
        assert_eq!(recorder.earlier().unwrap().last(), Some((7.0, 3.0)));
    }

    #[test]
    fn work_that_goes_back_again_and_again_keeps_one_earlier_run() {
        let mut readings = vec![(0.0, 1e5), (1.0, 1e5 + 1.0)];
        readings.extend((1..100_000_u32).map(|time| (10.0 * f64::from(time), 1e5 - f64::from(time))));
        let recorder = recorded(&readings);
        assert_eq!((recorder.last(), recorder.interruptions().count), (Some((1.0, 1e5 + 1.0)), 0));
    }

    #[test]
    fn a_count_of_something_else_after_a_pause_is_no_resumed_work() {
        let training = [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)];
        let evaluation = [(50.0, 1.0), (50.5, 1.0)];
        let recorder = recorded(&[&training[..], &evaluation].concat());
        assert_eq!((recorder.points(), recorder.interruptions().count), (training.to_vec(), 0));
        let recorder = recorded(&[&training[..], &evaluation, &[(51.0, 4.0)]].concat());
        assert_eq!((recorder.points().len(), recorder.last()), (4, Some((51.0, 4.0))));
    }

    #[test]
    fn steps_at_one_moment_stay_bounded() {
        let mut recorder = Recorder::default();
        (0..10_000).for_each(|step| recorder.push(1.0, f64::from(step)));
        assert!(recorder.points().len() <= MOST_CURVE_POINTS);
    }
}
