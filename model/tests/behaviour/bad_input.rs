//! Input that cannot be fitted is named, with what to do about it.

use foreglow_model::{FitError, Predictor, Setting, Warning};
use foreglow_shared::Observation;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, full, multiplicative, run};

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
fn no_sample_and_one_sample_ask_for_more() {
    assert_eq!(error(&[]), FitError::NoObservations);
    assert_eq!(error(&[run(1, 1, 0.1, 2.0)]), FitError::OneObservation);
    assert!(error(&[]).to_string().contains("collect"));
}

#[test]
fn samples_of_one_setting_are_all_equal() {
    let runs = [run(2, 1, 0.1, 2.0), run(2, 1, 0.1, 2.0), run(2, 1, 0.1, 2.2)];
    assert_eq!(error(&runs), FitError::AllEqual { runs: 3, setting: Setting::of(&runs[0]) });
    assert!(
        error(&runs).to_string().starts_with("all 3 samples are of one setting (executors 2, cores per executor 1")
    );
}

#[test]
fn times_that_are_none_are_named() {
    for secs in [0.0, -1.0, f64::INFINITY] {
        assert_eq!(with(|run| run.completion_time_secs = secs), FitError::Time(secs));
    }
    assert!(matches!(with(|run| run.completion_time_secs = f64::NAN), FitError::Time(secs) if secs.is_nan()));
    assert_eq!(with(|run| run.startup_secs = Some(-1.0)), FitError::Startup(-1.0));
}

#[test]
fn sampling_rates_outside_their_range_are_named() {
    for rate in [0.0, -0.1, 1.0001, f64::INFINITY] {
        assert_eq!(with(|run| run.sampling_rate = rate), FitError::SamplingRate(rate));
    }
    assert!(matches!(with(|run| run.sampling_rate = f64::NAN), FitError::SamplingRate(_)));
}

#[test]
fn configurations_with_nothing_in_them_are_named() {
    assert_eq!(with(|run| run.executors = 0), FitError::Configuration { executors: 0, cores_per_executor: 1 + 1 });
    assert!(matches!(with(|run| run.cores_per_executor = 0), FitError::Configuration { cores_per_executor: 0, .. }));
}

#[test]
fn too_few_samples_are_counted_for_both_scenarios() {
    let runs = [run(1, 1, 0.1, 2.0), run(1, 2, 0.1, 1.0), run(1, 1, 1.0, 20.0), run(1, 2, 1.0, 10.0)];
    assert_eq!(error(&runs), FitError::TooFew { rates_below_one: 1, at_one: 2 });
    assert!(error(&runs).to_string().contains("two sampling rates below 1"));
}

#[test]
fn sampling_rates_that_share_no_configuration_say_so() {
    let runs = [run(1, 1, 0.1, 2.0), run(1, 2, 0.2, 2.0), run(2, 1, 0.3, 3.0)];
    assert_eq!(error(&runs), FitError::NoSharedConfiguration);
}

#[test]
fn an_effect_that_never_varies_alone_is_warned_of() {
    let runs = [run(1, 1, 0.01, 2.0), run(1, 1, 0.1, 11.0), run(2, 4, 0.01, 1.0), run(2, 4, 0.1, 5.5)];
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let warnings = predictor.predict(Setting { executors: 2, cores_per_executor: 4, sampling_rate: 1.0 }).warnings;
    let unknown: Vec<String> = warnings.iter().map(Warning::to_string).collect();
    assert_eq!(unknown.len(), 2, "{unknown:?}");
    assert!(unknown[0].starts_with("no two samples differ in executors alone"));
}

#[test]
fn a_setting_that_no_job_could_have_is_unknown() {
    let predictor = Predictor::fit(&context(None), &good()).unwrap();
    for (executors, cores_per_executor, sampling_rate) in [(0, 1, 1.0), (1, 0, 1.0), (1, 1, 0.0), (1, 1, f64::NAN)] {
        let prediction = predictor.predict(Setting { executors, cores_per_executor, sampling_rate });
        assert_eq!((prediction.completion_time_secs, prediction.warnings), (None, vec![Warning::Impossible]));
    }
}

#[test]
fn a_line_that_falls_below_zero_is_unknown_and_not_negative() {
    // Far more than proportional speed-up: at many executors the line in 1/E is below zero.
    let runs = full(&[1, 2], &[1], &[0.01, 0.1], |e, _, s| (1.0 + 100.0 * s) * if e > 1.5 { 0.2 } else { 1.0 });
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let prediction = predictor.predict(Setting { executors: 40, cores_per_executor: 1, sampling_rate: 1.0 });
    assert_eq!((prediction.completion_time_secs, prediction.interval), (None, None));
    assert!(prediction.warnings.contains(&Warning::NotPositive));
}

#[test]
fn times_that_span_nine_orders_of_magnitude_still_fit() {
    let runs = full(&[1, 2, 3], &[1, 2], &[1e-9, 1e-4, 0.1], |e, c, s| 1e9 * s / (e * c));
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let secs = predictor.predict(Setting { executors: 1, cores_per_executor: 1, sampling_rate: 1.0 });
    assert!((secs.completion_time_secs.unwrap() - 1e9).abs() < 1e5);
}
