//! Counts of what held.

use std::iter::Sum;
use std::ops::Add;

/// Numbers of tested runs and of those inside their interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    /// Runs inside.
    pub held: usize,
    /// All.
    pub tested: usize,
}

impl Covered {
    /// Counts one more run.
    pub(crate) fn count(&mut self, is_held: bool) {
        *self = *self + Self { held: usize::from(is_held), tested: 1 };
    }

    /// Returns the share of the tested runs; `None` if there are none.
    pub fn percent(self) -> Option<f64> {
        (self.tested > 0).then(|| 100.0 * self.held as f64 / self.tested as f64)
    }
}

impl Add for Covered {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { held: self.held + other.held, tested: self.tested + other.tested }
    }
}

impl Sum for Covered {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Self::add)
    }
}
