//! Limits on the requests of each token.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Burst of requests that a token may accumulate, minutes.
const BURST: f64 = 1.0 / 6.0;
const SECS_PER_MINUTE: f64 = 60.0;
/// Number of buckets from which on those that are full again are forgotten.
const MOST_BUCKETS: usize = 10_000;
const FULL_AGAIN: Duration = Duration::from_mins(1);

/// Token buckets, one for each access token.
#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<HashMap<String, Bucket>>);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    /// Takes one request from the bucket.
    ///
    /// # Errors
    /// The time after which the token may send the next one.
    pub(super) fn take(&self, name: &str, per_minute: u32, now: Instant) -> Result<(), Duration> {
        let per_sec = f64::from(per_minute.max(1)) / SECS_PER_MINUTE;
        let most = (f64::from(per_minute) * BURST).max(1.0);
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_BUCKETS {
            buckets.retain(|_, bucket| now.saturating_duration_since(bucket.at) < FULL_AGAIN);
        }
        let full = Bucket { left: most, at: now };
        let bucket = buckets.entry(name.to_owned()).or_insert(full);
        let saved = now.saturating_duration_since(bucket.at).as_secs_f64() * per_sec;
        *bucket = Bucket { left: (bucket.left + saved).min(most), at: now };
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.left) / per_sec));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_may_send_a_burst_and_then_its_rate() {
        let (rates, start) = (Rates::default(), Instant::now());
        for _ in 0..10 {
            assert_eq!(rates.take("a", 60, start), Ok(()));
        }
        assert_eq!(rates.take("a", 60, start), Err(Duration::from_secs(1)));
        assert_eq!(rates.take("b", 60, start), Ok(()), "each token has its own limit");
        let later = start + Duration::from_secs(2);
        assert_eq!((rates.take("a", 60, later), rates.take("a", 60, later)), (Ok(()), Ok(())));
        assert!(rates.take("a", 60, later).is_err());
        assert_eq!(rates.take("a", 60, later + Duration::from_secs(3_600)), Ok(()));
    }
}
