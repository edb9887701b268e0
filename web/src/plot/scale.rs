//! Axes: the mapping from numbers to pixels, and the choice of ticks and labels.

/// The mapping of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// Equal differences have equal distances.
    #[default]
    Linear,
    /// Equal ratios have equal distances; for numbers above 0.
    Log,
}

/// Least number of labelled times of an axis.
const LEAST_TICKS: usize = 3;

/// An axis that maps `lower..=upper` to `start_px..=end_px`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    spread: Spread,
    lower: f64,
    upper: f64,
    start_px: f64,
    end_px: f64,
}

impl Scale {
    /// An axis over a range. An empty or invalid range is widened, so that every number has a
    /// position.
    pub fn new(spread: Spread, (lower, upper): (f64, f64), (start_px, end_px): (f64, f64)) -> Self {
        let spread = if spread == Spread::Log && !(lower > 0.0 && upper > 0.0) { Spread::Linear } else { spread };
        let (lower, upper) = match (lower.is_finite() && upper.is_finite() && lower <= upper, spread) {
            (false, Spread::Linear) => (0.0, 1.0),
            (false, Spread::Log) => (1.0, 10.0),
            (true, _) if lower < upper => (lower, upper),
            (true, Spread::Linear) => (lower - 0.5, upper + 0.5),
            (true, Spread::Log) => (lower / 2.0, upper * 2.0),
        };
        Self { spread, lower, upper, start_px, end_px }
    }

    /// The position of a number, pixels.
    pub fn px(&self, number: f64) -> f64 {
        let share = match self.spread {
            Spread::Linear => (number - self.lower) / (self.upper - self.lower),
            Spread::Log => (number / self.lower).ln() / (self.upper / self.lower).ln(),
        };
        // A hundredth of a pixel is invisible, and short numbers keep the markup small.
        ((self.start_px + share * (self.end_px - self.start_px)) * 100.0).round() / 100.0
    }

    /// The mapping of the axis.
    pub fn spread(&self) -> Spread {
        self.spread
    }

    /// The lower end.
    pub fn lower(&self) -> f64 {
        self.lower
    }

    /// The upper end.
    pub fn upper(&self) -> f64 {
        self.upper
    }

    /// Whether a number is within the axis.
    pub fn holds(&self, number: f64) -> bool {
        (self.lower..=self.upper).contains(&number)
    }

    /// About `count` round numbers within the range.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        self.inside(match self.spread {
            Spread::Linear => multiples(self.lower, self.upper, round_step((self.upper - self.lower) / count as f64)),
            Spread::Log => decades(self.lower, self.upper, count),
        })
    }

    /// About `count` round times within the range, at least [`LEAST_TICKS`], in steps of whole
    /// seconds, minutes or hours.
    fn even_time_ticks(&self, count: usize) -> Vec<f64> {
        const STEPS_SECS: [f64; 14] = [
            10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 10_800.0, 21_600.0, 43_200.0,
        ];
        let with = |count: usize| {
            let needed = (self.upper - self.lower) / count as f64;
            let step = STEPS_SECS.into_iter().find(|step| *step >= needed && needed > 5.0);
            self.inside(multiples(self.lower, self.upper, step.unwrap_or_else(|| round_step(needed))))
        };
        // Each doubling of the count halves the step; a range that rounding empties has no ticks.
        let mut counts = (0..8).map(|doubled| with(count.max(1) << doubled));
        counts.find(|ticks| ticks.len() >= LEAST_TICKS).unwrap_or_default()
    }

    /// About `count` times that are round in their unit: decimal below 10 s and above 5 days.
    fn log_time_ticks(&self, count: usize) -> Vec<f64> {
        const ROUND_SECS: [f64; 16] = [
            10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0, 18_000.0, 36_000.0,
            86_400.0, 172_800.0, 432_000.0,
        ];
        let below = decades(self.lower.min(5.0), 5.0, usize::MAX).into_iter().filter(|secs| *secs < 9.0);
        let above = (6..12).map(|exponent| 10f64.powi(exponent)).filter(|secs| *secs > 432_000.0);
        let ticks = self.inside(below.chain(ROUND_SECS).chain(above).collect());
        let stride = ticks.len().div_ceil(count.max(1) + 2).max(1);
        ticks.into_iter().step_by(stride).collect()
    }

    /// About `count` whole numbers within the range.
    pub fn whole_ticks(&self, count: usize) -> Vec<f64> {
        let step = round_step((self.upper - self.lower) / count as f64).max(1.0).round();
        let mut ticks = self.inside(multiples(self.lower, self.upper, step));
        if step > 1.0 && self.lower <= 1.0 {
            // Counts start at 1, regardless of the step.
            ticks.retain(|tick| *tick >= step);
            ticks.insert(0, 1.0);
        }
        ticks
    }

    /// About `count` labelled counts.
    pub fn count_ticks(&self, count: usize) -> Vec<(f64, String)> {
        let ticks = match self.spread {
            Spread::Linear => self.whole_ticks(count),
            Spread::Log => {
                let doubled = (0..31).map(|power| f64::from(1u32 << power)).take_while(|tick| *tick <= self.upper);
                let doubled: Vec<f64> = doubled.collect();
                let stride = doubled.len().div_ceil(count.max(1)).max(1);
                doubled.into_iter().step_by(stride).collect()
            }
        };
        ticks.into_iter().map(|tick| (tick, tick.to_string())).collect()
    }

    /// About `count` labelled numbers.
    pub fn number_ticks(&self, count: usize) -> Vec<(f64, String)> {
        self.ticks(count).into_iter().map(|tick| (tick, tick_number(tick))).collect()
    }

    /// About `count` labelled times, at least [`LEAST_TICKS`].
    pub fn labelled_times(&self, count: usize) -> Vec<(f64, String)> {
        if self.spread == Spread::Log {
            let ticks = self.log_time_ticks(count);
            if ticks.len() >= LEAST_TICKS {
                return ticks.into_iter().map(|secs| (secs, log_tick_time(secs))).collect();
            }
        }
        let ticks = self.even_time_ticks(count);
        let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        ticks.into_iter().map(|secs| (secs, tick_time(secs, step, self.upper))).collect()
    }

    fn inside(&self, ticks: Vec<f64>) -> Vec<f64> {
        let slack = 1e-9 * if self.spread == Spread::Log { self.lower } else { self.upper - self.lower };
        ticks.into_iter().filter(|tick| *tick >= self.lower - slack && *tick <= self.upper + slack).collect()
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = libm::exp10(libm::log10(step).floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|round| *round >= step * 0.999).unwrap_or(step)
}

