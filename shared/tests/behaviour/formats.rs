//! Formatting of numbers.

use foreglow_shared::{
    CostUnit, Estimate, JobDefinition, format_duration, format_money, format_percent, format_price, format_rate,
};
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
        (3900.0, "1 h 05 min"),
        (f64::NAN, "unknown"),
        (f64::INFINITY, "unknown"),
    ] {
        assert_eq!(format_duration(secs), shown, "{secs}");
    }
}

#[test]
fn prices_keep_their_significant_digits_and_costs_below_a_cent_have_none() {
    for (amount, shown) in [
        (0.0, "USD 0.00"),
        (1234.5, "USD 1234.50"),
        (1.0, "USD 1.00"),
        (0.5, "USD 0.5000"),
        (0.012345, "USD 0.01235"),
        (1e-30, "USD 0.0000000000000"),
        (f64::NAN, "unknown"),
    ] {
        assert_eq!(format_price(amount, "USD"), shown, "{amount}");
        if amount.is_nan() || amount == 0.0 || amount >= 0.01 {
            assert_eq!(format_money(amount, "USD"), shown, "{amount}");
        }
    }
    for amount in [0.009_99, 0.000_358, 1e-30] {
        assert_eq!(format_money(amount, "EUR"), "< EUR 0.01", "{amount}");
        assert_eq!(Estimate::rough(amount).money("EUR"), "< EUR 0.01", "{amount}");
    }
}

#[test]
fn the_unit_of_costs_is_so_large_that_its_cost_has_digits() {
    let job = |fields: &str| -> JobDefinition {
        let common = r#""model":"lenet5","image_px":28,"images":20000"#;
        serde_json::from_str(&format!("{{{common},{fields}}}")).unwrap()
    };
    let of = |fields: &str, cost: f64| CostUnit::of(&job(fields), 360.0, cost, cost * 10.0);
    let unit =
        |fields: &str, cost: f64| of(fields, cost).map(|unit| (unit.title(), (unit.cost(cost) * 1e6).round() / 1e6));
    let inference = r#""mode":"inference","epochs":1"#;
    assert_eq!(unit(inference, 0.004), Some(("per million images".into(), 0.2)));
    assert_eq!(unit(inference, 0.000_004), Some(("per billion images".into(), 0.2)));
    assert_eq!(unit(r#""mode":"training","epochs":5"#, 0.02), Some(("per million images trained".into(), 0.2)));
    let bytes = r#""mode":"inference","epochs":1,"unit":"bytes""#;
    assert_eq!(unit(bytes, 0.004), Some(("per thousand jobs".into(), 4.0)));
    assert_eq!(unit(bytes, 0.000_004), Some(("per million jobs".into(), 4.0)));
    assert_eq!(unit(bytes, 0.04), None);
    assert_eq!(unit(r#""mode":"inference","epochs":50"#, 0.004), Some(("per billion images".into(), 4.0)));
    assert!(of(r#""mode":"inference","epochs":50"#, 0.04).is_some_and(|unit| unit.is_job() && !unit.is_needed()));
    assert!(of(inference, 0.04).is_some_and(|unit| !unit.is_job() && !unit.is_needed()));
    // A minimum of the bill does not grow with the images.
    assert_eq!(CostUnit::of(&job(inference), 1.0, 0.05, 3.0), None);
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
