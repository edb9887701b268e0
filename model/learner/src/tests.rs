//! Tests common to all learners, and comparisons with scikit-learn.

use proptest::prelude::*;
use serde_json::Value;

use std::ops::ControlFlow;

use super::*;

const SKLEARN: &str = include_str!("../../tests/fixtures/sklearn.json");

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Asserts equality to 1e-6 of the expected value, or 1e-9 absolute, because targets are about 1.
fn assert_close(ours: f64, theirs: f64, what: &str) {
    assert!((ours - theirs).abs() <= 1e-6 * theirs.abs() + 1e-9, "{what}: {ours} here, {theirs} expected");
}

fn tables() -> Vec<(Value, Table)> {
    let fixture: Value = serde_json::from_str(SKLEARN).unwrap();
    let read = |set: &Value| {
        let features = set["features"].as_array().unwrap().iter().map(numbers).collect();
        (set.clone(), Table { features, target: numbers(&set["target"]) })
    };
    fixture["tables"].as_array().unwrap().iter().map(read).collect()
}

fn candidates(grid: Grid, table: &Table) -> Vec<Candidate> {
    let watch = &mut |_, _| ControlFlow::Continue(());
    let mut work = Work::new(grid.steps(), watch);
    let mut candidates = Vec::new();
    for learner in grid.learners() {
        candidates.extend(learner.candidates(table, &mut work).unwrap());
    }
    assert_eq!(work.done(), grid.steps(), "every step is reported");
    candidates
}

/// All techniques of the Lasso and Ridge families.
fn grid() -> Vec<Technique> {
    let lasso = ALPHAS.map(|alpha| Technique::Lasso { alpha });
    let ridge = ALPHAS.map(|alpha| Technique::Ridge { alpha });
    [lasso, ridge].concat()
}

fn fit(technique: Technique, table: &Table) -> Linear {
    match technique {
        Technique::Lasso { alpha } => lasso::fit(table, alpha),
        Technique::Ridge { alpha } => ridge::fit(table, alpha),
        other => panic!("{other} is not a line"),
    }
}

fn choose(table: &Table) -> (Selection, Linear) {
    let watch = &mut |_, _| ControlFlow::Continue(());
    match select(table, Grid::Linear, &mut Work::new(0, watch)).unwrap() {
        (selection, Model::Linear(line)) => (selection, line),
        (selection, _) => panic!("{} is not a line", selection.technique),
    }
}

fn leave_one_out(table: &Table) -> Vec<Vec<f64>> {
    candidates(Grid::Linear, table).into_iter().map(|candidate| candidate.held_out).collect()
}

fn without(table: &Table, row: usize) -> Table {
    let mut table = table.clone();
    table.features.remove(row);
    table.target.remove(row);
    table
}

#[test]
fn every_technique_finds_the_line_that_scikit_learn_finds() {
    for (set, table) in tables() {
        for (technique, expected) in grid().into_iter().zip(set["grid"].as_array().unwrap()) {
            let what = format!("{} {technique}", set["name"]);
            let line = fit(technique, &table);
            for (ours, theirs) in line.weights.iter().zip(numbers(&expected["weights"])) {
                assert_close(*ours, theirs, &what);
            }
            assert_close(line.intercept, expected["intercept"].as_f64().unwrap(), &what);
        }
    }
}

#[test]
fn every_technique_predicts_left_out_rows_as_scikit_learn_does() {
    for (set, table) in tables() {
        let expected = set["grid"].as_array().unwrap();
        for ((technique, ours), expected) in grid().into_iter().zip(leave_one_out(&table)).zip(expected) {
            for (ours, theirs) in ours.iter().zip(numbers(&expected["loo"])) {
                assert_close(*ours, theirs, &format!("{} {technique}", set["name"]));
            }
        }
    }
}

#[test]
fn selection_chooses_what_scikit_learn_would() {
    for (set, table) in tables() {
        let (choice, _) = choose(&table);
        let chosen = set["chosen"].as_u64().unwrap() as usize;
        assert_eq!(choice.technique, grid()[chosen], "{}", set["name"]);
        assert_close(choice.loo_mse, set["grid"][chosen]["loo_mse"].as_f64().unwrap(), "error");
    }
}

#[test]
fn a_constant_feature_gets_no_weight() {
    let features = [0.1, 0.2, 0.3, 0.4].map(|x| vec![0.3, x]).to_vec();
    let table = Table { features, target: vec![1.0, 2.0, 3.0, 4.1] };
    for technique in grid() {
        assert_eq!(fit(technique, &table).weights[0], 0.0, "{technique}");
    }
}

