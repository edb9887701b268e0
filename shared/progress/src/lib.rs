//! The progress of training programs, read from their output.
//!
//! [`Reader`] recognises the bars, counters and logs of common programs in raw output, live or from
//! a file, and gives the [`Curve`] of the work done over time:
//!
//! ```
//! use foreglow_progress::Reader;
//!
//! let mut reader = Reader::new();
//! reader.push(b"step 1/100 loss 2.3\nstep 2/1", 0.5);
//! reader.push(b"00 loss 2.2\n", 1.0);
//! assert_eq!((reader.done(), reader.of()), (Some(2.0), Some(100.0)));
//! ```

mod clock;
mod declared;
mod lines;
mod log_clock;
mod pattern;
mod reading;
mod recorder;
mod scan;
mod text;
mod track;

use foreglow_shared::Curve;

pub use crate::pattern::PatternError;
pub use crate::recorder::{Interruptions, Recorder};

use crate::clock::LineTime;
use crate::lines::Lines;
use crate::log_clock::LogClock;
use crate::pattern::Pattern;
use crate::reading::{Epoch, Reading, Source};
use crate::track::Track;

/// Bars and counters of one output that are followed at the same time.
const MOST_TRACKS: usize = 32;

/// Reads the progress of one run from its output.
///
/// Its memory is bounded; long lines are cut.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    pattern: Option<Pattern>,
    lines: Lines,
    progress: Progress,
}

/// The progress of the lines so far.
#[derive(Clone, Debug, Default)]
struct Progress {
    tracks: Vec<Track>,
    /// The last epoch that a line of its own announced.
    epoch: Option<Epoch>,
    clock: LogClock,
    /// Recorder of a new bar or counter.
    recorder: Recorder,
    batch_sizes: BatchSizes,
}

/// The batch sizes that the lines of a log tell: the first, and the last other one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct BatchSizes {
    first: Option<f64>,
    changed: Option<f64>,
}

impl Reader {
    /// Creates a reader of all known forms.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a reader of a log file that may have an interrupted run, whose interruptions count
    /// as no time ([`Recorder::of_file`]).
    pub fn of_file() -> Self {
        let progress = Progress { recorder: Recorder::of_file(), ..Progress::default() };
        Self { progress, ..Self::default() }
    }

    /// Creates a reader of the lines that match a regular expression, and of the own protocol. The
    /// expression has the named groups `step`, `images`, `epoch` or `rate` (per second), and may
    /// have `of`, the total of `step` or `images`.
    ///
    /// # Errors
    /// The text is not a regular expression, or no group counts work.
    pub fn with_pattern(pattern: &str) -> Result<Self, PatternError> {
        Ok(Self { pattern: Some(Pattern::new(pattern)?), ..Self::default() })
    }

    /// Adds a chunk of output that arrived `at_secs` after the start of the program. It may be cut
    /// anywhere. A time before the last one counts as no time passed.
    pub fn push(&mut self, bytes: &[u8], at_secs: f64) {
        let Self { pattern, lines, progress } = self;
        lines.push(bytes, at_secs, |line, at| progress.live(line, at, pattern.as_ref()));
    }

    /// Adds a chunk of a log file, whose lines tell the time themselves: by timestamps, by the
    /// elapsed time of bars, or by the time of a step. Other lines are ignored.
    pub fn push_recorded(&mut self, bytes: &[u8]) {
        let Self { pattern, lines, progress } = self;
        lines.push(bytes, 0.0, |line, _| progress.recorded(line, pattern.as_ref()));
    }

    /// Reads the last line, whose end is missing, after live output.
    pub fn finish(&mut self) {
        let Self { pattern, lines, progress } = self;
        lines.finish(|line, at| progress.live(line, at, pattern.as_ref()));
    }

    /// Reads the last line of a log file, whose end is missing.
    pub fn finish_recorded(&mut self) {
        let Self { pattern, lines, progress } = self;
        lines.finish(|line, _| progress.recorded(line, pattern.as_ref()));
    }

    /// Returns the units of work done, in [`Curve::unit`].
    pub fn done(&self) -> Option<f64> {
        self.progress.main()?.last().map(|(_, done)| done)
    }

    /// Returns the units of the whole job, if the program reported them.
    pub fn of(&self) -> Option<f64> {
        self.progress.curve()?.of
    }

    /// Returns the progress so far; `None` if no line reported any.
    pub fn curve(&self) -> Option<Curve> {
        self.progress.curve()
    }

    /// Returns the recorder of the curve, which tells what was left out of it.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.progress.main().map(Track::recorder)
    }

    /// Returns the first and the last batch size, if the lines of a log file tell two.
    pub fn changed_batch_size(&self) -> Option<(f64, f64)> {
        self.progress.batch_sizes.first.zip(self.progress.batch_sizes.changed)
    }

    /// Returns the first timestamp of a log file, seconds since 1970.
    pub fn started_at_secs(&self) -> Option<f64> {
        self.progress.clock.started_at_secs()
    }
}

impl Progress {
    fn live(&mut self, line: &[u8], at: f64, pattern: Option<&Pattern>) {
        let logged = declared::read_mllog(line);
        if let Some(mut reading) = read(line, logged, pattern).0 {
            self.find_epoch(&mut reading);
            let at = self.clock.at(at);
            self.add(&reading, at);
        }
    }

