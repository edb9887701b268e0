//! The newest samples of equal runs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::failure::{Failure, Outcome};
use super::row::Value;

/// Limit on the samples of equal runs, also for the planner's fit. Further repeats of a setting
/// hardly change its median.
pub const MOST_EQUAL: usize = 16;
/// Digits of a position in the store: enough for 2⁴⁸ samples.
const DIGITS: usize = 12;
/// Length of the longest text.
pub(super) const MOST_DIGITS: i32 = (MOST_EQUAL * DIGITS) as i32;

/// Positions of at most [`MOST_EQUAL`] samples. Stored as a text of hexadecimal digits, the newest
/// last, because both databases append to and truncate texts with the same functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Newest(BTreeSet<i64>);

impl Newest {
    pub(super) fn parse(text: &str) -> Outcome<Self> {
        let position =
            |digits: &[u8]| std::str::from_utf8(digits).ok().and_then(|text| i64::from_str_radix(text, 16).ok());
        let positions: Option<BTreeSet<i64>> = text.as_bytes().chunks(DIGITS).map(position).collect();
        positions.map(Self).ok_or_else(|| Failure::Unexpected(Value::Text(text.to_owned())))
    }

    /// Adds a position, in any order, and drops the oldest above the limit.
    pub(super) fn add(&mut self, position: i64) {
        self.0.insert(position);
        if self.0.len() > MOST_EQUAL {
            self.0.pop_first();
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::with_capacity(self.0.len() * DIGITS);
        for position in &self.0 {
            // Writing to a string does not fail.
            let _ = write!(text, "{position:0DIGITS$x}");
        }
        text
    }

    /// Returns the position of the newest sample, or 0 without one.
    pub(super) fn latest(&self) -> i64 {
        self.0.last().copied().unwrap_or(0)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the positions, the newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = i64> + '_ {
        self.0.iter().rev().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_keeps_the_newest_positions_in_their_order() {
        let mut newest = Newest::default();
        for position in [7, (1 << 48) - 1, 3].into_iter().chain(100..117) {
            newest.add(position);
        }
        let text = newest.text();
        assert_eq!(text.len(), MOST_EQUAL * DIGITS);
        assert_eq!(Newest::parse(&text).unwrap(), newest);
        assert_eq!((newest.len(), newest.latest()), (MOST_EQUAL, (1 << 48) - 1));
        assert_eq!(newest.newest_first().nth(1), Some(116));
        assert_eq!(newest.newest_first().last(), Some(102));
        assert!(Newest::parse("00000000000g").is_err());
        assert_eq!(Newest::parse("").unwrap(), Newest::default());
    }
}
