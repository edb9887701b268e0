//! Invalid input gives errors that name the problem and what to do.

use foreglow_model::{FitError, Prediction, Predictor, Setting, Warning};
use foreglow_shared::Observation;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, full, multiplicative, run, whole};

fn error(runs: &[Observation]) -> FitError {
    Predictor::fit(&context(None), runs).unwrap_err()
}

fn good() -> Vec<Observation> {
    full(&[1, 2], &[1, 2], &[0.01, 0.1], multiplicative)
}

fn with(change: impl Fn(&mut Observation)) -> FitError {
    let mut runs = good();
    change(&mut runs[3]);
    error(&runs)
}

#[test]
fn no_sample_and_one_sample_are_too_few() {
    assert_eq!(error(&[]), FitError::NoObservations);
    assert_eq!(error(&[run(1, 1, 0.1, 2.0)]), FitError::OneObservation);
    assert!(error(&[]).to_string().contains("collect"));
}

#[test]
fn samples_of_one_setting_cannot_be_fitted() {
    let runs = [run(2, 1, 0.1, 2.0), run(2, 1, 0.1, 2.0), run(2, 1, 0.1, 2.2)];
    assert_eq!(error(&runs), FitError::AllEqual { runs: 3, setting: Setting::of(&runs[0]) });
    assert!(error(&runs).to_string().starts_with("all 3 samples are of one setting (2 executors of 1 core"));
}

#[test]
fn invalid_times_are_named() {
    for secs in [0.0, -1.0, 9e-10, 1.1e9, f64::INFINITY] {
        assert_eq!(with(|run| run.completion_time_secs = secs), FitError::Time(secs));
    }
    assert!(matches!(with(|run| run.completion_time_secs = f64::NAN), FitError::Time(secs) if secs.is_nan()));
    assert_eq!(with(|run| run.startup_secs = Some(-1.0)), FitError::Startup(-1.0));
}

#[test]
fn a_product_that_is_no_time_is_unknown() {
    let scaled = |factor: f64| {
        let mut prediction = Prediction::of_log(600.0, None).unwrap();
        prediction.scale(factor);
        (prediction.completion_time_secs.is_some(), prediction.warnings)
    };
    assert_eq!(scaled(2.0), (true, Vec::new()));
    for factor in [1e307, 0.0, f64::NAN] {
        assert_eq!(scaled(factor), (false, vec![Warning::NotPositive]));
    }
}

#[test]
fn invalid_sampling_rates_are_named() {
    for rate in [0.0, -0.1, 1.0001, f64::INFINITY] {
        assert_eq!(with(|run| run.sampling_rate = rate), FitError::SamplingRate(rate));
    }
    assert!(matches!(with(|run| run.sampling_rate = f64::NAN), FitError::SamplingRate(_)));
}

#[test]
fn empty_configurations_are_named() {
    assert_eq!(with(|run| run.executors = 0), FitError::Configuration { executors: 0, cores_per_executor: 1 + 1 });
    assert!(matches!(with(|run| run.cores_per_executor = 0), FitError::Configuration { cores_per_executor: 0, .. }));
}

#[test]
fn two_samples_suffice_for_the_feature_that_they_vary() {
    let runs = [run(1, 1, 0.1, 2.0), run(1, 2, 0.1, 1.1)];
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let between = predictor.predict(Setting::even(1, 2, 0.1));
    assert!((between.completion_time_secs.unwrap() - 1.1).abs() < 0.1, "{between:?}");
    assert_eq!(between.interval, None, "two samples give no error estimate");
}

#[test]
fn the_effect_of_a_feature_that_never_varied_is_unknown() {
    let runs = [run(1, 1, 0.1, 2.0), run(1, 2, 0.1, 1.1), run(1, 4, 0.1, 0.7)];
    let prediction = Predictor::fit(&context(None), &runs).unwrap().predict(whole(2, 2));
    assert_eq!((prediction.completion_time_secs, prediction.interval), (None, None));
    let said: Vec<String> = prediction.warnings.iter().map(Warning::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("every sample has executors 1, so what executors 2 would take is unknown"));
    assert!(said[1].starts_with("every sample has sampling rate 10 %, so what sampling rate 100 % would take"));
}

#[test]
fn features_that_only_vary_together_get_a_warning_if_the_question_separates_them() {
    let runs = full(&[1, 2, 4], &[1], &[0.01, 0.1], multiplicative);
    let together: Vec<Observation> =
        runs.iter().map(|run| Observation { cores_per_executor: run.executors, ..*run }).collect();
    let predictor = Predictor::fit(&context(None), &together).unwrap();
    let vary = |e, c| {
        let warnings = predictor.predict(whole(e, c)).warnings;
        warnings.iter().any(|warning| matches!(warning, Warning::VaryTogether { .. }))
    };
    assert!(vary(4, 1) && !vary(2, 2));
}

#[test]
fn an_invalid_setting_is_unknown() {
    let predictor = Predictor::fit(&context(None), &good()).unwrap();
    for (executors, cores_per_executor, sampling_rate) in [(0, 1, 1.0), (1, 0, 1.0), (1, 1, 0.0), (1, 1, f64::NAN)] {
        let prediction = predictor.predict(Setting::even(executors, cores_per_executor, sampling_rate));
        assert_eq!((prediction.completion_time_secs, prediction.warnings), (None, vec![Warning::Impossible]));
    }
}

#[test]
fn superlinear_speed_up_is_never_extrapolated_below_zero() {
    let runs = full(&[1, 2], &[1], &[0.01, 0.1], |e, _, s| (1.0 + 100.0 * s) * if e > 1.5 { 0.2 } else { 1.0 });
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    for executors in [3, 40, 1000, u32::MAX] {
        let secs = predictor.predict(Setting::even(executors, 1, 1.0));
        assert!(secs.completion_time_secs.is_none_or(|secs| secs > 0.0 && secs.is_finite()));
    }
}

#[test]
fn times_that_span_nine_orders_of_magnitude_can_be_fitted() {
    let runs = full(&[1, 2, 3], &[1, 2], &[1e-9, 1e-4, 0.1], |e, c, s| 1e9 * s / (e * c));
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let secs = predictor.predict(Setting::even(1, 1, 1.0));
    assert!((secs.completion_time_secs.unwrap() - 1e9).abs() < 0.05e9);
}
