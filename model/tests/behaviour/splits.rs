//! Splits of settings, and scores.

use foreglow_model::{
    Answer, Column, Coverage, Dataset, Features, Held, Outcome, RIVALS, Repeats, Score, Settings, Split, Trial, draw,
    sample_trial, score,
};
use foreglow_shared::Observation;
use proptest::prelude::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn runs(rows: &[(f64, &str, f64, bool)]) -> Dataset {
    let numbers = Column::numeric("n", rows.iter().map(|row| row.0).collect(), None);
    let names = Column::category("vm", rows.iter().map(|row| row.1));
    let features = Features::new(vec![numbers, names]).unwrap();
    Dataset::new(features, rows.iter().map(|row| row.2).collect(), rows.iter().map(|row| row.3).collect()).unwrap()
}

/// Whether each setting is on exactly one side.
fn is_partition(split: &Split, settings: usize) -> bool {
    let mut all: Vec<usize> = split.fit.iter().chain(&split.test).copied().collect();
    all.sort_unstable();
    all == (0..settings).collect::<Vec<_>>()
}

proptest! {
    #[test]
    fn folds_test_each_setting_once_and_have_almost_equal_sizes(
        settings in 2..200_usize, folds in 2..20_usize, seed: u64,
    ) {
        let splits = Split::folds(settings, folds, seed);
        prop_assert_eq!(splits.len(), folds.min(settings));
        prop_assert!(splits.iter().all(|split| is_partition(split, settings)));
        let mut tested: Vec<usize> = splits.iter().flat_map(|split| split.test.clone()).collect();
        tested.sort_unstable();
        prop_assert_eq!(tested, (0..settings).collect::<Vec<_>>());
        let sizes: Vec<usize> = splits.iter().map(|split| split.test.len()).collect();
        prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        prop_assert_eq!(splits, Split::folds(settings, folds, seed));
    }

    #[test]
    fn random_splits_test_the_requested_number(settings in 2..200_usize, tested in 1..200_usize, seed: u64) {
        let splits = Split::random(settings, tested, 3, seed);
        prop_assert_eq!(splits.len(), if tested < settings { 3 } else { 0 });
        for split in splits {
            prop_assert!(is_partition(&split, settings));
            prop_assert_eq!(split.test.len(), tested);
        }
    }

    #[test]
    fn the_order_of_the_rows_does_not_change_the_settings(seed: u64) {
        let rows: Vec<(f64, &str, f64, bool)> =
            (0..24_u8).map(|i| (f64::from(i % 4), ["b", "a"][usize::from(i % 2)], 1.0 + f64::from(i), i % 5 == 0)).collect();
        let shuffled: Vec<_> = draw(rows.len(), rows.len(), seed).into_iter().map(|row| rows[row]).collect();
        let (one, other) = (runs(&rows), runs(&shuffled));
        let (one, other) = (Settings::of(&one), Settings::of(&other));
        prop_assert_eq!(one.medians().secs(), other.medians().secs());
        prop_assert_eq!(one.medians().censored(), other.medians().censored());
    }
}

#[test]
fn leave_one_out_leaves_each_setting_out_once() {
    let splits = Split::leave_one_out(5);
    assert_eq!(splits.len(), 5);
    assert!(splits.iter().all(|split| split.test.len() == 1 && is_partition(split, 5)));
    assert!(Split::leave_one_out(1).is_empty());
}

#[test]
fn leave_out_tests_each_existing_combination() {
    let rows = runs(&[(1.0, "a", 1.0, false), (1.0, "b", 1.0, false), (2.0, "a", 1.0, false), (3.0, "a", 1.0, false)]);
    let tests = |columns: &[&str]| {
        let splits = Split::leave_out(rows.features(), columns);
        splits.into_iter().map(|split| split.test).collect::<Vec<_>>()
    };
    assert_eq!(tests(&["vm"]), [vec![0, 2, 3], vec![1]]);
    assert_eq!(tests(&["n"]), [vec![0, 1], vec![2], vec![3]]);
    assert_eq!(tests(&["n", "vm"]).len(), 4);
}

