//! Prediction intervals, and the text of predicted times and costs.

use foreglow_shared::{Estimate, format_duration, format_money};
use serde::{Deserialize, Serialize};

/// Prediction interval with its nominal probability. `docs/accuracy.md` has the measured coverage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end, seconds, 0 or more.
    pub lower_secs: f64,
    /// Upper end, seconds.
    pub upper_secs: f64,
    /// Nominal probability.
    pub probability: f64,
}

impl Interval {
    /// Half its width, seconds.
    pub fn error_secs(&self) -> f64 {
        (self.upper_secs - self.lower_secs) / 2.0
    }

    /// Formats its ends, with the digits that its width supports.
    pub fn ends(&self) -> [String; 2] {
        [self.lower_secs, self.upper_secs].map(|secs| Estimate::new(secs, self.error_secs()).duration())
    }
}

/// Formats a predicted time in seconds, with the digits that its interval supports; `unknown`
/// without a time.
///
/// ```
/// # use foreglow_predictor::{Interval, format_time};
/// let interval = Interval { lower_secs: 6.33, upper_secs: 18.75, probability: 0.9 };
/// assert_eq!(format_time(Some(10.89), Some(&interval)), "11 s");
/// assert_eq!(format_time(Some(10.89), None), "10.89 s");
/// assert_eq!(interval.ends(), ["6.3 s", "19 s"]);
/// ```
pub fn format_time(secs: Option<f64>, interval: Option<&Interval>) -> String {
    match (secs, interval) {
        (None, _) => "unknown".into(),
        (Some(secs), None) => format_duration(secs),
        (Some(secs), Some(interval)) => Estimate::new(secs, interval.error_secs()).duration(),
    }
}

/// Formats the cost of a predicted time in seconds, with the digits that the interval of the time
/// supports; `unknown` without a cost, and less than a cent as `< USD 0.01`.
pub fn format_cost(cost: Option<f64>, secs: Option<f64>, interval: Option<&Interval>, currency: &str) -> String {
    match (cost, secs.zip(interval)) {
        (None, _) => "unknown".into(),
        (Some(cost), None) => format_money(cost, currency),
        (Some(cost), Some((secs, interval))) => {
            Estimate::new(cost, cost * interval.error_secs() / secs).money(currency)
        }
    }
}
