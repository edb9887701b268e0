//! A curve that is recorded with a bounded number of points.

use foreglow_shared::MOST_CURVE_POINTS;

/// First points that are never dropped, because start-up and warm-up need the finest resolution.
const HEAD: usize = 64;

/// Steps per second of recorded times, which keeps their decimal form short.
const RESOLUTION: f64 = 1e4;

/// Records the points of a [`Curve`](foreglow_shared::Curve) in ascending order, and drops some,
/// evenly over time, when there are too many.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    points: Vec<(f64, f64)>,
    /// The newest point, which need not be among the kept ones.
    last: Option<(f64, f64)>,
    /// Least time between two kept points after the head, seconds.
    spacing: f64,
}

impl Recorder {
    /// Adds a point; ignores work that is not above that of the last one.
    pub fn push(&mut self, secs: f64, done: f64) {
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
        self.last
    }

    /// Returns the points.
    pub fn points(&self) -> Vec<(f64, f64)> {
        let newest = self.last.filter(|last| self.points.last() != Some(last));
        self.points.iter().copied().chain(newest).collect()
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

    #[test]
    fn steps_at_one_moment_stay_bounded() {
        let mut recorder = Recorder::default();
        (0..10_000).for_each(|step| recorder.push(1.0, f64::from(step)));
        assert!(recorder.points().len() <= MOST_CURVE_POINTS);
    }
}
