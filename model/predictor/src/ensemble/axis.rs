//! The measured values of a numeric feature, and their ends.

use serde::{Deserialize, Serialize};

/// The measured values of a numeric feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Axis {
    /// Distinct, ascending.
    pub(crate) levels: Vec<f64>,
    /// Whether candidates use the logarithm: all values are above 0.
    pub(crate) log: bool,
}

impl Axis {
    pub(crate) fn smallest(&self) -> f64 {
        self.levels.first().copied().unwrap_or_default()
    }

    pub(crate) fn largest(&self) -> f64 {
        self.levels.last().copied().unwrap_or_default()
    }

    /// Returns the last value on a side.
    pub(crate) fn last(&self, side: Side) -> f64 {
        match side {
            Side::Above => self.largest(),
            Side::Below => self.smallest(),
        }
    }

    /// Returns the index of a value.
    pub(crate) fn place(&self, value: f64) -> usize {
        self.levels.partition_point(|level| *level < value)
    }

    pub(crate) fn varies(&self) -> bool {
        self.levels.len() > 1
    }

    /// Returns a value on the scale that candidates use.
    pub(crate) fn see(&self, x: f64) -> f64 {
        if self.log { libm::log(x) } else { x }
    }

    /// Returns the number of another axis's values that are within this range.
    pub(crate) fn between(&self, all: &Self) -> usize {
        all.levels.iter().filter(|x| (self.smallest()..=self.largest()).contains(x)).count()
    }

    /// Returns 1 at a measured value, falling to 0 at the next ones; beyond the last one it stays.
    pub(crate) fn nearness(&self, value: f64, x: f64) -> f64 {
        let place = self.place(value);
        let next = if x > value { place.checked_add(1) } else { place.checked_sub(1) };
        let share = |next: &f64| (self.see(*next) - self.see(x)) / (self.see(*next) - self.see(value));
        next.and_then(|place| self.levels.get(place)).map_or(1.0, share).max(0.0)
    }
}

/// End of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Side {
    Below,
    Above,
}

impl Side {
    pub(crate) fn is_beyond(self, x: f64, end: f64) -> bool {
        match self {
            Self::Above => x > end,
            Self::Below => x < end,
        }
    }
}

/// Where the range of a context ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct End {
    /// The numeric feature, by index.
    pub(crate) column: usize,
    pub(crate) side: Side,
    /// Its last value, by index among all values of the feature.
    pub(crate) level: usize,
}