fn multiples(lower: f64, upper: f64, step: f64) -> Vec<f64> {
    let first = (lower / step).ceil() as i64;
    let last = (upper / step + 1e-9).floor() as i64;
    (first..=last.min(first + 100)).map(|index| index as f64 * step).collect()
}

/// Powers of ten within the range, with their multiples by 2 and 5 if `count` allows them.
fn decades(lower: f64, upper: f64, count: usize) -> Vec<f64> {
    // Over less than a factor of 5, equal steps give more ticks.
    if upper / lower < 5.0 && count < usize::MAX {
        return multiples(lower, upper, round_step((upper - lower) / count as f64));
    }
    let digits: &[f64] = if (upper / lower).log10() * 3.0 <= count as f64 * 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let (first, last) = (lower.log10().floor() as i32, upper.log10().ceil() as i32);
    (first..=last).flat_map(|exponent| digits.iter().map(move |digit| digit * 10f64.powi(exponent))).collect()
}

/// Formats a number with ten significant digits and without trailing zeros, which hides rounding
/// errors.
pub fn tick_number(number: f64) -> String {
    let places = if number == 0.0 { 0 } else { (9 - number.abs().log10().floor() as i32).clamp(0, 15) };
    let text = format!("{number:.*}", places as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats a time on an axis that ends at `upper_secs`. The end and the distance of the ticks
/// determine the common unit, whose quarters are the finest steps.
fn tick_time(secs: f64, step_secs: f64, upper_secs: f64) -> String {
    let (length, unit) = match upper_secs {
        upper if upper >= 7_200.0 && step_secs >= 900.0 => (3_600.0, "h"),
        upper if upper >= 180.0 && step_secs >= 15.0 => (60.0, "min"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", tick_number(secs / length))
}

/// Formats a time on a logarithmic axis, in the largest unit that it reaches.
pub fn log_tick_time(secs: f64) -> String {
    let (length, unit) = match secs {
        secs if secs >= 86_400.0 => (86_400.0, "d"),
        secs if secs >= 3_600.0 => (3_600.0, "h"),
        secs if secs >= 60.0 => (60.0, "min"),
        _ => (1.0, "s"),
    };
    // Nine decimals hide rounding errors of seconds; larger units keep two.
    let decimals = if length > 1.0 { 1e2 } else { 1e9 };
    format!("{} {unit}", (secs / length * decimals).round() / decimals)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_linear_axis_places_numbers_in_proportion() {
        let scale = Scale::new(Spread::Linear, (0.0, 10.0), (100.0, 0.0));
        assert_eq!((scale.px(0.0), scale.px(2.5), scale.px(10.0)), (100.0, 75.0, 0.0));
        assert_eq!(scale.ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    }

    #[test]
    fn a_log_axis_places_equal_ratios_at_equal_distances() {
        let scale = Scale::new(Spread::Log, (1.0, 100.0), (0.0, 200.0));
        assert_eq!((scale.px(1.0), scale.px(10.0), scale.px(100.0)), (0.0, 100.0, 200.0));
        assert_eq!(scale.ticks(6), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(Scale::new(Spread::Log, (0.001, 1e4), (0.0, 1.0)).ticks(5).len(), 8);
    }

    #[test]
    fn a_range_of_one_number_or_an_invalid_one_still_has_an_axis() {
        for (lower, upper) in [(3.0, 3.0), (f64::NAN, 1.0), (f64::INFINITY, f64::NEG_INFINITY), (0.0, 0.0)] {
            for spread in [Spread::Linear, Spread::Log] {
                let scale = Scale::new(spread, (lower, upper), (0.0, 100.0));
                assert!(scale.px(3.0).is_finite(), "{lower} {upper} {spread:?}");
                assert!(!scale.ticks(4).is_empty());
            }
        }
    }

    #[test]
    fn time_ticks_are_round_in_minutes_and_hours() {
        let minutes = Scale::new(Spread::Linear, (0.0, 290.0), (0.0, 1.0));
        assert_eq!(minutes.even_time_ticks(5), [0.0, 60.0, 120.0, 180.0, 240.0]);
        assert_eq!(tick_time(90.0, 30.0, minutes.upper()), "1.5 min");
        assert_eq!(tick_time(0.2, 0.2, 0.9), "0.2 s");
        assert_eq!(tick_time(5_400.0, 1_800.0, 9_000.0), "1.5 h");
        let narrow = Scale::new(Spread::Log, (3_600.0, 5_400.0), (0.0, 1.0));
        let labels: Vec<String> = narrow.labelled_times(4).into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["60 min", "70 min", "80 min", "90 min"]);
    }

    #[test]
    fn times_on_a_log_axis_are_round_in_their_own_unit() {
        let scale = Scale::new(Spread::Log, (2.7, 280.0), (0.0, 1.0));
        let labels: Vec<String> = scale.labelled_times(6).into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["5 s", "10 s", "20 s", "30 s", "1 min", "2 min"]);
        let small = Scale::new(Spread::Log, (0.002, 0.3), (0.0, 1.0));
        assert_eq!(small.labelled_times(8)[0].1, "0.002 s");
        assert_eq!(log_tick_time(36_000.0), "10 h");
        assert!(Scale::new(Spread::Log, (1e-3, 1e9), (0.0, 1.0)).labelled_times(5).len() <= 8);
    }

    proptest! {
        #[test]
        fn every_time_axis_has_three_distinct_labels_in_its_range_and_not_far_too_many(
            lower in -3.0..8.0f64, ratio in 1.02..1e6f64, count in 2..12usize, is_log in any::<bool>(),
        ) {
            let lower = 10f64.powf(lower);
            let spread = if is_log { Spread::Log } else { Spread::Linear };
            let scale = Scale::new(spread, (lower, lower * ratio), (0.0, 1.0));
            let mut labels: Vec<String> = scale.labelled_times(count).into_iter().map(|tick| tick.1).collect();
            prop_assert!(labels.len() >= LEAST_TICKS && labels.len() <= 2 * count + 4, "{:?}", labels);
            prop_assert!(scale.labelled_times(count).iter().all(|(secs, _)| (0.0..=1.0).contains(&scale.px(*secs))));
            labels.sort();
            labels.dedup();
            prop_assert_eq!(labels.len(), scale.labelled_times(count).len(), "{:?}", labels);
        }
    }

    #[test]
    fn number_labels_have_no_trailing_zeros() {
        let labels = [0.0, 0.1 + 0.2, 0.0005, 1500.0, 2e-7, -20.0].map(tick_number);
        assert_eq!(labels, ["0", "0.3", "0.0005", "1500", "0.0000002", "-20"]);
    }

    #[test]
    fn counts_start_at_one_and_stay_whole() {
        assert_eq!(Scale::new(Spread::Linear, (1.0, 4.0), (0.0, 1.0)).whole_ticks(8), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(Scale::new(Spread::Linear, (1.0, 20.0), (0.0, 1.0)).whole_ticks(5), [1.0, 5.0, 10.0, 15.0, 20.0]);
        let labels: Vec<String> =
            Scale::new(Spread::Log, (1.0, 20.0), (0.0, 1.0)).count_ticks(6).into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["1", "2", "4", "8", "16"]);
    }
}
