//! MAPE.

use foreglow_model::{MetricError, mape};
use proptest::prelude::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn mape_is_the_mean_share_of_the_measured_time() {
    assert_eq!(mape(&[10.0, 20.0, 40.0], &[11.0, 18.0, 40.0]), Ok(100.0 * (0.1 + 0.1 + 0.0) / 3.0));
}

#[test]
fn invalid_times_are_rejected() {
    assert_eq!(mape(&[], &[]), Err(MetricError::Empty));
    assert_eq!(mape(&[1.0], &[]), Err(MetricError::Length { actual: 1, predicted: 0 }));
    assert_eq!(mape(&[0.0], &[1.0]), Err(MetricError::Actual(0.0)));
    assert_eq!(mape(&[1.0], &[f64::INFINITY]), Err(MetricError::Predicted(f64::INFINITY)));
}

proptest! {
    #[test]
    fn the_unit_of_the_times_and_the_order_of_the_rows_do_not_change_the_mape(
        mut pairs in prop::collection::vec((0.1f64..1e6, 0.1f64..1e6), 1..20)
    ) {
        let split = |pairs: &[(f64, f64)], k: f64| -> (Vec<f64>, Vec<f64>) {
            pairs.iter().map(|(a, p)| (a * k, p * k)).unzip()
        };
        let (actual, predicted) = split(&pairs, 1.0);
        let error = mape(&actual, &predicted).unwrap();
        let (actual, predicted) = split(&pairs, 4.0);
        prop_assert_eq!(mape(&actual, &predicted).unwrap(), error);
        pairs.reverse();
        let (actual, predicted) = split(&pairs, 1.0);
        prop_assert_eq!(mape(&actual, &predicted).unwrap(), error);
    }
}
