//! One bar or counter of an output, over the whole run.

use foreglow_shared::Curve;

use crate::reading::{Epoch, Reading, Source};
use crate::recorder::Recorder;

/// One bar or counter, whose counts of several epochs are added up.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub key: u64,
    pub source: Source,
    unit: String,
    of: Option<f64>,
    recorder: Recorder,
    /// Work before the current pass of the bar, less the count at which it starts.
    base: f64,
    last_step: f64,
    /// Largest advance within a pass.
    stride: f64,
    /// Epoch of the current pass, as printed.
    epoch: Option<Epoch>,
    /// Whether the bar starts again in each epoch.
    restarts: bool,
    /// Whether the count went on in a new epoch.
    is_global: bool,
    /// Time between advances within a pass, seconds.
    active_secs: f64,
    advances: u32,
    last_at: f64,
    /// Time in the bar's own clock.
    pub last_elapsed: f64,
}

impl Track {
    /// Creates a track, whose recorder is empty.
    pub fn new(reading: &Reading, at: f64, recorder: Recorder) -> Self {
        Self {
            key: reading.key,
            source: reading.source,
            unit: reading.unit.to_string(),
            of: reading.of,
            recorder,
            base: passed_epochs(reading) - reading.origin,
            last_step: reading.step,
            stride: 0.0,
            epoch: reading.epoch,
            restarts: false,
            is_global: false,
            active_secs: 0.0,
            advances: 0,
            last_at: at,
            last_elapsed: 0.0,
        }
    }

    /// Adds a reading of this bar.
    pub fn push(&mut self, reading: &Reading, at: f64) {
        if self.source == Source::Rate {
            self.integrate(reading.step, at);
            return;
        }
        if self.is_stale(reading) {
            if !self.recorder.is_restart(at) {
                return;
            }
            self.return_to(reading);
        }
        let is_new_epoch = is_later(reading.epoch, self.epoch);
        if reading.step < self.last_step || (reading.step == self.last_step && is_new_epoch) {
            let is_complete = self.of.is_some_and(|of| self.last_step + self.stride >= of);
            if is_new_epoch || (is_complete && reading.epoch.is_none()) {
                self.start_pass(reading);
                // A bar that is printed only at the end of each epoch advances all the time.
                if self.stride == 0.0 {
                    self.active_secs = at;
                    self.advances += 1;
                }
            }
        } else if reading.step > self.last_step {
            self.is_global |= is_new_epoch && !self.restarts;
            self.stride = self.stride.max(reading.step - self.last_step);
            self.active_secs += at - self.last_at;
            self.advances += 1;
        }
        self.epoch = reading.epoch.or(self.epoch);
        self.last_step = reading.step;
        self.last_at = at;
        // The last step of an earlier pass is the best total of a bar without one.
        self.recorder.push(at, self.base + reading.step);
    }

    fn start_pass(&mut self, reading: &Reading) {
        let passes = match (reading.epoch, self.epoch) {
            (Some(now), Some(before)) => (now.number - before.number).clamp(1.0, 1e6),
            _ => 1.0,
        };
        self.base += passes * self.of.unwrap_or(self.last_step);
        self.restarts = true;
        // The end of a pass and its start are no advance, but may be one pause.
        self.stride = self.stride.min(self.of.unwrap_or(f64::INFINITY));
    }

    /// Goes back to the epoch of a run that was resumed.
    fn return_to(&mut self, reading: &Reading) {
        if let (Some(now), Some(before), true) = (reading.epoch, self.epoch, self.restarts) {
            let passes = (before.number - now.number).max(0.0);
            self.base = (self.base - passes * self.of.unwrap_or(0.0)).max(0.0);
        }
        self.epoch = reading.epoch;
        self.last_step = reading.step;
    }

    /// Whether another process, which is still in an earlier pass, wrote the reading.
    fn is_stale(&self, reading: &Reading) -> bool {
        if is_later(self.epoch, reading.epoch) {
            return true;
        }
        let jump = reading.step - self.last_step;
        let is_late = self.of.is_some_and(|of| jump > 0.5 * of && reading.step + 2.0 * self.stride >= of);
        reading.epoch.is_none() && self.restarts && is_late && jump > 4.0 * self.stride
    }

    /// Adds up work from a rate per second.
    fn integrate(&mut self, rate: f64, at: f64) {
        let secs = (at - self.last_at).max(0.0);
        self.base += rate * secs;
        self.active_secs += secs;
        self.advances += 1;
        self.last_at = at;
        self.recorder.push(at, self.base);
    }

    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Returns the newest point: seconds and work.
    pub fn last(&self) -> Option<(f64, f64)> {
        self.recorder.last()
    }

    /// Returns the steps between the last reading and the next one; none if another process wrote
    /// one of the two.
    pub fn steps_to(&self, next: &Reading) -> f64 {
        let steps = next.step - self.last_step;
        if self.is_stale(next) {
            0.0
        } else if steps < 0.0 || is_later(next.epoch, self.epoch) && steps == 0.0 {
            // The rest of this pass, and the start of the next one.
            self.of.map_or(1.0, |of| (of - self.last_step).max(0.0) + next.step).max(1.0)
        } else {
            steps
        }
    }

    /// Returns how likely this is the main bar: kind of evidence, then the time in which it
    /// advanced. Few advances count less, because an outer bar always advances, and so do coarse
    /// counts: a counter of their steps is finer also if it is printed in a part of each epoch.
    pub fn weight(&self) -> (bool, bool, f64) {
        let coarseness = match self.source {
            Source::Epochs | Source::Blocks => 5.0,
            Source::Evaluations => 25.0,
            Source::Rate | Source::Steps | Source::Declared => 1.0,
        };
        let share = f64::from(self.advances.min(10)) / 10.0;
        let secs = (self.active_secs + 1e-9) * share * share / coarseness;
        (self.source >= Source::Evaluations, self.source != Source::Rate, secs)
    }

    /// Returns the curve; `epochs` is the number of epochs that other lines announced.
    pub fn curve(&self, epochs: Option<f64>) -> Curve {
        let counts_steps = self.source != Source::Epochs;
        let per_epoch =
            self.of.filter(|_| counts_steps && (self.restarts || (self.epoch.is_some() && !self.is_global)));
        let epochs = self.epoch.and_then(|epoch| epoch.of).or(epochs);
        let of = match per_epoch {
            Some(units) => epochs.map(|epochs| units * epochs),
            None => self.of,
        };
        let points = self.recorder.points();
        // A total that was passed is that of something else.
        let of = of.filter(|of| points.last().is_none_or(|last| last.1 <= of * (1.0 + 1e-9)));
        Curve { unit: self.unit.clone(), of, per_epoch, points }
    }
}

/// Returns the work of the epochs before the first one that was seen.
fn passed_epochs(reading: &Reading) -> f64 {
    // A run counts its epochs from 0 or from 1; a later first one means that the run was resumed.
    let passed = reading.epoch.map_or(0.0, |epoch| (epoch.number.floor() - 1.0).max(0.0));
    match (reading.source, reading.of) {
        (Source::Steps, Some(of)) => passed * of,
        _ => 0.0,
    }
}

fn is_later(one: Option<Epoch>, other: Option<Epoch>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one.number > other.number)
}
