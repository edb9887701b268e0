//! Prediction intervals.

use foreglow_model::{Predictor, Setting};
use foreglow_shared::Observation;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, full, jitter, multiplicative, run, whole};

fn grid() -> Vec<Observation> {
    full(&[1, 2, 3], &[1, 2, 4], &[0.01, 0.05, 0.1], multiplicative)
}

/// Half the width of the 90 % interval of the whole job on 2 × 2, in ln t.
fn width(runs: &[Observation]) -> f64 {
    let interval = Predictor::fit(&context(None), runs).unwrap().predict(whole(2, 2)).interval.unwrap();
    assert_eq!(interval.probability, 0.9);
    libm::log(interval.upper_secs / interval.lower_secs) / 2.0
}

#[test]
fn two_rows_have_an_interval_only_along_the_work() {
    let runs = [run(1, 1, 0.01, 2.0), run(1, 1, 0.1, 11.0)];
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    assert!(predictor.predict(whole(1, 1)).interval.is_some());
    let within = predictor.predict(Setting::even(1, 1, 0.05));
    assert!(within.completion_time_secs.is_some() && within.interval.is_none() && within.spread.is_none());
    let runs = [run(1, 1, 1.0, 101.0), run(2, 1, 1.0, 51.0)];
    let more_workers = Predictor::fit(&context(None), &runs).unwrap().predict(whole(4, 1));
    assert!(more_workers.completion_time_secs.is_some() && more_workers.interval.is_none());
}

#[test]
fn times_without_noise_have_a_narrower_interval_than_noisy_ones() {
    let widths: Vec<f64> = [0.0, 0.05, 0.2].iter().map(|share| width(&jitter(&grid(), *share))).collect();
    assert!(widths[0] < widths[1] && widths[1] < widths[2], "{widths:?}");
}

#[test]
fn the_interval_is_that_of_the_spread() {
    let prediction = Predictor::fit(&context(None), &jitter(&grid(), 0.05)).unwrap().predict(whole(2, 2));
    let (secs, interval) = (prediction.completion_time_secs.unwrap(), prediction.interval.unwrap());
    let spread = prediction.spread.unwrap();
    assert!((interval.upper_secs - secs * spread.quantile(0.95)).abs() < 1e-9 * secs);
    assert!((spread.probability_below(interval.upper_secs / secs) - 0.95).abs() < 1e-9);
}

#[test]
fn the_interval_widens_with_the_distance_of_extrapolation() {
    let predictor = Predictor::fit(&context(None), &jitter(&grid(), 0.05)).unwrap();
    let width = |executors| {
        let interval = predictor.predict(whole(executors, 2)).interval.unwrap();
        libm::log(interval.upper_secs / interval.lower_secs)
    };
    assert!(width(6) > width(4) && width(12) > width(6));
}

#[test]
fn with_many_rows_the_interval_contains_the_truth() {
    let counts: Vec<u32> = (1..=8).collect();
    let runs = jitter(&full(&counts, &counts, &[1.0], multiplicative), 0.05);
    let interval = Predictor::fit(&context(None), &runs).unwrap().predict(whole(5, 5)).interval.unwrap();
    let truth = multiplicative(5.0, 5.0, 1.0);
    assert!((interval.lower_secs..interval.upper_secs).contains(&truth), "{interval:?} for {truth}");
}
