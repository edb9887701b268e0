//! The time of a log, from the timestamps of its lines.

use crate::clock::LineTime;

/// Time zones differ by multiples of a quarter of an hour, seconds.
const ZONE_STEP_SECS: f64 = 900.0;
/// Clocks that differ by more than the outermost time zones, with a pause, show no zone, seconds.
const MOST_ZONE_SECS: f64 = 15.0 * 3600.0;

/// Time that never goes back, of lines that may have two clocks: one of a known time zone, and one
/// of the machine's.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogClock {
    now: f64,
    /// Added to the given times, because they were set back.
    offset: f64,
    last_given: f64,
    timestamps: Option<Timestamps>,
}

/// The timestamps of a log, on the clock of the first one, seconds since 1970.
#[derive(Clone, Copy, Debug)]
struct Timestamps {
    is_local: bool,
    first: f64,
    last: f64,
    /// What the other clock shows more, seconds.
    other_is_ahead: Option<f64>,
}

impl LogClock {
    /// Returns the time of the last line.
    pub fn now(&self) -> f64 {
        self.now
    }

    pub fn has_timestamps(&self) -> bool {
        self.timestamps.is_some()
    }

    /// Returns the first timestamp, seconds since 1970. A log that never tells its time zone is
    /// taken as of UTC.
    pub fn started_at_secs(&self) -> Option<f64> {
        let Timestamps { is_local, first, other_is_ahead, .. } = self.timestamps?;
        Some(first + other_is_ahead.filter(|_| is_local).unwrap_or(0.0))
    }

    /// Returns the seconds since the first timestamp; `None` for a time of another kind.
    pub fn since_first(&mut self, line_time: LineTime) -> Option<f64> {
        let (is_local, secs) = match line_time {
            LineTime::At(secs) => (false, secs),
            LineTime::Local(secs) => (true, secs),
            LineTime::Elapsed(_) | LineTime::PerStep(_) => return None,
        };
        let new = Timestamps { is_local, first: secs, last: secs, other_is_ahead: None };
        Some(self.timestamps.get_or_insert(new).add(is_local, secs))
    }

    /// Returns a time that is not before the last one: when the clock is set back, it goes on from
    /// the last time.
    pub fn at(&mut self, given: f64) -> f64 {
        if given < self.last_given {
            self.offset += self.last_given - given;
        }
        self.last_given = given;
        self.now = (given + self.offset).max(self.now);
        self.now
    }
}

impl Timestamps {
    /// Returns the seconds since the first one. A line of the other clock tells the difference of
    /// the two, because little time passes between two lines.
    fn add(&mut self, is_local: bool, secs: f64) -> f64 {
        let ahead = if is_local == self.is_local { 0.0 } else { self.ahead(secs) };
        self.last = secs - ahead;
        self.last - self.first
    }

    fn ahead(&mut self, secs: f64) -> f64 {
        let shown = secs - self.last;
        // A longer pause before the line counted as a part of the difference, if now time would go
        // back.
        let fits = |ahead: &f64| shown - ahead > -ZONE_STEP_SECS / 2.0;
        let zone = || (shown / ZONE_STEP_SECS).round() * ZONE_STEP_SECS;
        let found = self.other_is_ahead.filter(fits);
        *self.other_is_ahead.insert(found.unwrap_or_else(|| if shown.abs() > MOST_ZONE_SECS { 0.0 } else { zone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_clocks_of_one_log_are_one_time() {
        let mut clock = LogClock::default();
        let mut since_first = |line_time| clock.since_first(line_time).unwrap();
        // Local time is 5:30 h ahead, and the first of its lines comes after a pause of 20 minutes.
        let zone = 19_800.0;
        assert_eq!(since_first(LineTime::At(1e9)), 0.0);
        assert_eq!(since_first(LineTime::Local(1e9 + zone + 1200.0)), 300.0);
        assert_eq!(since_first(LineTime::At(1e9 + 1210.0)), 1210.0);
        assert_eq!(since_first(LineTime::Local(1e9 + zone + 1215.0)), 1215.0);
        assert_eq!(since_first(LineTime::At(1e9 + 1300.0)), 1300.0);
        assert_eq!(clock.started_at_secs(), Some(1e9));

        let mut clock = LogClock::default();
        assert_eq!(clock.since_first(LineTime::Local(1e9 - 25_200.0)), Some(0.0));
        assert_eq!(clock.since_first(LineTime::At(1e9 + 4.0)), Some(4.0));
        assert_eq!(clock.started_at_secs(), Some(1e9));
        assert_eq!(clock.since_first(LineTime::PerStep(1.0)), None);
    }
}
