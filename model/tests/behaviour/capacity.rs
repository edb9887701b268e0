//! Oversubscription: a machine runs at most as many task threads at a time as it has processors.

use std::ops::ControlFlow;

use foreglow_model::{Grid, Predictor, Scenario, Setting, Warning, scenario_table};
use foreglow_shared::{Accelerator, Context, Job, Mode, Observation, Question};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{advise, cluster, context, decide, full, multiplicative, secs, whole};

/// Times on two processors, where four threads take as long as two.
fn on_two_processors(e: f64, c: f64, s: f64) -> f64 {
    (0.2 + 60.0 * s) / (e * c).min(2.0)
}

#[test]
fn more_threads_than_processors_take_as_long_as_the_fastest_that_fit() {
    let runs = full(&[1, 2], &[1, 2], &[0.01, 0.1], on_two_processors);
    let predictor = Predictor::fit(&context(Some(2)), &runs).unwrap();
    for (e, c) in [(1, 1), (1, 2), (2, 1), (2, 2), (4, 4)] {
        let expected = on_two_processors(f64::from(e), f64::from(c), 1.0);
        let predicted = secs(&predictor, whole(e, c));
        assert!((predicted - expected).abs() < 0.05 * expected, "{e}x{c}: {predicted} for {expected}");
    }
    let warnings = predictor.predict(whole(2, 2)).warnings;
    assert_eq!(warnings, [Warning::Oversubscribed { slots: 4, processors: 2 }]);
    assert!(warnings[0].to_string().contains("choose one with at most 2 slots"));
}

#[test]
fn an_oversubscribed_configuration_has_the_slowdown_of_its_runs_or_of_the_runs_of_others() {
    // Four threads on two processors take a third longer than two.
    let secs_of = |e: f64, c: f64, s: f64| on_two_processors(e, c, s) * if e * c > 2.0 { 4.0 / 3.0 } else { 1.0 };
    let runs = full(&[1, 2], &[1, 2], &[0.01, 0.1], secs_of);
    let predictor = Predictor::fit(&context(Some(2)), &runs).unwrap();
    let bound = on_two_processors(2.0, 2.0, 1.0);
    let near = |secs: f64, expected: f64| (secs - expected).abs() < 0.05 * expected;
    // One run of a setting corrects the bound by half, repeats by more.
    let corrected = secs(&predictor, whole(2, 2));
    assert!(corrected > bound * 1.1 && corrected < bound * 4.0 / 3.0, "{corrected}");
    // Six threads compete more than four.
    let unmeasured = predictor.predict(whole(3, 2));
    let expected = bound * libm::pow(4.0 / 3.0, (2.0 / 3.0) / 0.5);
    let secs_unmeasured = unmeasured.completion_time_secs.unwrap();
    assert!((0.9 * expected..1.05 * expected).contains(&secs_unmeasured), "{secs_unmeasured} {expected}");
    let interval = unmeasured.interval.unwrap();
    assert!(interval.upper_secs > 1.15 * secs_unmeasured && interval.lower_secs > bound, "{interval:?}");
    let repeated: Vec<Observation> = runs.iter().flat_map(|run| [*run; 9]).collect();
    let predictor_of_repeats = Predictor::fit(&context(Some(2)), &repeated).unwrap();
    assert!(near(secs(&predictor_of_repeats, whole(2, 2)), bound * 4.0 / 3.0));
    let candidates = predictor.predict_whole_job(&[(2, 2), (3, 2)]);
    assert_eq!(candidates[0].completion_time_secs, predictor.predict(whole(2, 2)).completion_time_secs);
}

#[test]
fn training_executors_wait_for_averages_whatever_their_threads() {
    let secs_of = |e: f64, c: f64, s: f64| on_two_processors(e, c, s) + 15.0 * (e - 1.0) * s;
    let runs = full(&[1, 2], &[1, 2], &[0.01, 0.1], secs_of);
    let mut training = context(Some(2));
    training.workload.mode = Mode::Training;
    let predictor = Predictor::fit(&training, &runs).unwrap();
    for (e, c) in [(1, 2), (2, 1), (2, 2)] {
        let expected = secs_of(f64::from(e), f64::from(c), 1.0);
        let predicted = secs(&predictor, whole(e, c));
        assert!((predicted - expected).abs() < 0.05 * expected, "{e}x{c}: {predicted} for {expected}");
    }
}