#[test]
fn collinear_features_can_be_fitted() {
    let features = [0.1, 0.2, 0.3, 0.5].map(|x| vec![x, x, 2.0 * x]).to_vec();
    let table = Table { features, target: vec![1.1, 1.2, 1.3, 1.5] };
    for technique in grid().into_iter().filter(|technique| technique.to_string().ends_with("e-15")) {
        let line = fit(technique, &table);
        assert_close(line.at(&[0.4, 0.4, 0.8]), 1.4, &technique.to_string());
    }
    assert!(leave_one_out(&table).iter().flatten().all(|predicted| predicted.is_finite()));
}

#[test]
fn with_two_rows_each_is_predicted_by_the_other() {
    let table = Table { features: vec![vec![0.1], vec![1.0]], target: vec![2.0, 5.0] };
    for predicted in leave_one_out(&table) {
        assert_close(predicted[0], 5.0, "first");
        assert_close(predicted[1], 2.0, "second");
    }
}

#[test]
fn techniques_are_displayed_with_readable_numbers() {
    let shown: Vec<String> = grid().iter().map(Technique::to_string).collect();
    assert_eq!(shown[..5], ["Lasso α=1e-15", "Lasso α=1e-10", "Lasso α=1e-8", "Lasso α=0.001", "Lasso α=0.01"]);
    assert_eq!(shown[14..], ["Ridge α=1", "Ridge α=5", "Ridge α=10", "Ridge α=20"]);
}

fn any_table() -> impl Strategy<Value = Table> {
    (1usize..4, 3usize..12).prop_flat_map(|(columns, rows)| {
        // Few distinct levels, as in a grid, so that rows repeat and columns are sometimes
        // constant.
        let level = prop::sample::select(vec![0.01, 0.1, 0.25, 1.0 / 3.0, 0.5, 1.0]);
        let features = prop::collection::vec(prop::collection::vec(level, columns), rows);
        (features, prop::collection::vec(0.01f64..1.0, rows)).prop_map(|(features, target)| Table { features, target })
    })
}

proptest! {
    #[test]
    fn closed_form_and_path_equal_a_refit_without_the_row(table in any_table()) {
        for (technique, predicted) in grid().into_iter().zip(leave_one_out(&table)) {
            // A penalty of 1e-15 does not resolve collinear columns: their weights are rounding.
            if technique.to_string().ends_with("e-15") && table.features[0].len() > 1 {
                continue;
            }
            for (row, predicted) in predicted.iter().enumerate() {
                let refitted = fit(technique, &without(&table, row)).at(&table.features[row]);
                prop_assert!((predicted - refitted).abs() < 1e-6, "{technique}, row {row}: {predicted} and {refitted}");
            }
        }
    }

    #[test]
    fn the_fit_is_a_local_minimum_of_its_objective(table in any_table(), step in -1e-3f64..1e-3) {
        for technique in grid() {
            let line = fit(technique, &table);
            let least = objective(technique, &table, &line);
            for moved in 0..=line.weights.len() {
                let mut other = line.clone();
                match other.weights.get_mut(moved) {
                    Some(weight) => *weight += step,
                    None => other.intercept += step,
                }
                prop_assert!(least <= objective(technique, &table, &other) + 1e-12, "{technique}");
            }
        }
    }

    #[test]
    fn a_known_line_is_recovered_where_there_is_no_noise(
        weights in prop::collection::vec(-3.0f64..3.0, 2), intercept in -2.0f64..2.0
    ) {
        let features: Vec<Vec<f64>> =
            [(1.0, 1.0), (0.5, 1.0), (0.25, 1.0), (1.0, 0.5), (0.5, 0.5)].map(|(c, e)| vec![c, e]).to_vec();
        let target = features.iter().map(|x| weights[0] * x[0] + weights[1] * x[1] + intercept).collect();
        let (_, line) = choose(&Table { features, target });
        prop_assert!((line.intercept - intercept).abs() < 1e-9);
        for (found, known) in line.weights.iter().zip(&weights) {
            prop_assert!((found - known).abs() < 1e-9);
        }
    }
}

fn objective(technique: Technique, table: &Table, line: &Linear) -> f64 {
    let squares: f64 = table.features.iter().zip(&table.target).map(|(x, y)| (y - line.at(x)) * (y - line.at(x))).sum();
    match technique {
        Technique::Lasso { alpha } => {
            squares / (2.0 * table.rows() as f64) + alpha * line.weights.iter().map(|w| w.abs()).sum::<f64>()
        }
        Technique::Ridge { alpha } => squares + alpha * line.weights.iter().map(|w| w * w).sum::<f64>(),
        other => panic!("{other} has no line"),
    }
}

