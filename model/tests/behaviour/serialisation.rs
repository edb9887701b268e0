//! Serialisation as JSON, between the worker and the page and from the command line to scripts.

use std::ops::ControlFlow;

use foreglow_model::{Decision, Grid, Predictor, scenario_table};
use foreglow_shared::Question;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, decide, full, jitter, job, multiplicative};

fn runs() -> Vec<foreglow_shared::Observation> {
    jitter(&full(&[1, 2, 3], &[1, 2], &[0.01, 0.1, 1.0], multiplicative), 0.1)
}

#[test]
fn a_predictor_and_its_decision_round_trip_through_json() {
    let predictor = Predictor::fit(&context(Some(4)), &runs()).unwrap();
    let question = Question::about(&runs());
    let decision = decide(&predictor, &job(&runs()), &question).unwrap();
    let json = serde_json::to_string(&predictor).unwrap();
    assert!(json.len() < 200_000, "{} bytes go from a worker to its page", json.len());
    let travelled: Predictor = serde_json::from_str(&json).unwrap();
    assert_eq!(travelled, predictor);
    assert_eq!(serde_json::to_string(&travelled).unwrap(), json, "fitted parts are serialised");
    assert_eq!(decide(&travelled, &job(&runs()), &question).unwrap(), decision);
    let text = serde_json::to_string(&decision).unwrap();
    assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), decision);
}

#[test]
fn choices_and_scenarios_have_stable_json_names() {
    let table =
        scenario_table(&context(None), &runs(), Grid::Linear, &mut || 0.0, &mut |_, _| ControlFlow::Continue(()))
            .unwrap();
    let table = serde_json::to_value(table).unwrap();
    assert_eq!(table[0]["scenario"], "baseline");
    assert_eq!(table[0]["choices"][0]["place"], "single");
    assert_eq!(table[6]["scenario"], "4-2");
    let places: Vec<&Value> = table[6]["choices"].as_array().unwrap().iter().map(|choice| &choice["place"]).collect();
    let level1 = ["inverse_executors", "inverse_cores", "sampling_rate"].map(|feature| json!({ "level1": feature }));
    assert_eq!(places, [&level1[0], &level1[1], &level1[2], &json!("level2")]);
    assert!(["lasso", "ridge"].contains(&table[6]["choices"][0]["technique"]["name"].as_str().unwrap()));
}
