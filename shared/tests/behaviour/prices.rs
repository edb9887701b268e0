//! Price sheets.

use foreglow_shared::{PriceError, PriceSheet};

fn sheet(rest: &str) -> Result<PriceSheet, PriceError> {
    PriceSheet::from_json(&format!(r#"{{"name":"mine","date":"2026-01-31","currency":"EUR"{rest}}}"#))
}

#[test]
fn money_is_the_sum_of_every_price_over_the_hours() {
    let sheet = sheet(r#","executor_hour":1,"core_hour":0.5,"gib_hour":0.25"#).unwrap();
    // Two executors of 4 cores and 2 GiB for half an hour.
    assert_eq!(sheet.cost(2, 4, 2048, 1800.0), 2.0 * (1.0 + 2.0 + 0.5) * 0.5);
}

#[test]
fn the_example_can_be_used_as_it_is() {
    let example = PriceSheet::example();
    assert_eq!(example.check(), Ok(()));
    assert_eq!(PriceSheet::from_json(&serde_json::to_string(&example).unwrap()), Ok(example));
}

#[test]
fn a_sheet_on_which_nothing_costs_anything_is_no_bargain() {
    assert_eq!(sheet(""), Err(PriceError::AllZero));
    assert_eq!(sheet(r#","core_hour":0,"gib_hour":0"#), Err(PriceError::AllZero));
    assert!(PriceError::AllZero.to_string().contains("give executor_hour, core_hour or gib_hour"));
}

#[test]
fn prices_that_are_none_are_named() {
    assert_eq!(sheet(r#","core_hour":-0.1,"gib_hour":1"#), Err(PriceError::Range { field: "core_hour", value: -0.1 }));
    let none = PriceSheet { gib_hour: f64::NAN, ..PriceSheet::example() };
    assert!(matches!(none.check(), Err(PriceError::Range { field: "gib_hour", .. })));
    assert!(matches!(sheet(r#","core_hour":"cheap""#), Err(PriceError::Form(_))));
}

#[test]
fn a_price_whose_name_is_mistyped_is_not_taken_as_zero() {
    let error = sheet(r#","core_hour":0.04,"gb_hour":0.004"#).unwrap_err();
    assert!(error.to_string().contains("gb_hour"), "{error}");
}

#[test]
fn what_is_no_sheet_or_no_currency_says_so() {
    assert!(matches!(PriceSheet::from_json("core_hour = 1"), Err(PriceError::Form(_))));
    assert!(matches!(PriceSheet::from_json(r#"{"core_hour":1}"#), Err(PriceError::Form(_))));
    for code in ["", "EURO", "eur", "€"] {
        let sheet = PriceSheet { currency: code.into(), ..PriceSheet::example() };
        assert_eq!(sheet.check(), Err(PriceError::Currency(code.into())));
    }
}