/// Tolerance of the mean difference in MAPE over seeds, percentage points.
const APART: f64 = 0.5;
/// Tolerance of the difference in MAPE with one seed, percentage points.
const APART_UNDER_A_SEED: f64 = 1.0;

/// Asserts that the leave-one-out MAPE of each technique of a family agrees with scikit-learn's,
/// seed by seed.
fn assert_as_accurate(
    family: &str,
    learner: &dyn Fn(u32) -> Box<dyn Learner>,
    find: &dyn Fn(&Value, Technique) -> bool,
) {
    let fixture: Value = serde_json::from_str(include_str!("../../tests/fixtures/sklearn_seeded.json")).unwrap();
    let seeds = fixture["seeds"].as_u64().unwrap() as u32;
    let mut compared = 0;
    for set in fixture["tables"].as_array().unwrap() {
        let features = set["features"].as_array().unwrap().iter().map(numbers).collect();
        let table = Table { features, target: numbers(&set["target"]) };
        let run = |seed| {
            let watch = &mut |_, _| ControlFlow::Continue(());
            learner(seed).candidates(&table, &mut Work::new(0, watch)).unwrap()
        };
        let runs: Vec<Vec<Candidate>> = (0..seeds).map(run).collect();
        for expected in set[family].as_array().unwrap() {
            let index = runs[0].iter().position(|candidate| find(expected, candidate.technique)).unwrap();
            let theirs = numbers(&expected["mape_percent"]);
            let ours = runs.iter().map(|run| foreglow_numeric::mape(&table.target, &run[index].held_out).unwrap());
            let differences: Vec<f64> = ours.zip(&theirs).map(|(ours, theirs)| ours - theirs).collect();
            // Effect of rounding alone on scikit-learn's results, where the fixture has it.
            let rounding = expected["mape_percent_reversed"].as_array().map_or(0.0, |_| {
                let reversed = numbers(&expected["mape_percent_reversed"]);
                let squares =
                    reversed.iter().zip(&theirs).map(|(reversed, theirs)| (reversed - theirs) * (reversed - theirs));
                (squares.sum::<f64>() / f64::from(seeds)).sqrt()
            });
            let mean = differences.iter().sum::<f64>() / f64::from(seeds);
            let what = format!(
                "{} {}: {differences:.3?} off, {rounding:.3} by rounding",
                set["name"], runs[0][index].technique
            );
            assert!(mean.abs() <= APART + 3.0 * rounding / f64::from(seeds).sqrt(), "{what}");
            assert!(differences.iter().all(|off| off.abs() <= APART_UNDER_A_SEED + 3.0 * rounding), "{what}");
            compared += 1;
        }
    }
    assert!(compared > 5);
}

#[test]
fn forests_are_as_accurate_as_scikit_learns() {
    let same = |expected: &Value, technique: Technique| match technique {
        Technique::RandomForest { trees, max_features, .. } => {
            expected["trees"] == trees && expected["max_features"] == serde_json::to_value(max_features).unwrap()
        }
        _ => false,
    };
    assert_as_accurate("forests", &|seed| Box::new(Forests { seed }), &same);
}

#[cfg(feature = "perceptron")]
#[test]
fn perceptrons_are_as_accurate_as_scikit_learns() {
    let same = |expected: &Value, technique: Technique| match technique {
        Technique::Perceptron { solver, activation, learning_rate, hidden_units, .. } => {
            expected["solver"] == serde_json::to_value(solver).unwrap()
                && expected["activation"] == serde_json::to_value(activation).unwrap()
                && expected["learning_rate"] == learning_rate
                && expected["hidden_units"] == hidden_units
        }
        _ => false,
    };
    assert_as_accurate("perceptrons", &|seed| Box::new(Perceptrons { seed }), &same);
}

#[test]
fn held_out_predictions_equal_a_refit_without_the_row() {
    // Without its last row, the table is the training data of that row's fold.
    let (_, table) = tables().into_iter().nth(3).unwrap();
    let last = table.rows() - 1;
    for (whole, without) in
        candidates(Grid::Published, &table).iter().zip(candidates(Grid::Published, &without(&table, last)))
    {
        assert_eq!(whole.technique, without.technique);
        let (held_out, refitted) = (whole.held_out[last], without.model.at(&table.features[last]));
        assert!((held_out - refitted).abs() < 1e-6, "{}: {held_out} and {refitted}", whole.technique);
    }
}
