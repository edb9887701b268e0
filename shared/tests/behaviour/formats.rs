//! Formatting of numbers.

use foreglow_shared::{format_duration, format_money, format_percent, format_rate};
use proptest::prelude::*;

#[test]
fn durations_are_written_in_seconds_minutes_and_hours() {
    for (secs, shown) in [
        (0.0, "0.000 s"),
        (0.0004, "0.000 s"),
        (0.9996, "1.000 s"),
        (1.0, "1.00 s"),
        (12.345, "12.35 s"),
        (59.994, "59.99 s"),
        (60.0, "1 min"),
        (245.25, "4 min 05.3 s"),
        (3599.94, "59 min 59.9 s"),
        (59.999, "1 min"),
        (1800.04, "30 min"),
        (3599.96, "1 h"),
        (3600.3, "1 h"),
        (360_000.0, "100 h"),
        (5400.0, "1 h 30 min"),
        (f64::NAN, "unknown"),
        (f64::INFINITY, "unknown"),
    ] {
        assert_eq!(format_duration(secs), shown, "{secs}");
    }
}

#[test]
fn money_keeps_its_significant_digits() {
    for (amount, shown) in [
        (0.0, "USD 0.00"),
        (1234.5, "USD 1234.50"),
        (1.0, "USD 1.00"),
        (0.5, "USD 0.5000"),
        (0.012345, "USD 0.01235"),
        (1e-30, "USD 0.0000000000000"),
        (f64::NAN, "unknown"),
    ] {
        assert_eq!(format_money(amount, "USD"), shown, "{amount}");
    }
}

#[test]
fn percentages_and_rates_are_short() {
    assert_eq!(format_percent(99.8), "99.80 %");
    assert_eq!(format_percent(f64::NAN), "unknown");
    for (rate, shown) in [(0.01, "1 %"), (0.125, "12.5 %"), (1.0, "100 %"), (0.07, "7 %"), (1.0 / 3.0, "33.333333 %")] {
        assert_eq!(format_rate(rate), shown);
    }
}

proptest! {
    #[test]
    fn no_duration_shows_sixty_seconds_or_minutes(secs in 0.0f64..1e6) {
        let shown = format_duration(secs);
        prop_assert!(!shown.contains("60.0 s") && !shown.contains("60 min") && !shown.contains(" 60 s"), "{}", shown);
        prop_assert!(!shown.contains("00.0 s") && !shown.contains("00 min 00 s"), "{}", shown);
    }
}