#[test]
fn clusters_and_unknown_machines_have_no_limit() {
    let runs = full(&[1, 2], &[1, 2], &[0.01, 0.1], multiplicative);
    for context in [cluster(), context(None), context(Some(4))] {
        let prediction = Predictor::fit(&context, &runs).unwrap().predict(whole(2, 2));
        assert_eq!(prediction.warnings, []);
        let expected = multiplicative(2.0, 2.0, 1.0);
        assert!((prediction.completion_time_secs.unwrap() - expected).abs() < 0.05 * expected);
    }
}

/// A machine with 32 processors and `gpus` GPUs.
fn with_gpus(gpus: usize) -> Context {
    let mut context = context(Some(32));
    context.accelerator = Some("Some GPU".into());
    context.host.accelerators = vec![Accelerator { name: "Some GPU".into(), ..Accelerator::default() }; gpus];
    context
}

#[test]
fn more_executors_than_gpus_take_as_long_as_one_for_each() {
    let runs = full(&[1, 2], &[1, 2], &[0.01, 0.1], multiplicative);
    let predictor = Predictor::fit(&with_gpus(2), &runs).unwrap();
    assert_eq!(predictor.predict(whole(2, 2)).warnings, []);
    for executors in [3, 8, 32] {
        let beyond = predictor.predict(whole(executors, 1));
        assert_eq!(beyond.completion_time_secs, predictor.predict(whole(2, 1)).completion_time_secs);
        assert_eq!(beyond.warnings, [Warning::TooFewAccelerators { executors, accelerators: 2 }]);
        assert!(beyond.warnings[0].to_string().contains("--share-gpu"));
    }
    let times = predictor.times(&[1, 2, 3, 4], &[1, 2]);
    for (beyond, most) in times[2].iter().zip(&times[1]) {
        // A grid and a single prediction add up in a different order.
        let (beyond, most) = (beyond.unwrap(), most.unwrap());
        assert!((beyond - most).abs() < 1e-9 * most, "a grid is held to the same limit: {beyond} and {most}");
    }
    assert_eq!(predictor.predict(whole(2, 20)).warnings, [Warning::Oversubscribed { slots: 40, processors: 32 }]);
}

#[test]
fn where_gpus_are_shared_or_unknown_they_bound_nothing() {
    let runs = full(&[1, 2], &[1, 2], &[0.01, 0.1], multiplicative);
    let shared = Context { shares_accelerators: true, ..with_gpus(1) };
    for context in [shared, with_gpus(0)] {
        let warnings = Predictor::fit(&context, &runs).unwrap().predict(whole(2, 2)).warnings;
        assert_eq!(warnings, []);
    }
}

#[test]
fn no_configuration_beyond_the_gpus_is_recommended_or_advised() {
    let runs = full(&[1, 2], &[1, 2], &[0.01, 0.1], multiplicative);
    let job = Job::of_runs(with_gpus(2), runs);
    let predictor = Predictor::fit_job(&job).unwrap();
    for deadline_secs in [None, Some(1e6)] {
        let executors = (1..=16).collect();
        let question = Question { executors, deadline_secs, probability: 0.5, ..Question::about_job(&job) };
        let decision = decide(&predictor, &job, &question).unwrap();
        for place in [decision.recommended, decision.fastest].into_iter().flatten() {
            assert!(decision.candidates[place].placement.executors <= 2, "{:?}", decision.candidates[place]);
        }
        let advice = advise(&job, &question).unwrap();
        assert!(advice.suggestions.iter().all(|suggestion| suggestion.executors <= 2));
    }
}

#[test]
fn an_oversubscribed_configuration_is_as_fast_as_the_fastest_smaller_one_that_fits() {
    let mut runs = full(&[1, 2, 3], &[1, 2, 4], &[0.01, 0.1], multiplicative);
    // A measured configuration keeps its own times.
    runs.retain(|run| run.executors * run.cores_per_executor <= 6);
    let predictor = Predictor::fit(&context(Some(6)), &runs).unwrap();
    let fastest = |e: u32, c: u32| {
        let smaller = (1..=e.min(3)).flat_map(|e| (1..=c.min(4)).map(move |c| (e, c))).filter(|(e, c)| e * c <= 6);
        smaller.map(|(e, c)| secs(&predictor, whole(e, c))).fold(f64::INFINITY, f64::min)
    };
    for (e, c) in [(2, 4), (3, 3), (3, 4), (9, 9)] {
        assert_eq!(secs(&predictor, whole(e, c)), fastest(e, c), "{e}x{c}");
    }
}

