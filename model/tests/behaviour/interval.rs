//! Prediction intervals.

use foreglow_model::Predictor;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, full, jitter, multiplicative, run, whole};

#[test]
fn few_rows_support_no_more_probability_than_n_of_n_plus_1() {
    let runs = [run(1, 1, 0.01, 2.0), run(1, 1, 0.05, 6.1), run(1, 1, 0.1, 11.0), run(1, 1, 0.2, 21.3)];
    let interval = Predictor::fit(&context(None), &runs).unwrap().predict(whole(1, 1)).interval.unwrap();
    assert_eq!(interval.probability, 0.8);
    let many = full(&[1, 2, 3], &[1, 2], &[0.01, 0.1], multiplicative);
    let interval = Predictor::fit(&context(None), &many).unwrap().predict(whole(1, 1)).interval.unwrap();
    assert_eq!(interval.probability, 0.9);
}

#[test]
fn two_rows_have_no_interval() {
    let runs = [run(1, 1, 0.01, 2.0), run(1, 1, 0.1, 11.0)];
    let prediction = Predictor::fit(&context(None), &runs).unwrap().predict(whole(1, 1));
    assert!(prediction.completion_time_secs.is_some() && prediction.interval.is_none());
}

#[test]
fn times_without_noise_have_an_interval_of_nearly_no_width() {
    let runs = full(&[1, 2, 3], &[1, 2, 4], &[0.01, 0.05, 0.1], multiplicative);
    let prediction = Predictor::fit(&context(None), &runs).unwrap().predict(whole(2, 2));
    let (secs, interval) = (prediction.completion_time_secs.unwrap(), prediction.interval.unwrap());
    assert!(interval.upper_secs - interval.lower_secs < 1e-6 * secs, "{interval:?}");
}

#[test]
fn more_noise_makes_a_wider_interval() {
    let runs = full(&[1, 2, 3], &[1, 2, 4], &[0.01, 0.05, 0.1], multiplicative);
    let width = |share: f64| {
        let predictor = Predictor::fit(&context(None), &jitter(&runs, share)).unwrap();
        let prediction = predictor.predict(whole(2, 2));
        let interval = prediction.interval.unwrap();
        (interval.upper_secs - interval.lower_secs) / prediction.completion_time_secs.unwrap()
    };
    assert!(width(0.01) < width(0.05) && width(0.05) < width(0.2));
}

#[test]
fn many_rows_are_held_out_in_folds() {
    let counts: Vec<u32> = (1..=10).collect();
    let runs = jitter(&full(&counts, &counts, &[0.01, 0.1], multiplicative), 0.05);
    let interval = Predictor::fit(&context(None), &runs).unwrap().predict(whole(5, 5)).interval.unwrap();
    assert_eq!(interval.probability, 0.9);
    let truth = multiplicative(5.0, 5.0, 1.0);
    assert!((interval.lower_secs..interval.upper_secs).contains(&truth), "{interval:?} for {truth}");
}
