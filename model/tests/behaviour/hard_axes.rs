//! Laws that few runs hardly determine: the synchronisation of replicas.

use foreglow_model::{Column, Dataset, Features, Meaning, Prediction, TablePredictor};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn holds(prediction: &Prediction, secs: f64) -> bool {
    prediction.interval.is_some_and(|interval| (interval.lower_secs..=interval.upper_secs).contains(&secs))
}

/// Predicts three networks on 8 replicas from 1 and 2 of them, with the true times.
fn on_eight(law: fn(f64, f64) -> f64) -> Vec<(Prediction, f64)> {
    let features = |rows: &[(f64, f64)]| {
        let names = rows.iter().map(|(share, _)| format!("network {share}"));
        let replicas = Column::numeric("replicas", rows.iter().map(|row| row.1).collect(), None);
        Features::new(vec![Column::category("network", names), replicas]).unwrap()
    };
    let shares = [0.1, 0.3, 0.5];
    let rows: Vec<(f64, f64)> = shares.iter().flat_map(|share| [(*share, 1.0), (*share, 2.0)]).collect();
    let secs = rows.iter().map(|(share, replicas)| 100.0 * law(*share, *replicas)).collect();
    let dataset = Dataset::new(features(&rows), secs, vec![false; rows.len()]).unwrap();
    let predictor = TablePredictor::fit(&dataset, &[("replicas", Meaning::Replicas)]).unwrap();
    let asked = shares.map(|share| (share, 8.0));
    let predictions = predictor.predict(&features(&asked)).unwrap();
    predictions.into_iter().zip(asked.map(|(share, replicas)| 100.0 * law(share, replicas))).collect()
}

fn ring(share: f64, replicas: f64) -> f64 {
    (1.0 + share * (replicas - 1.0) / replicas) / replicas
}

fn amdahl(share: f64, replicas: f64) -> f64 {
    0.5 * share + (1.0 - 0.5 * share) / replicas
}

#[test]
fn the_synchronisation_of_replicas_is_recovered_from_one_and_two_of_them() {
    for (prediction, truth) in on_eight(ring) {
        let ratio = prediction.completion_time_secs.unwrap() / truth;
        assert!((ratio - 1.0).abs() < 0.15, "{ratio}");
        assert!(holds(&prediction, truth), "{prediction:?} for {truth}");
    }
}

#[test]
fn two_counts_of_replicas_leave_both_laws_in_the_interval() {
    for law in [ring, amdahl] {
        for (prediction, truth) in on_eight(law) {
            assert!(holds(&prediction, truth), "{prediction:?} for {truth}");
        }
    }
}
