//! Price sheets.

use foreglow_shared::{CoreSplit, PriceError, PriceSheet, Resources};
use proptest::prelude::*;

fn sheet(rest: &str) -> Result<PriceSheet, PriceError> {
    PriceSheet::from_json(&format!(r#"{{"name":"mine","date":"2026-01-31","currency":"EUR"{rest}}}"#))
}

/// Two executors of 4 cores and 2 GiB each.
const TWO: Resources = Resources {
    split: CoreSplit::even(2, 4),
    memory_per_executor_mib: 2048,
    accelerated: false,
    shared_accelerators: None,
};

#[test]
fn cost_is_the_sum_of_all_prices_times_the_hours() {
    let sheet = sheet(r#","executor_hour":1,"core_hour":0.5,"gib_hour":0.25"#).unwrap();
    // For half an hour.
    assert_eq!(sheet.cost(TWO, 1800.0), Some(2.0 * (1.0 + 2.0 + 0.5) * 0.5));
}

#[test]
fn an_invalid_date_is_rejected_with_an_example() {
    let error = PriceSheet::from_json(r#"{"name":"mine","date":"31.1.2026","currency":"EUR"}"#).unwrap_err();
    assert!(error.to_string().contains(r#""31.1.2026" is not a date such as 2026-01-31"#), "{error}");
}

#[test]
fn an_accelerator_is_billed_if_there_is_one() {
    let sheet = sheet(r#","core_hour":0.5,"accelerator_hour":3"#).unwrap();
    assert_eq!(sheet.cost(TWO, 3600.0), Some(2.0 * 2.0));
    assert_eq!(sheet.cost(Resources { accelerated: true, ..TWO }, 3600.0), Some(2.0 * (2.0 + 3.0)));
}

#[test]
fn executors_that_share_accelerators_are_billed_for_these_once() {
    let four = Resources { split: CoreSplit::even(4, 4), accelerated: true, ..TWO };
    let sharing = |count: u32| Resources { shared_accelerators: Some(count), ..four };
    let parts = sheet(r#","executor_hour":1,"core_hour":0.5,"accelerator_hour":3"#).unwrap();
    assert_eq!(parts.cost(four, 3600.0), Some(4.0 * (1.0 + 2.0 + 3.0)));
    assert_eq!(parts.cost(sharing(2), 3600.0), Some(4.0 * (1.0 + 2.0) + 2.0 * 3.0));
    assert_eq!(parts.cost(sharing(8), 3600.0), parts.cost(four, 3600.0));
    // The price of a machine with its accelerator.
    let machines = sheet(r#","executor_hour":36,"executor_start":1"#).unwrap();
    assert_eq!(machines.cost(sharing(1), 100.0), Some(1.0 + 1.0));
    assert_eq!(machines.rate(sharing(1)).unwrap().affordable_secs(2.0), Some(100.0));
    assert_eq!(machines.cost(four, 100.0), Some(4.0 * (1.0 + 1.0)));
}

#[test]
fn the_start_is_billed_per_executor_and_the_discount_applies_to_the_sum() {
    let sheet = sheet(r#","executor_hour":36,"executor_start":0.25,"startup_secs":50,"discount":0.5"#).unwrap();
    // 100 s of run and 50 s of start-up at 0.01 per second.
    assert_eq!(sheet.cost(TWO, 100.0), Some(2.0 * (0.25 + 1.5) * 0.5));
}

#[test]
fn a_short_job_is_billed_for_the_minimum() {
    let sheet = sheet(r#","executor_hour":36,"startup_secs":10,"minimum_secs":60"#).unwrap();
    assert_eq!(sheet.cost(TWO, 20.0), Some(2.0 * 0.6));
    assert_eq!(sheet.cost(TWO, 50.0), Some(2.0 * 0.6));
    assert_eq!(sheet.cost(TWO, 90.0), Some(2.0 * 1.0));
    let rate = sheet.rate(TWO).unwrap();
    assert_eq!(rate.affordable_secs(1.1), None);
    assert!((rate.affordable_secs(2.0).unwrap() - 90.0).abs() < 1e-9);
    assert_eq!(rate.affordable_secs(rate.cost(0.0)), Some(50.0), "exactly the minimum");
}

#[test]
fn a_job_on_accelerators_requires_a_price_that_covers_them() {
    let gpu = Some("Some GPU");
    let parts = sheet(r#","core_hour":0.04,"gib_hour":0.004"#).unwrap();
    assert_eq!(parts.check_for(None), Ok(()));
    assert_eq!(parts.check_for(gpu), Err(PriceError::NoAcceleratorHour("Some GPU".into())));
    assert!(parts.check_for(gpu).unwrap_err().to_string().contains("give accelerator_hour"));
    assert_eq!(sheet(r#","core_hour":0.04,"accelerator_hour":2"#).unwrap().check_for(gpu), Ok(()));
    assert_eq!(sheet(r#","executor_hour":3"#).unwrap().check_for(gpu), Ok(()), "the price of whole machines");
    let one = Resources { accelerated: true, ..TWO };
    assert_eq!((parts.cost(one, 60.0), parts.rate(one)), (None, None), "money is unknown");
    let both = sheet(r#","executor_hour":0.1,"core_hour":0.04"#).unwrap();
    assert!(both.check_for(gpu).is_err(), "a fee beside the price of cores");
    assert_eq!(sheet(r#","accelerator_hour":2"#).unwrap().check_for(None), Err(PriceError::OnlyAccelerators));
}

#[test]
fn a_published_price_of_a_machine_with_a_gpu_prices_no_other_hardware() {
    let (gpu, other) = (Some("NVIDIA A10G"), Some("NVIDIA H100 80GB HBM3"));
    let sheet = PriceSheet::usual_for(gpu);
    assert_eq!(sheet.check_for(gpu), Ok(()));
    let error = sheet.check_for(other).unwrap_err().to_string();
    assert!(error.contains("a GPU, A10G, and the runs are of NVIDIA H100"), "{error}");
    assert!(sheet.check_for(None).unwrap_err().to_string().contains("the runs are of a CPU"));
    let mine = PriceSheet { name: "mine".into(), ..sheet };
    assert_eq!((mine.check_for(None), mine.check_for(other)), (Ok(()), Ok(())), "a user's own price is kept");
}

#[test]
fn a_core_under_a_quota_costs_its_share() {
    let parts = sheet(r#","core_hour":0.04,"gib_hour":0.004"#).unwrap();
    let memory = PriceSheet { core_hour: 0.0, ..parts.clone() }.cost(TWO, 3600.0).unwrap();
    let cores = |sheet: PriceSheet| sheet.cost(TWO, 3600.0).unwrap() - memory;
    let slow = cores(parts.clone().for_cores_of(Some(0.05)));
    assert!((slow / cores(parts.clone()) - 0.05).abs() < 1e-12, "{slow}");
    assert_eq!(parts.clone().for_cores_of(None), parts);
}

#[test]
fn a_discount_must_be_below_one() {
    for discount in ["-0.1", "1", "30"] {
        let error = sheet(&format!(r#","core_hour":1,"discount":{discount}"#)).unwrap_err();
        assert_eq!(error, PriceError::Discount(discount.parse().unwrap()));
    }
    let start = sheet(r#","executor_start":1"#);
    assert_eq!(start, Err(PriceError::AllZero), "an hour would cost nothing");
}

proptest! {
    #[test]
    fn the_affordable_time_costs_the_budget(
        prices in prop::array::uniform5(0.001f64..10.0), minimum_secs in 0.0f64..100.0, money in 0.001f64..100.0
    ) {
        let [executor_hour, core_hour, executor_start, startup_secs, tenths] = prices;
        let sheet = PriceSheet {
            executor_hour, core_hour, executor_start, startup_secs, minimum_secs, discount: tenths / 10.01,
            ..PriceSheet::example()
        };
        match sheet.rate(TWO).unwrap().affordable_secs(money) {
            Some(secs) => prop_assert!((sheet.cost(TWO, secs).unwrap() - money).abs() < 1e-9 * money),
            None => prop_assert!(sheet.cost(TWO, 0.0).unwrap() >= money * (1.0 - 1e-9)),
        }
    }
}

#[test]
fn the_example_sheet_is_valid() {
    let example = PriceSheet::example();
    assert_eq!(example.check(), Ok(()));
    assert_eq!(PriceSheet::from_json(&serde_json::to_string(&example).unwrap()), Ok(example));
}

#[test]
fn a_sheet_without_prices_is_rejected() {
    assert_eq!(sheet(""), Err(PriceError::AllZero));
    assert_eq!(sheet(r#","core_hour":0,"gib_hour":0"#), Err(PriceError::AllZero));
    assert!(PriceError::AllZero.to_string().contains("give executor_hour, core_hour or gib_hour"));
}

#[test]
fn invalid_prices_are_named() {
    for far in ["1e308", "1.1e12", "5e-324", "1e-13"] {
        let error = sheet(&format!(r#","core_hour":{far}"#)).unwrap_err();
        assert!(error.to_string().ends_with("a price is 0 or a number from 1e-12 to 1e12"), "{error}");
    }
    assert_eq!(sheet(r#","core_hour":-0.1,"gib_hour":1"#), Err(PriceError::Range { field: "core_hour", value: -0.1 }));
    let none = PriceSheet { gib_hour: f64::NAN, ..PriceSheet::example() };
    assert!(matches!(none.check(), Err(PriceError::Range { field: "gib_hour", .. })));
    assert!(matches!(sheet(r#","core_hour":"cheap""#), Err(PriceError::Form(_))));
}

#[test]
fn a_misspelt_price_is_rejected() {
    let error = sheet(r#","core_hour":0.04,"gb_hour":0.004"#).unwrap_err();
    assert!(error.to_string().contains("gb_hour"), "{error}");
}

#[test]
fn an_invalid_sheet_or_currency_is_rejected() {
    assert!(matches!(PriceSheet::from_json("core_hour = 1"), Err(PriceError::Form(_))));
    assert!(matches!(PriceSheet::from_json(r#"{"core_hour":1}"#), Err(PriceError::Form(_))));
    for code in ["", "EURO", "eur", "€"] {
        let sheet = PriceSheet { currency: code.into(), ..PriceSheet::example() };
        assert_eq!(sheet.check(), Err(PriceError::Currency(code.into())));
    }
}
