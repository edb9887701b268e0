//! The default predictor on arbitrary tables of runs.

use foreglow_model::{Column, Dataset, DatasetError, Ensemble, Features, FitError, Meaning, Prediction, Warning};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A grid of node counts and sizes, with the times of a law.
fn grid(nodes: &[f64], sizes: &[f64], law: impl Fn(f64, f64) -> f64) -> (Features, Vec<f64>) {
    let rows: Vec<(f64, f64)> = nodes.iter().flat_map(|n| sizes.iter().map(move |s| (*n, *s))).collect();
    (features(&rows), rows.iter().map(|(n, s)| law(*n, *s)).collect())
}

fn features(rows: &[(f64, f64)]) -> Features {
    let nodes = Column::numeric("nodes", rows.iter().map(|row| row.0).collect(), None);
    let sizes = Column::numeric("size", rows.iter().map(|row| row.1).collect(), None);
    Features::new(vec![nodes, sizes]).unwrap()
}

fn fit((features, secs): (Features, Vec<f64>)) -> Ensemble {
    let rows = secs.len();
    Ensemble::fit(&Dataset::new(features, secs, vec![false; rows]).unwrap()).unwrap()
}

fn ask(ensemble: &Ensemble, rows: &[(f64, f64)]) -> Vec<Prediction> {
    ensemble.predict(&features(rows)).unwrap()
}

fn law(nodes: f64, size: f64) -> f64 {
    8.0 + 3.0 * size / nodes
}

fn usual() -> Ensemble {
    fit(grid(&[2.0, 4.0, 8.0, 16.0], &[10.0, 20.0, 40.0], law))
}

#[test]
fn a_sum_of_powers_is_interpolated_and_extrapolated() {
    let asked = [(6.0, 30.0), (32.0, 30.0), (6.0, 100.0), (1.0, 10.0)];
    for ((nodes, size), prediction) in asked.iter().zip(ask(&usual(), &asked)) {
        let (secs, expected) = (prediction.completion_time_secs.unwrap(), law(*nodes, *size));
        assert!((secs - expected).abs() < 0.1 * expected, "{nodes}, {size}: {secs} for {expected}");
    }
}

#[test]
fn a_prediction_does_not_depend_on_other_questions() {
    let asked = [(6.0, 30.0), (32.0, 30.0), (6.0, 100.0), (1.0, 400.0), (3.0, 10.0)];
    let together = ask(&usual(), &asked);
    let reversed = usual();
    for (row, expected) in asked.iter().zip(&together).rev() {
        assert_eq!(ask(&reversed, &[*row])[0], *expected);
    }
}

#[test]
fn a_fitted_ensemble_round_trips_through_json() {
    let ensemble = usual();
    let asked = features(&[(6.0, 30.0), (32.0, 30.0)]);
    ensemble.prepare(&asked).unwrap();
    let json = serde_json::to_string(&ensemble).unwrap();
    let travelled: Ensemble = serde_json::from_str(&json).unwrap();
    assert_eq!(travelled, ensemble);
    assert_eq!(serde_json::to_string(&travelled).unwrap(), json);
    assert_eq!(travelled.predict(&asked), ensemble.predict(&asked));
    // Other parts of the ensemble are fitted on demand after deserialisation.
    assert_eq!(ask(&travelled, &[(1.0, 5.0)]), ask(&usual(), &[(1.0, 5.0)]));
}

#[test]
fn one_row_predicts_only_its_own_point() {
    let ensemble = fit(grid(&[4.0], &[10.0], law));
    let [own, other] = ask(&ensemble, &[(4.0, 10.0), (4.0, 20.0)]).try_into().unwrap();
    assert!((own.completion_time_secs.unwrap() - law(4.0, 10.0)).abs() < 1e-9);
    assert!(own.interval.is_some_and(|interval| interval.upper_secs < 1.2 * law(4.0, 10.0)), "{own:?}");
    assert_eq!((other.completion_time_secs, other.interval), (None, None));
    let [Warning::EffectUnknown { feature, asked, sampled }] = other.warnings.as_slice() else { panic!("{other:?}") };
    assert_eq!((feature.as_str(), asked.as_str(), sampled.as_str()), ("size", "20", "10"));
}

#[test]
fn any_small_number_of_rows_gives_finite_times() {
    for rows in 2..=8 {
        let nodes: Vec<f64> = (1..=rows).map(f64::from).collect();
        let ensemble = fit(grid(&nodes, &[10.0], law));
        for prediction in ask(&ensemble, &[(1.5, 10.0), (40.0, 10.0), (0.1, 10.0), (1e9, 10.0)]) {
            let secs = prediction.completion_time_secs.unwrap();
            assert!(secs.is_finite() && secs > 0.0, "{rows} rows: {prediction:?}");
        }
    }
}