#[test]
fn repeats_are_fitted_and_tested_by_their_median_or_each() {
    let rows = runs(&[
        (2.0, "a", 9.0, false),
        (1.0, "a", 1.0, false),
        (1.0, "a", 5.0, false),
        (1.0, "a", 2.0, false),
        (2.0, "a", 7.0, true),
        (3.0, "a", 4.0, false),
    ]);
    let settings = Settings::of(&rows);
    assert_eq!(settings.medians().secs(), [2.0, 8.0, 4.0]);
    assert_eq!(settings.medians().censored(), [false, true, false], "half of the runs of a setting are bounds");
    let split = Split { fit: vec![2], test: vec![0, 1] };
    assert_eq!(settings.trial(&split, Repeats::Median).tested(), 1, "a lower bound is not tested");
    assert_eq!(settings.trial(&split, Repeats::Each).tested(), 4);
    let trial = Trial::new(&settings.runs(&[0]), &settings.runs(&[1, 2]), Repeats::Each);
    assert_eq!((trial.fit().secs(), trial.tested()), (&[1.0, 2.0, 5.0][..], 2));
    let trial = Trial::new(&settings.runs(&[0]), &settings.runs(&[1, 2]), Repeats::Median);
    assert_eq!((trial.fit().secs(), trial.tested()), (&[2.0][..], 1));
}

#[test]
fn a_score_counts_errors_intervals_and_unknown_times() {
    let outcome = |measured_secs, secs, interval| Outcome {
        measured_secs,
        answer: Answer { secs, interval, is_beyond: measured_secs > 15.0, ..Answer::default() },
    };
    let outcomes = [
        outcome(10.0, Some(11.0), Some((9.0, 12.0))),
        outcome(10.0, Some(7.0), Some((6.0, 9.0))),
        outcome(20.0, Some(20.0), Some((20.0, 20.0))),
        outcome(10.0, None, None),
        outcome(10.0, Some(f64::NAN), None),
    ];
    let Score { mape_percent, median_ape_percent, coverage_percent, coverage, tested, unknown } = score(&outcomes);
    let expected = Coverage { within: Held { held: 1, tested: 2 }, beyond: Held { held: 1, tested: 1 } };
    assert_eq!(coverage, Some(expected));
    let close = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-12;
    assert!(close(mape_percent, 40.0 / 3.0) && close(median_ape_percent, 10.0) && close(coverage_percent, 200.0 / 3.0));
    assert_eq!((tested, unknown), (3, 2));
    assert_eq!(score(&[]), Score::default());
}

#[test]
fn the_runs_of_a_job_are_a_table_that_rivals_can_answer() {
    let run = |executors: u32, sampling_rate: f64| Observation {
        executors,
        cores_per_executor: 2,
        total_cores: None,
        memory_per_executor_mib: 512,
        partition_size: 8,
        sampling_rate,
        completion_time_secs: 300.0 * sampling_rate / f64::from(executors),
        startup_secs: None,
        disturbed: false,
        log_error: 0.0,
    };
    let runs: Vec<Observation> = [1, 2].into_iter().flat_map(|e| [0.01, 0.1, 1.0].map(|rate| run(e, rate))).collect();
    let (trial, roles) = sample_trial(&runs).unwrap();
    assert_eq!((trial.fit().secs().len(), trial.tested()), (4, 2));
    for name in ["ernest", "linear-scaling", "end-to-end"] {
        let rival = RIVALS.iter().find(|rival| rival.name() == name).unwrap();
        let score = score(&trial.rival(*rival, &roles).unwrap());
        assert!(score.mape_percent.unwrap() < 1e-6 && score.tested == 2, "{name}: {score:?}");
    }
    assert!(sample_trial(&runs[..2]).is_err(), "no whole job");
}