    fn recorded(&mut self, line: &[u8], pattern: Option<&Pattern>) {
        let logged = declared::read_mllog(line);
        let batch_size = logged.as_ref().and_then(|logged| logged.batch_size);
        let (reading, logged_ms) = read(line, logged, pattern);
        self.batch_sizes.add(batch_size.or_else(|| text::batch_size(line).filter(|_| reading.is_some())));
        let line_time = logged_ms.map(|ms| LineTime::At(ms / 1000.0));
        if let Some(line_time) = line_time {
            self.clock.since_first(line_time);
        }
        let Some(mut reading) = reading else { return };
        self.find_epoch(&mut reading);
        let line_time = line_time.or_else(|| clock::read(line));
        // A line without a time may still announce the epoch.
        let Some(at) = line_time.and_then(|line_time| self.time_of(&reading, line_time)) else { return };
        let track = self.add(&reading, at);
        if let Some(LineTime::Elapsed(secs)) = line_time {
            track.last_elapsed = secs;
        }
    }

    /// Returns the time of a reading of a log file, seconds since its first one.
    fn time_of(&mut self, reading: &Reading, line_time: LineTime) -> Option<f64> {
        if let Some(secs) = self.clock.since_first(line_time) {
            return Some(self.clock.at(secs));
        }
        if self.clock.has_timestamps() {
            return None;
        }
        let now = self.clock.now();
        let track = self.tracks.iter().find(|track| track.key == reading.key);
        let at = match (line_time, track) {
            (LineTime::Elapsed(secs), Some(track)) if secs >= track.last_elapsed => now + secs - track.last_elapsed,
            (LineTime::Elapsed(secs), _) => now + secs,
            (LineTime::PerStep(secs), Some(track)) => now + secs * track.steps_to(reading),
            // A bar that is printed only when it is complete.
            (LineTime::PerStep(secs), None) if reading.of == Some(reading.step) => now + secs * reading.step,
            (LineTime::PerStep(secs), None) => now + secs,
            (LineTime::At(_) | LineTime::Local(_), _) => return None,
        };
        Some(self.clock.at(at))
    }

    /// Keeps the epoch of a line such as `Epoch 1/3`, and adds it to the bars that follow. One
    /// without a total may be that of a metric, which is no start of an epoch.
    fn find_epoch(&mut self, reading: &mut Reading) {
        match (reading.source, reading.of) {
            (Source::Epochs, Some(_)) => self.epoch = Some(Epoch { number: reading.step, of: reading.of }),
            (Source::Steps, Some(_)) => reading.epoch = reading.epoch.or(self.epoch),
            _ => {}
        }
    }

    /// Adds a reading, whose epoch was found, and returns its track.
    fn add(&mut self, reading: &Reading, at: f64) -> &mut Track {
        let place = match self.tracks.iter().position(|track| track.key == reading.key) {
            Some(place) => place,
            None => self.insert(Track::new(reading, at, self.recorder.clone())),
        };
        self.tracks[place].push(reading, at);
        &mut self.tracks[place]
    }

    /// Adds a track, in the place of the least important one if there are too many.
    fn insert(&mut self, track: Track) -> usize {
        if self.tracks.len() < MOST_TRACKS {
            self.tracks.push(track);
            return self.tracks.len() - 1;
        }
        let least = (0..self.tracks.len()).min_by(|one, other| self.order(*one, *other)).unwrap_or(0);
        self.tracks[least] = track;
        least
    }

    fn order(&self, one: usize, other: usize) -> std::cmp::Ordering {
        let weight = |place: usize| self.tracks[place].weight();
        let (one, other) = (weight(one), weight(other));
        (one.0, one.1).cmp(&(other.0, other.1)).then(one.2.total_cmp(&other.2))
    }

    /// Returns the bar or counter that shows the progress of the job.
    fn main(&self) -> Option<&Track> {
        (0..self.tracks.len()).max_by(|one, other| self.order(*one, *other)).map(|place| &self.tracks[place])
    }

    fn curve(&self) -> Option<Curve> {
        let epochs = self.epoch.and_then(|epoch| epoch.of);
        self.main().map(|track| track.curve(epochs)).filter(|curve| !curve.points.is_empty() && curve.is_valid())
    }
}

/// Reads a line, and the time of a line of `:::MLLOG`.
fn read(line: &[u8], logged: Option<declared::Logged>, pattern: Option<&Pattern>) -> (Option<Reading>, Option<f64>) {
    if let Some(reading) = declared::read_protocol(line) {
        return (Some(reading), None);
    }
    match (pattern, logged) {
        (Some(pattern), _) => (pattern.read(line), None),
        (None, Some(logged)) => (logged.reading, Some(logged.time_ms)),
        (None, None) => (text::read(line), None),
    }
}

impl BatchSizes {
    fn add(&mut self, size: Option<f64>) {
        let Some(size) = size else { return };
        if *self.first.get_or_insert(size) != size || self.changed.is_some() {
            self.changed = Some(size);
        }
    }
}