#[test]
fn categories_are_matched_by_name_and_new_ones_get_a_warning() {
    let machines = |names: &[&str], nodes: &[f64]| {
        Features::new(vec![
            Column::numeric("nodes", nodes.to_vec(), None),
            Column::category("machine", names.iter().copied()),
        ])
        .unwrap()
    };
    let (names, nodes): (Vec<&str>, Vec<f64>) =
        ["fast", "slow"].iter().flat_map(|name| [1.0, 2.0, 4.0, 8.0].map(|nodes| (*name, nodes))).unzip();
    let secs = names.iter().zip(&nodes).map(|(name, n)| if *name == "fast" { 60.0 / n } else { 180.0 / n }).collect();
    let ensemble = fit((machines(&names, &nodes), secs));
    // Columns in another order, and categories with other codes.
    let asked = Features::new(vec![
        Column::category("machine", ["new", "slow", "fast"]),
        Column::numeric("nodes", vec![4.0, 4.0, 4.0], None),
    ]);
    let [new, slow, fast] = ensemble.predict(&asked.unwrap()).unwrap().try_into().unwrap();
    assert!((slow.completion_time_secs.unwrap() - 45.0).abs() < 1.0, "{slow:?}");
    assert!((fast.completion_time_secs.unwrap() - 15.0).abs() < 0.5, "{fast:?}");
    let between = new.completion_time_secs.unwrap();
    assert!(between > 15.0 && between < 45.0, "{new:?}");
    assert_eq!(new.warnings, [Warning::UnseenCategory { feature: "machine".into(), asked: "new".into() }]);
    let missing = Features::new(vec![Column::numeric("nodes", vec![4.0], None)]).unwrap();
    assert_eq!(ensemble.predict(&missing), Err(DatasetError::NoColumn { name: "machine".into() }));
    let other = machines(&["fast"], &[1.0]).columns()[0].clone();
    let swapped = Features::new(vec![Column { name: "machine".into(), ..other.clone() }, other]).unwrap();
    assert_eq!(ensemble.predict(&swapped), Err(DatasetError::Kind { name: "machine".into(), numeric: false }));
}

#[test]
fn lower_bounds_raise_predictions_and_cannot_be_fitted_alone() {
    let (features, secs) = grid(&[2.0, 4.0, 8.0, 16.0], &[10.0, 20.0, 40.0, 80.0], law);
    let cap = 40.0;
    let censored: Vec<bool> = secs.iter().map(|secs| *secs > cap).collect();
    let capped: Vec<f64> = secs.iter().map(|secs| secs.min(cap)).collect();
    assert!(censored.contains(&true));
    let at = |censored: Vec<bool>| {
        let dataset = Dataset::new(features.clone(), capped.clone(), censored).unwrap();
        ask(&Ensemble::fit(&dataset).unwrap(), &[(2.0, 80.0)])[0].completion_time_secs.unwrap()
    };
    let (expected, with, without) = (law(2.0, 80.0), at(censored), at(vec![false; capped.len()]));
    assert!((with - expected).abs() < 0.2 * expected, "{with} for {expected}");
    assert!(without < 0.6 * expected, "taken as times they mislead: {without}");
    let all = Dataset::new(features, capped, vec![true; 16]).unwrap();
    assert_eq!(Ensemble::fit(&all), Err(FitError::AllStopped { runs: 16 }));
}

#[test]
fn collinear_columns_and_equal_times_can_be_fitted() {
    let twice: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0, 16.0].map(|n| (n, 3.0 * n)).to_vec();
    let ensemble = fit((features(&twice), vec![90.0, 50.0, 30.0, 20.0, 15.0]));
    for prediction in ask(&ensemble, &[(3.0, 9.0), (32.0, 96.0), (1.0, 48.0)]) {
        assert!(prediction.completion_time_secs.unwrap().is_finite(), "{prediction:?}");
    }
    let ensemble = fit(grid(&[1.0, 2.0, 4.0], &[1.0, 5.0], |_, _| 7.0));
    for prediction in ask(&ensemble, &[(3.0, 2.0), (16.0, 2.0), (1.0, 50.0)]) {
        assert!((prediction.completion_time_secs.unwrap() - 7.0).abs() < 0.01, "{prediction:?}");
    }
}

#[test]
fn times_over_nine_orders_of_magnitude_can_be_fitted() {
    let ensemble = fit(grid(&[1.0, 10.0, 100.0], &[1e-6, 1e-3, 1.0, 1e3], |n, s| 100.0 * s / n));
    let secs = ask(&ensemble, &[(10.0, 0.1)])[0].completion_time_secs.unwrap();
    assert!((secs - 1.0).abs() < 0.05, "{secs}");
}

