//! What a configuration costs by its time: the one rule of price sheets and machine types.

const SECS_PER_HOUR: f64 = 3600.0;
/// Tolerance for the rounding of quotients: a budget of exactly one bill pays for it.
const ROUNDING: f64 = 1e-12;

/// The cost of one configuration as a function of its completion time. Its units are executors or
/// machines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    pub(crate) units: f64,
    /// Fixed charge of a unit, before the discount.
    pub(crate) start: f64,
    /// Price of a unit per hour, before the discount.
    pub(crate) hour: f64,
    /// Share of the sum that the discount leaves.
    pub(crate) share: f64,
    /// Time before the completion time starts that is charged too, seconds.
    pub(crate) startup_secs: f64,
    /// Least charged time, seconds.
    pub(crate) minimum_secs: f64,
    /// The charged time is a multiple of this, seconds; 0 charges the exact time.
    pub(crate) increment_secs: f64,
}

impl Rate {
    /// Returns the charged time of a run, start-up included, seconds.
    pub fn billed_secs(&self, secs: f64) -> f64 {
        let secs = (secs + self.startup_secs).max(self.minimum_secs);
        if self.increment_secs > 0.0 { (secs / self.increment_secs).ceil() * self.increment_secs } else { secs }
    }

    /// Returns the cost of a run.
    pub fn cost(&self, secs: f64) -> f64 {
        self.units * (self.start + self.hour * self.billed_secs(secs) / SECS_PER_HOUR) * self.share
    }

    /// Returns the price of all units per hour, after the discount.
    pub fn hourly(&self) -> f64 {
        self.units * self.hour * self.share
    }

    /// Returns the price of all units per charged second, after the discount.
    pub fn second(&self) -> f64 {
        self.units * (self.hour / SECS_PER_HOUR * self.share)
    }

    /// Returns the fixed charge of all units, after the discount.
    pub fn charge(&self) -> f64 {
        self.units * (self.start * self.share)
    }

    /// Returns the longest run that `money` pays for, seconds; `None` if it does not even cover the
    /// start-up and the minimum.
    pub fn affordable_secs(&self, money: f64) -> Option<f64> {
        let unit = money / (self.units * self.share) - self.start;
        let mut billed = unit / self.hour * SECS_PER_HOUR;
        if self.increment_secs > 0.0 {
            billed = (billed * (1.0 + ROUNDING) / self.increment_secs).floor() * self.increment_secs;
        }
        let secs = billed.max(self.minimum_secs) - self.startup_secs;
        (billed * (1.0 + ROUNDING) >= self.minimum_secs && secs > 0.0).then_some(secs)
    }
}
