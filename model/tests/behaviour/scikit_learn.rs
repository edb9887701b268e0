//! End-to-end comparison of scenario 4-2 with scikit-learn (fixtures/make_sklearn.py).

use std::ops::ControlFlow;

use foreglow_model::{Grid, Scenario, ScenarioRow, Technique, scenario_table};
use foreglow_shared::Observation;
use serde_json::Value;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, run};

fn hierarchies() -> Vec<Value> {
    let fixture: Value = serde_json::from_str(include_str!("../fixtures/sklearn.json")).unwrap();
    fixture["hierarchies"].as_array().unwrap().clone()
}

fn quadruple(row: &Value) -> (u32, u32, f64, f64) {
    let number = |index: usize| row[index].as_f64().unwrap_or_default();
    (number(0) as u32, number(1) as u32, number(2), number(3))
}

fn assert_close(ours: f64, theirs: f64, what: &Value) {
    assert!((ours - theirs).abs() <= 1e-6 * theirs.abs(), "{what}: {ours} here, {theirs} expected");
}

/// Returns scenario 4-2 with the techniques of the fixture.
fn hierarchy(runs: &[Observation]) -> ScenarioRow {
    let watch = &mut |_, _| ControlFlow::Continue(());
    let table = scenario_table(&context(None), runs, Grid::Linear, &mut || 0.0, watch).unwrap();
    table.into_iter().find(|row| row.scenario == Scenario::FourTwo).unwrap()
}

#[test]
fn the_hierarchy_makes_the_same_choices_as_scikit_learn() {
    for set in hierarchies() {
        let rows = set["rows"].as_array().unwrap().iter().map(quadruple);
        let runs: Vec<_> = rows.map(|(e, c, s, t)| run(e, c, s, t)).collect();
        let choices = hierarchy(&runs).choices;
        let expected = set["choices"].as_array().unwrap();
        assert_eq!(choices.len(), expected.len());
        for (choice, expected) in choices.iter().zip(expected) {
            let (name, alpha) = match choice.technique {
                Technique::Lasso { alpha } => ("lasso", alpha),
                Technique::Ridge { alpha } => ("ridge", alpha),
                other => panic!("{other} is not in this grid"),
            };
            assert_eq!((name, alpha), (expected["name"].as_str().unwrap(), expected["alpha"].as_f64().unwrap()));
            assert_close(choice.loo_mse, expected["loo_mse"].as_f64().unwrap(), &set["name"]);
        }
    }
}

#[test]
fn the_scenario_table_has_the_same_error_as_scikit_learn() {
    for set in hierarchies() {
        let rows = set["rows"].as_array().unwrap().iter().map(quadruple);
        let mut runs: Vec<_> = rows.map(|(e, c, s, t)| run(e, c, s, t)).collect();
        let asked = set["asked"].as_array().unwrap().iter().map(quadruple);
        let measured = set["measured"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap());
        runs.extend(asked.zip(measured).map(|((e, c, s, _), t)| run(e, c, s, t)));
        assert_close(hierarchy(&runs).mape_percent.unwrap(), set["mape_percent"].as_f64().unwrap(), &set["name"]);
    }
}