#[test]
fn a_value_without_a_logarithm_is_unknown_if_the_samples_have_one() {
    let [prediction] = ask(&usual(), &[(0.0, 10.0)]).try_into().unwrap();
    assert_eq!(prediction.completion_time_secs, None);
    assert_eq!(prediction.warnings, [Warning::NotAboveZero { feature: "nodes".into(), asked: 0.0 }]);
    let with_zero = fit(grid(&[0.0, 1.0, 2.0, 3.0], &[10.0, 20.0], |n, s| 5.0 + n + s));
    assert!(ask(&with_zero, &[(-1.0, 10.0)])[0].completion_time_secs.is_some());
}

#[test]
fn an_empty_region_within_the_ranges_gets_a_warning() {
    let corner = |n: f64, s: f64| n < 40.0 || s < 40.0;
    let values = [1.0, 3.0, 9.0, 27.0, 81.0];
    let rows: Vec<(f64, f64)> =
        values.iter().flat_map(|n| values.map(|s| (*n, s))).filter(|r| corner(r.0, r.1)).collect();
    let l_shape: Vec<(f64, f64)> = rows.iter().copied().filter(|(n, s)| *n < 2.0 || *s < 2.0).collect();
    let secs = |rows: &[(f64, f64)]| rows.iter().map(|(n, s)| law(*n, *s)).collect();
    let empty = |rows: &[(f64, f64)], n, s| {
        let warnings = ask(&fit((features(rows), secs(rows))), &[(n, s)])[0].warnings.clone();
        warnings == [Warning::EmptyCell]
    };
    assert!(empty(&l_shape, 81.0, 81.0) && !empty(&l_shape, 9.0, 1.0));
    assert!(!empty(&rows, 9.0, 9.0));
}

#[test]
fn outliers_and_contradictory_repeats_are_named() {
    let (features, mut secs) = grid(&[1.0, 2.0, 3.0, 4.0, 6.0, 8.0], &[10.0, 15.0, 20.0, 30.0, 40.0], law);
    let clean = fit((features.clone(), secs.clone()));
    assert_eq!(clean.warnings(), []);
    secs[12] *= 3.0;
    let warnings = fit((features, secs)).warnings();
    let named = |warning: &Warning| warning.to_string().starts_with("the sample with nodes 3, size 20 took");
    assert!(warnings.iter().any(named), "{warnings:?}");
    let repeats = fit((self::features(&[(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (2.0, 1.0)]), vec![10.0, 10.1, 31.0, 5.0]));
    let warnings = repeats.warnings();
    let [Warning::SamplesDisagree { at, secs, .. }] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert_eq!((at.as_str(), *secs), ("nodes 1, size 1", 31.0));
}

#[test]
fn the_samples_that_disagree_most_have_a_sentence_each_and_the_others_are_counted() {
    let warning = |place: usize| {
        let times = [1.1, 3.0, 0.4, 1.2, 2.0, 0.8];
        Warning::SamplesDisagree { at: format!("nodes {place}"), runs: 1, secs: times[place], expected_secs: 1.0 }
    };
    let three = [warning(0), warning(1), warning(2)];
    assert_eq!(Warning::sentences(&three), three.iter().map(Warning::to_string).collect::<Vec<_>>());
    let six: Vec<Warning> = (0..6).map(warning).chain([Warning::EmptyCell]).collect();
    let described = [1, 2, 4].map(|place| warning(place).to_string());
    let rest =
        "3 more samples differ by up to 20 % from what the other samples predict; measure them again, or remove them";
    let expected = described.into_iter().chain([Warning::EmptyCell.to_string(), rest.to_owned()]);
    assert_eq!(Warning::sentences(&six), expected.collect::<Vec<_>>());
    let four: Vec<Warning> = (0..4).map(warning).collect();
    let rest = "1 more sample differs by 10 % from what the other samples predict; measure it again, or remove it";
    assert_eq!(Warning::sentences(&four).last().map(String::as_str), Some(rest));
    // A quarter of the predicted time is 75 % less, and deviates by more than twice that time.
    let faster = |at: &str, secs: f64| Warning::SamplesDisagree { at: at.into(), runs: 1, secs, expected_secs: 1.0 };
    let named = ["a", "b", "c"].map(|at| faster(at, 0.1));
    for (secs, percent) in [(0.25, 75), (2.0, 100)] {
        let all = [&named[..], &[faster("d", 0.25), faster("e", secs)]].concat();
        let rest = format!("2 more samples differ by up to {percent} % from");
        assert!(Warning::sentences(&all).last().unwrap().starts_with(&rest), "{:?}", Warning::sentences(&all));
    }
}

#[test]
fn two_repeats_that_differ_by_far_more_than_the_noise_contradict_each_other() {
    let settings: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0].iter().flat_map(|n| [(*n, 1.0), (*n, 1.0)]).collect();
    let secs = |slow: f64| -> Vec<f64> {
        let time =
            |(row, (n, s)): (usize, &(f64, f64))| law(*n, *s) * if row == 5 { slow } else { 1.0 + 0.01 * row as f64 };
        settings.iter().enumerate().map(time).collect()
    };
    let warnings = |slow: f64| fit((features(&settings), secs(slow))).contradictions();
    assert_eq!(warnings(1.02), []);
    assert_eq!(warnings(1.4), [], "a factor below 1.5 is noise");
    let [Warning::RepeatsContradict { at, runs, fastest_secs, slowest_secs }] = &warnings(3.0)[..] else {
        panic!("{:?}", warnings(3.0))
    };
    assert_eq!((at.as_str(), *runs), ("nodes 4, size 1", 2));
    assert!((slowest_secs / fastest_secs - 3.0 / 1.04).abs() < 1e-12);
    let told = fit((features(&settings), secs(3.0))).warnings();
    assert!(told.iter().any(|warning| warning.to_string().contains("contradict each other")), "{told:?}");
}