#[test]
fn an_oversubscribed_configuration_is_unknown_where_the_effect_of_one_of_its_counts_is() {
    let is_unknown = |runs: &[Observation], configurations: &[(u32, u32)]| {
        let job = Job::of_runs(context(Some(2)), runs.to_vec());
        let predictor = Predictor::fit_job(&job).unwrap();
        for (e, c) in configurations {
            let prediction = predictor.predict(whole(*e, *c));
            assert_eq!((prediction.completion_time_secs, prediction.interval), (None, None), "{e}x{c}");
            let says_why = |warning: &Warning| matches!(warning, Warning::EffectUnknown { .. });
            assert!(prediction.warnings.iter().any(says_why), "{e}x{c}: {:?}", prediction.warnings);
            assert_eq!(predictor.times(&[*e], &[*c]), [[None]], "{e}x{c}");
            assert!(predictor.explain(whole(*e, *c)).is_none(), "{e}x{c}");
            let counts = Question { executors: vec![*e], cores_per_executor: vec![*c], ..Question::about_job(&job) };
            assert_eq!(decide(&predictor, &job, &counts).unwrap().recommended, None, "{e}x{c}");
        }
    };
    is_unknown(&full(&[1], &[1], &[0.01, 0.1], on_two_processors), &[(1, 2), (2, 1), (1, 3), (2, 2), (2, 4), (4, 1)]);
    is_unknown(&full(&[1], &[1, 2], &[0.01, 0.1], on_two_processors), &[(2, 1), (2, 2), (3, 4)]);
    is_unknown(&full(&[1, 2], &[1], &[0.01, 0.1], on_two_processors), &[(1, 2), (2, 2), (1, 3)]);
    // The effect that the runs show is known.
    let runs = full(&[1, 2], &[1], &[0.01, 0.1], on_two_processors);
    let predictor = Predictor::fit(&context(Some(2)), &runs).unwrap();
    assert_eq!(secs(&predictor, whole(4, 1)), secs(&predictor, whole(2, 1)));
}

#[test]
fn oversubscribed_runs_are_fitted_if_there_are_no_others() {
    let runs = full(&[4, 8], &[4], &[0.01, 0.1], |_, _, s| 1.0 + 10.0 * s);
    let prediction = Predictor::fit(&context(Some(2)), &runs).unwrap().predict(whole(8, 4));
    assert!((prediction.completion_time_secs.unwrap() - 11.0).abs() < 0.6);
    assert_eq!(prediction.warnings, [Warning::Oversubscribed { slots: 32, processors: 2 }]);
}

#[test]
fn the_scenario_table_tests_oversubscribed_configurations_too() {
    let runs = full(&[1, 2], &[1, 2], &[0.01, 0.1, 1.0], on_two_processors);
    let watch = &mut |_, _| ControlFlow::Continue(());
    let table = scenario_table(&context(Some(2)), &runs, Grid::Linear, &mut || 0.0, watch).unwrap();
    let row = table.iter().find(|row| row.scenario == Scenario::FourTwo).unwrap();
    assert_eq!((row.fitted, row.tested), (6, 4));
    assert!(row.accuracy_percent.unwrap() > 99.999, "{row:?}");
}

#[test]
fn extrapolation_gets_a_warning_except_to_larger_sampling_rates() {
    let runs: Vec<Observation> = full(&[2, 3], &[1, 2], &[0.05, 0.1], multiplicative);
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    assert_eq!(predictor.predict(whole(2, 1)).warnings, []);
    let outside = predictor.predict(Setting::even(5, 4, 0.01)).warnings;
    let said: Vec<String> = outside.iter().map(Warning::to_string).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("executors 5 lies outside the measured samples (2 to 3)"), "{said:?}");
    assert!(said[1].starts_with("cores per executor 4 lies outside the measured samples (1 to 2)"));
    assert!(said[2].starts_with("sampling rate 1 % lies outside the measured samples (5 % to 10 %)"));
}
