//! Text of predicted numbers, with the digits that their error supports.

use crate::format::{LEAST_MONEY, format_duration, format_money};

/// Steps to which times are rounded, seconds.
const STEPS_SECS: [f64; 9] = [0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0, 36_000.0, 360_000.0];
/// The error spans at least this many steps.
const STEPS_OF_ERROR: f64 = 3.0;
/// Limit on the decimals of money.
const MOST_DECIMALS: usize = 12;
/// The number has at least this many steps: two significant digits.
const STEPS_OF_VALUE: f64 = 10.0;

/// A predicted number and its error. Its text has as many digits as the error supports, and two at
/// least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    value: f64,
    error: f64,
}

impl Estimate {
    /// A number with half the width of its interval, in the same unit.
    pub fn new(value: f64, error: f64) -> Self {
        Self { value, error }
    }

    /// A number without a known interval, which gets two digits.
    pub fn rough(value: f64) -> Self {
        Self::new(value, f64::INFINITY)
    }

    /// Formats seconds: `3.2 s`, `12 s`, `4 min 05 s`, `6 h 30 min`, `25 h`.
    ///
    /// ```
    /// # use foreglow_shared::Estimate;
    /// assert_eq!(Estimate::new(10.89, 6.2).duration(), "11 s");
    /// assert_eq!(Estimate::new(10.89, 0.2).duration(), "10.89 s");
    /// assert_eq!(Estimate::new(23_501.0, 41_000.0).duration(), "6 h 30 min");
    /// assert_eq!(Estimate::new(88_722.0, 41_000.0).duration(), "25 h");
    /// ```
    pub fn duration(self) -> String {
        let Self { value: secs, .. } = self;
        let resolution = self.resolution();
        let step = STEPS_SECS.into_iter().rfind(|step| *step <= resolution).unwrap_or_default();
        let finest = match secs {
            ..1.0 => 0.001,
            ..60.0 => 0.01,
            ..3_600.0 => 0.1,
            _ => 1.0,
        };
        if !secs.is_finite() || step <= finest {
            return format_duration(secs);
        }
        let rounded = (secs / step).round() * step;
        match rounded {
            ..60.0 if step < 0.1 => format!("{rounded:.2} s"),
            ..60.0 if step < 1.0 => format!("{rounded:.1} s"),
            ..60.0 => format!("{rounded:.0} s"),
            ..3_600.0 if rounded % 60.0 != 0.0 => {
                format!("{:.0} min {:02.0} s", (rounded / 60.0).floor(), rounded % 60.0)
            }
            _ => format_duration(rounded),
        }
    }

    /// Formats money: `USD 15`, `USD 3.20`, `USD 0.13`, and less than a cent as `< USD 0.01`.
    ///
    /// ```
    /// # use foreglow_shared::Estimate;
    /// assert_eq!(Estimate::new(14.96, 26.0).money("USD"), "USD 15");
    /// assert_eq!(Estimate::new(14.96, 0.5).money("USD"), "USD 15.00");
    /// assert_eq!(Estimate::new(0.1258, 0.07).money("USD"), "USD 0.13");
    /// assert_eq!(Estimate::new(0.0001258, 0.00007).money("USD"), "< USD 0.01");
    /// ```
    pub fn money(self, currency: &str) -> String {
        let Self { value: amount, .. } = self;
        let resolution = self.resolution();
        let finest = if amount < 1.0 { amount / 1e3 } else { 0.01 };
        if !amount.is_finite() || resolution <= finest || amount < LEAST_MONEY {
            return format_money(amount, currency);
        }
        let (mut step, mut decimals) = (1e12, 0_usize);
        while step > resolution && decimals < MOST_DECIMALS {
            decimals += usize::from(step <= 1.0);
            step /= 10.0;
        }
        match decimals {
            0 => format!("{currency} {:.0}", (amount / step).round() * step),
            // Cents are written in full.
            1 => format!("{currency} {:.2}", (amount * 10.0).round() / 10.0),
            _ => format!("{currency} {amount:.decimals$}"),
        }
    }

    /// Formats percent: `20 %`, `1.2 %`, `0.04 %`.
    ///
    /// ```
    /// # use foreglow_shared::Estimate;
    /// let shown = [20.33, 1.234, 0.0349].map(|percent| Estimate::rough(percent).percent());
    /// assert_eq!(shown, ["20 %", "1.2 %", "0.03 %"]);
    /// ```
    pub fn percent(self) -> String {
        let decimals = match self.resolution() {
            1.0.. => 0,
            0.1.. => 1,
            _ => 2,
        };
        format!("{:.decimals$} %", self.value)
    }

    /// The largest step of the text, in the unit of the number.
    fn resolution(self) -> f64 {
        let of_value = self.value.abs() / STEPS_OF_VALUE;
        if self.error.is_finite() { of_value.min(self.error / STEPS_OF_ERROR) } else { of_value }
    }
}