#[test]
fn noisy_repeats_do_not_contradict_each_other() {
    let settings: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0].iter().flat_map(|n| [(*n, 1.0), (*n, 1.0)]).collect();
    let secs: Vec<f64> =
        settings.iter().enumerate().map(|(row, (n, s))| law(*n, *s) * if row % 2 == 0 { 1.0 } else { 1.7 }).collect();
    assert_eq!(fit((features(&settings), secs)).contradictions(), []);
}

#[test]
fn more_work_in_less_time_is_a_contradiction() {
    let (features, mut secs) = grid(&[1.0, 2.0, 4.0], &[10.0, 20.0, 40.0], law);
    let contradictions = |secs: &[f64]| {
        let dataset = Dataset::new(features.clone(), secs.to_vec(), vec![false; secs.len()]).unwrap();
        Ensemble::fit_known(&dataset, &[("size", Meaning::Work)]).unwrap().contradictions()
    };
    assert_eq!(contradictions(&secs), []);
    secs[3] *= 6.0;
    let warnings = contradictions(&secs);
    assert!(matches!(&warnings[..], [Warning::WorkContradicts { .. }, ..]), "{warnings:?}");
    assert!(warnings[0].to_string().contains("with less work"), "{}", warnings[0]);
}

#[test]
fn large_tables_are_subsampled_deterministically_with_a_warning() {
    let sizes: Vec<f64> = (1..=1000).map(f64::from).collect();
    let ensemble = fit(grid(&[1.0, 2.0, 4.0], &sizes, law));
    assert_eq!(ensemble.warnings()[0], Warning::Subsampled { distinct: 3000, fitted: 1000 });
    let secs = ask(&ensemble, &[(3.0, 500.5)])[0].completion_time_secs.unwrap();
    assert!((secs - law(3.0, 500.5)).abs() < 0.02 * secs, "{secs}");
}

#[test]
fn a_setting_that_was_measured_is_predicted_near_its_time_when_there_are_only_two() {
    // 4.7 s and 3.44 s of work in all: far from proportional to the work.
    let runs = [(0.1, 5.04), (0.1, 5.1), (1.0, 8.14), (1.0, 8.2)];
    let column = |values: &[f64]| Features::new(vec![Column::numeric("sampling_rate", values.to_vec(), None)]).unwrap();
    let features = column(&runs.map(|(rate, _)| rate));
    let dataset = Dataset::new(features, runs.map(|(_, secs)| secs).to_vec(), vec![false; 4]).unwrap();
    let ensemble = Ensemble::fit_known(&dataset, &[("sampling_rate", Meaning::Work)]).unwrap();
    let predictions = ensemble.predict(&column(&[0.1, 1.0, 0.5])).unwrap();
    for (prediction, expected) in predictions.iter().zip([5.07, 8.17, 6.42]) {
        let secs = prediction.completion_time_secs.unwrap();
        assert!((secs / expected - 1.0).abs() < 0.03, "{secs} for {expected}");
    }
    let spread = predictions[1].interval.unwrap();
    assert!(spread.lower_secs < 8.14 && 8.2 < spread.upper_secs, "{spread:?}");
}
