//! The distribution of the true time around the predicted one.

use foreglow_model::{Spread, SpreadError};
use proptest::prelude::*;
use serde_json::Value;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn scipy() -> Vec<[f64; 4]> {
    let fixture: Value = serde_json::from_str(include_str!("../fixtures/student_t.json")).unwrap();
    let row = |row: &Value| [0, 1, 2, 3].map(|column| row[column].as_f64().unwrap());
    fixture["rows"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn the_t_distribution_is_that_of_scipy() {
    let rows = scipy();
    assert!(rows.len() > 90);
    for [degrees, t, above, _] in rows {
        let spread = Spread::student_t(1.0, degrees).unwrap();
        // The lower tail avoids the cancellation of 1 − p.
        let ours = spread.probability_below(libm::exp(-t));
        assert!((ours - above).abs() <= 1e-10 * above, "{degrees} degrees, t {t}: {ours} and {above}");
        let upper = spread.probability_below(libm::exp(t));
        assert!((upper - (1.0 - above)).abs() <= 1e-10, "{degrees} degrees, t {t}: {upper}");
    }
}

#[test]
fn with_one_degree_of_freedom_it_is_the_cauchy_distribution() {
    // scipy is off by 1e-11 near the median; the Cauchy distribution has a closed form.
    for t in [1e-6, 0.01, 1.0, 30.0] {
        let ours = Spread::student_t(1.0, 1.0).unwrap().probability_below(libm::exp(-t));
        let closed = libm::atan2(1.0, t) / std::f64::consts::PI;
        assert!((ours - closed).abs() <= 1e-13 * closed, "{t}: {ours} and {closed}");
    }
}

#[test]
fn the_quantiles_are_those_of_scipy() {
    for [degrees, t, above, quantile] in scipy() {
        // 1 − p has too few digits left for tiny p.
        if above < 1e-6 {
            continue;
        }
        let ours = libm::log(Spread::student_t(0.5, degrees).unwrap().quantile(1.0 - above));
        assert!((ours - 0.5 * quantile).abs() <= 1e-8 * (1.0 + quantile), "{degrees} degrees, t {t}: {ours}");
    }
}

#[test]
fn the_empirical_spread_follows_the_ranks_of_its_errors() {
    let spread = Spread::conformal([0.3, 0.1, 0.2]).unwrap();
    for (probability, log) in [(0.625, 0.1), (0.75, 0.2), (0.875, 0.3), (0.6875, 0.15)] {
        assert!((libm::log(spread.quantile(probability)) - log).abs() < 1e-12, "{probability}");
        assert!((libm::log(spread.quantile(1.0 - probability)) + log).abs() < 1e-12, "{probability}");
    }
    let none = Spread::conformal([]).unwrap();
    assert_eq!((none.quantile(0.5), none.quantile(0.51), none.most_probability()), (1.0, f64::INFINITY, 0.5));
}

#[test]
fn beyond_the_largest_error_the_probability_of_a_larger_one_falls_with_its_square() {
    let spread = Spread::conformal([0.3, 0.1, 0.2]).unwrap();
    for (log, beyond) in [(0.3, 0.125), (0.6, 0.125 / 4.0), (3.0, 0.125 / 100.0)] {
        assert!((spread.probability_below(libm::exp(log)) - (1.0 - beyond)).abs() < 1e-12, "{log}");
        assert!((spread.probability_below(libm::exp(-log)) - beyond).abs() < 1e-12, "{log}");
        assert!((libm::log(spread.quantile(1.0 - beyond)) - log).abs() < 1e-6, "{log}");
    }
    assert_eq!(spread.most_probability(), 1.0);
}

#[test]
fn a_run_that_could_not_be_predicted_counts_as_an_infinite_error() {
    let spread = Spread::conformal([0.1, f64::INFINITY]).unwrap();
    assert!((spread.most_probability() - (0.5 + 1.0 / 6.0)).abs() < 1e-12);
    assert_eq!(spread.quantile(0.8), f64::INFINITY);
    let json = serde_json::to_string(&spread).unwrap();
    assert_eq!(json, r#"{"conformal":{"errors":[0.1,null]}}"#);
    assert_eq!(serde_json::from_str::<Spread>(&json).unwrap(), spread);
}

#[test]
fn a_prediction_without_error_is_certain() {
    for spread in [Spread::student_t(0.0, 5.0).unwrap(), Spread::conformal([0.0; 9]).unwrap()] {
        assert_eq!(spread.quantile(0.95), 1.0);
        assert!(spread.probability_below(1.0 + 1e-9) >= 0.95 && spread.probability_below(1.0 - 1e-9) <= 0.05);
    }
}

#[test]
fn an_invalid_spread_is_rejected() {
    assert_eq!(Spread::conformal([0.1, -0.2]), Err(SpreadError::Error(-0.2)));
    assert!(matches!(Spread::conformal([f64::NAN]), Err(SpreadError::Error(_))));
    assert_eq!(Spread::student_t(-1.0, 3.0), Err(SpreadError::Scale(-1.0)));
    assert_eq!(Spread::student_t(1.0, 0.0), Err(SpreadError::Degrees(0.0)));
    assert!(serde_json::from_str::<Spread>(r#"{"conformal":{"errors":[-1.0]}}"#).is_err());
}

fn any_spread() -> impl Strategy<Value = Spread> {
    let errors = prop::collection::vec(1e-4f64..2.0, 1..40);
    let conformal = errors.prop_map(|errors| Spread::conformal(errors).unwrap());
    let student = (1e-3f64..2.0, 0.3f64..2e6).prop_map(|(scale, degrees)| Spread::student_t(scale, degrees).unwrap());
    prop_oneof![conformal, student]
}

proptest! {
    #[test]
    fn a_larger_ratio_is_never_less_probable(spread in any_spread(), ratios in prop::array::uniform2(1e-3f64..1e3)) {
        let [a, b] = ratios;
        prop_assert!(spread.probability_below(a.min(b)) <= spread.probability_below(a.max(b)));
    }

    #[test]
    fn a_larger_probability_never_has_a_smaller_quantile(spread in any_spread(), p in 0.001f64..0.999, q in 0.001f64..0.999) {
        prop_assert!(spread.quantile(p.min(q)) <= spread.quantile(p.max(q)));
    }

    #[test]
    fn the_probability_below_a_quantile_is_its_probability(spread in any_spread(), p in 0.01f64..0.99) {
        let quantile = spread.quantile(p);
        if quantile > 0.0 && quantile.is_finite() {
            prop_assert!((spread.probability_below(quantile) - p).abs() < 1e-6, "{}", quantile);
        } else {
            // Only the empirical spread has probabilities without a finite quantile.
            let most = spread.most_probability();
            prop_assert!(p > most - 1e-9 || p < 1.0 - most + 1e-9 || most == 1.0);
        }
    }

    #[test]
    fn the_distribution_is_symmetric(spread in any_spread(), ratio in 1e-3f64..1e3) {
        let both = spread.probability_below(ratio) + spread.probability_below(1.0 / ratio);
        prop_assert!((both - 1.0).abs() < 1e-9);
    }
}

#[test]
fn the_deviation_is_that_of_the_normal_distribution_with_the_same_central_interval() {
    let nearly_normal = Spread::student_t(0.3, 1e6).unwrap().log_deviation().unwrap();
    assert!((nearly_normal - 0.3).abs() < 1e-5, "{nearly_normal}");
    assert!(Spread::student_t(0.3, 2.0).unwrap().log_deviation().unwrap() > 0.3);
    assert_eq!(Spread::conformal([]).unwrap().log_deviation(), None);
}
