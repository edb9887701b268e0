//! Laws that hold for every CNN job, and the influence of one disturbed run on a prediction.

use foreglow_model::{Predictor, Setting};
use foreglow_shared::Observation;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, full, jitter, secs};

/// Sampling rates of the questions, inside and outside the sampled range.
const ASKED: [f64; 7] = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0];
const COUNTS: [u32; 3] = [1, 2, 4];

/// Start-up, a serial share and a share divided by all cores.
fn amdahl(e: f64, c: f64, s: f64) -> f64 {
    0.2 + 300.0 * s * (0.05 + 0.95 / (e * c))
}

fn at(executors: u32, cores_per_executor: u32, sampling_rate: f64) -> Setting {
    Setting::even(executors, cores_per_executor, sampling_rate)
}

fn fit(runs: &[Observation]) -> Predictor {
    Predictor::fit(&context(None), runs).unwrap()
}

/// Returns the largest deviation of the times at these rates from the straight line between the
/// ends, relative to the line.
fn bend(predictor: &Predictor, executors: u32, cores: u32) -> f64 {
    let time = |rate: f64| secs(predictor, at(executors, cores, rate));
    let (first, last) = (ASKED[0], ASKED[ASKED.len() - 1]);
    let line = |rate: f64| time(first) + (time(last) - time(first)) * (rate - first) / (last - first);
    ASKED.iter().map(|rate| (time(*rate) / line(*rate) - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn a_time_is_affine_in_the_images() {
    for share in [0.0, 0.05] {
        let predictor = fit(&jitter(&full(&COUNTS, &COUNTS, &[0.01, 0.03, 0.1], amdahl), share));
        for (e, c) in [(1, 1), (2, 2), (4, 4), (3, 2), (6, 4)] {
            let bend = bend(&predictor, e, c);
            assert!(bend < 0.05, "{e}x{c}, noise of {share}: {bend}");
        }
    }
}

#[test]
fn a_time_is_affine_in_the_images_whatever_one_slow_run_says() {
    let mut runs = full(&COUNTS, &COUNTS, &[0.01, 0.03, 0.1], amdahl);
    let slow = full(&[2], &[2], &[0.3], amdahl);
    for factor in [1.2, 1.5, 2.0, 3.0, 10.0] {
        runs.truncate(27);
        runs.push(Observation { completion_time_secs: slow[0].completion_time_secs * factor, ..slow[0] });
        let predictor = fit(&runs);
        for (e, c) in [(1, 1), (2, 2), (4, 4)] {
            let (expected, predicted) = (amdahl(f64::from(e), f64::from(c), 1.0), secs(&predictor, at(e, c, 1.0)));
            assert!((predicted / expected - 1.0).abs() < 0.1, "{e}x{c}, x{factor}: {predicted} for {expected}");
            assert!(bend(&predictor, e, c) < 0.05, "{e}x{c}, x{factor}");
        }
    }
}

/// Returns the largest relative change of a prediction when each run in turn takes ten times as
/// long.
fn influence(runs: &[Observation], asked: &[Setting]) -> f64 {
    let before = fit(runs);
    let mut most: f64 = 0.0;
    for slow in 0..runs.len() {
        let mut runs = runs.to_vec();
        runs[slow].completion_time_secs *= 10.0;
        let after = fit(&runs);
        let moved = asked.iter().map(|setting| (secs(&after, *setting) / secs(&before, *setting) - 1.0).abs());
        most = moved.fold(most, f64::max);
    }
    most
}

#[test]
fn one_sample_of_nine_that_took_ten_times_as_long_moves_no_prediction_by_more_than_15_percent() {
    let runs = jitter(&full(&COUNTS, &[1], &[0.01, 0.03, 0.1], amdahl), 0.03);
    let asked: Vec<Setting> = COUNTS.iter().flat_map(|e| ASKED.map(|rate| at(*e, 1, rate))).collect();
    let moved = influence(&runs, &asked);
    assert!(moved <= 0.15, "{moved}");
}

#[test]
fn one_whole_job_of_nine_that_took_ten_times_as_long_moves_no_prediction_by_more_than_15_percent() {
    let runs = jitter(&full(&COUNTS, &COUNTS, &[1.0], amdahl), 0.03);
    let asked: Vec<Setting> = COUNTS.iter().flat_map(|e| COUNTS.map(|c| at(*e, c, 1.0))).collect();
    let moved = influence(&runs, &asked);
    assert!(moved <= 0.15, "{moved}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, rng_seed: RngSeed::Fixed(3), ..ProptestConfig::default() })]

    #[test]
    fn no_inference_job_is_predicted_to_grow_faster_than_its_images(
        rates in prop::sample::subsequence(vec![0.01, 0.03, 0.05, 0.1, 0.3], 2..=4),
        share in 0.0..0.4,
        start in 0.0..5.0,
        slow in prop::sample::select(vec![1.0, 1.3, 2.0, 4.0]),
    ) {
        let time = |e: f64, c: f64, s: f64| start + amdahl(e, c, s);
        let mut runs = jitter(&full(&[1, 2, 4], &[1, 2], &rates, time), share);
        // The most influential run: the one with the most images.
        let largest = (0..runs.len()).max_by(|a, b| runs[*a].sampling_rate.total_cmp(&runs[*b].sampling_rate)).unwrap();
        runs[largest].completion_time_secs *= slow;
        let predictor = fit(&runs);
        for (e, c) in [(1, 1), (2, 2), (4, 1), (4, 2), (8, 2)] {
            for pair in ASKED.windows(2) {
                let grown = secs(&predictor, at(e, c, pair[1])) / secs(&predictor, at(e, c, pair[0]));
                prop_assert!(grown <= pair[1] / pair[0] * (1.0 + 1e-9), "{e}x{c}: {pair:?} take {grown} times as long");
            }
        }
    }
}

#[test]
fn a_disturbed_run_says_nothing_where_another_of_its_setting_was_not() {
    let clean = full(&[1, 2, 4], &[1], &[0.01, 0.1], amdahl);
    let mut runs = clean.clone();
    runs.extend(clean.iter().map(|run| Observation {
        completion_time_secs: run.completion_time_secs * 2.0,
        disturbed: true,
        ..*run
    }));
    assert_eq!(secs(&fit(&runs), at(2, 1, 1.0)), secs(&fit(&clean), at(2, 1, 1.0)));
}

#[test]
fn a_disturbed_run_counts_less_than_a_clean_one() {
    let mut runs = full(&[1, 2, 4], &[1], &[0.01, 0.1], amdahl);
    let before = secs(&fit(&runs), at(4, 1, 1.0));
    let last = runs.len() - 1;
    runs[last].completion_time_secs *= 1.15;
    let counted = secs(&fit(&runs), at(4, 1, 1.0)) / before;
    runs[last].disturbed = true;
    let disturbed = secs(&fit(&runs), at(4, 1, 1.0)) / before;
    assert!((disturbed - 1.0).abs() < (counted - 1.0).abs(), "{disturbed} and {counted}");
}
