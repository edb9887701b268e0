//! Unknown tokens, which may be guesses: limited and reported by address.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use foreglow_exit::complain;

use super::rate::Rates;

/// Unknown tokens that an address may send per minute.
const PER_MINUTE: u32 = 120;
/// Least time between two warnings about an address.
const WARNING_INTERVAL: Duration = Duration::from_mins(1);
/// Number of addresses from which on those without a recent warning are forgotten.
const MOST_WARNED: usize = 1_000;

/// The unknown tokens of each address.
#[derive(Debug, Default)]
pub(super) struct Unknown {
    rates: Rates,
    /// Time of the last warning about an address.
    warned: Mutex<HashMap<String, Instant>>,
}

impl Unknown {
    /// Counts an unknown token.
    ///
    /// # Errors
    /// The address has sent too many; the time until it may send the next one.
    pub(super) fn count(&self, address: &str, now: Instant) -> Result<(), Duration> {
        let counted = self.rates.take(address, PER_MINUTE, now);
        if counted.is_err() && self.is_due(address, now) {
            complain(&format!("foreglow: warning: {address} sends unknown tokens, more than {PER_MINUTE} per minute"));
        }
        counted
    }

    fn is_due(&self, address: &str, now: Instant) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < WARNING_INTERVAL;
        if warned.get(address).is_some_and(is_recent) {
            return false;
        }
        if warned.len() >= MOST_WARNED {
            warned.retain(|_, at| is_recent(at));
        }
        warned.insert(address.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_warned_about_once_a_minute() {
        let (unknown, start) = (Unknown::default(), Instant::now());
        assert!((0..PER_MINUTE).any(|_| unknown.count("192.0.2.1", start).is_err()));
        assert!(!unknown.is_due("192.0.2.1", start) && unknown.is_due("192.0.2.2", start));
        assert!(unknown.is_due("192.0.2.1", start + WARNING_INTERVAL));
        for number in 0..3 * MOST_WARNED {
            assert!(unknown.is_due(&number.to_string(), start + WARNING_INTERVAL * number as u32));
        }
        assert!(unknown.warned.lock().unwrap().len() <= MOST_WARNED);
    }
}
