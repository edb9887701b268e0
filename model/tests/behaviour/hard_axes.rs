//! Laws that few runs hardly determine: a start-up that depends on the configuration, and the
//! synchronisation of replicas.

use foreglow_model::{Column, Dataset, Features, Meaning, Prediction, Predictor, Setting, TablePredictor};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, full, jitter};

const COUNTS: [u32; 3] = [1, 2, 4];

fn holds(prediction: &Prediction, secs: f64) -> bool {
    prediction.interval.is_some_and(|interval| (interval.lower_secs..=interval.upper_secs).contains(&secs))
}

#[test]
fn a_start_up_that_the_executors_or_the_cores_share_is_recovered_from_small_samples() {
    let laws: [fn(f64, f64, f64) -> f64; 3] = [
        |e, c, s| 22.0 / e + 116.0 * s / (e * c),
        |e, c, s| 22.0 / c + 116.0 * s / (e * c),
        |e, c, s| 5.0 + 5.0 / e + 116.0 * s / (e * c),
    ];
    for (place, law) in laws.into_iter().enumerate() {
        for rates in [[0.01, 0.03, 0.1], [0.03, 0.05, 0.1]] {
            let runs = jitter(&full(&COUNTS, &COUNTS, &rates, law), 0.01);
            let predictor = Predictor::fit(&context(None), &runs).unwrap();
            for (e, c) in COUNTS.into_iter().flat_map(|e| COUNTS.map(|c| (e, c))) {
                let truth = law(f64::from(e), f64::from(c), 1.0);
                let whole = predictor.predict(Setting::even(e, c, 1.0));
                let ratio = whole.completion_time_secs.unwrap() / truth;
                assert!((ratio - 1.0).abs() < 0.2, "law {place}, {rates:?}, {e} × {c}: {ratio}");
                assert!(holds(&whole, truth), "law {place}, {rates:?}, {e} × {c}: {whole:?} for {truth}");
            }
        }
    }
}

/// Predicts three networks on 8 workers from 1 and 2 of them.
fn on_eight(meaning: Meaning, law: fn(f64, f64) -> f64) -> Vec<(Prediction, f64)> {
    let features = |rows: &[(f64, f64)]| {
        let names = rows.iter().map(|(share, _)| format!("network {share}"));
        let workers = Column::numeric("workers", rows.iter().map(|row| row.1).collect(), None);
        Features::new(vec![Column::category("network", names), workers]).unwrap()
    };
    let shares = [0.1, 0.3, 0.5];
    let rows: Vec<(f64, f64)> = shares.iter().flat_map(|share| [(*share, 1.0), (*share, 2.0)]).collect();
    let secs = rows.iter().map(|(share, workers)| 100.0 * law(*share, *workers)).collect();
    let dataset = Dataset::new(features(&rows), secs, vec![false; rows.len()]).unwrap();
    let predictor = TablePredictor::fit(&dataset, &[("workers", meaning)]).unwrap();
    let asked = shares.map(|share| (share, 8.0));
    let predictions = predictor.predict(&features(&asked)).unwrap();
    predictions.into_iter().zip(asked.map(|(share, workers)| 100.0 * law(share, workers))).collect()
}

fn ring(share: f64, workers: f64) -> f64 {
    (1.0 + share * (workers - 1.0) / workers) / workers
}

fn amdahl(share: f64, workers: f64) -> f64 {
    0.5 * share + (1.0 - 0.5 * share) / workers
}

#[test]
fn the_synchronisation_of_replicas_is_recovered_from_one_and_two_workers() {
    for (prediction, truth) in on_eight(Meaning::Replicas, ring) {
        let ratio = prediction.completion_time_secs.unwrap() / truth;
        assert!((ratio - 1.0).abs() < 0.15, "{ratio}");
        assert!(holds(&prediction, truth), "{prediction:?} for {truth}");
    }
}

#[test]
fn two_counts_of_workers_leave_every_law_in_the_interval() {
    for meaning in [Meaning::Workers, Meaning::Replicas] {
        for law in [ring, amdahl] {
            for (prediction, truth) in on_eight(meaning, law) {
                assert!(holds(&prediction, truth), "{meaning:?}: {prediction:?} for {truth}");
            }
        }
    }
}

#[test]
fn more_workers_may_give_no_speed_up_where_few_counts_were_measured() {
    let workers = |counts: &[f64]| Features::new(vec![Column::numeric("workers", counts.to_vec(), None)]).unwrap();
    let counts = [1.0, 2.0, 4.0];
    let secs = counts.iter().map(|count| 100.0 / count).collect();
    let dataset = Dataset::new(workers(&counts), secs, vec![false; 3]).unwrap();
    let predictor = TablePredictor::fit(&dataset, &[("workers", Meaning::Workers)]).unwrap();
    let eight = &predictor.predict(&workers(&[8.0])).unwrap()[0];
    assert!(eight.interval.unwrap().upper_secs >= 25.0, "the time of 4 workers is possible: {eight:?}");
}
