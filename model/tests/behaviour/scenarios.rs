//! The scenario table.

use std::ops::ControlFlow;

use foreglow_model::{Cancelled, Grid, Place, Scenario, ScenarioRow, Technique, scenario_row, scenario_table};
use foreglow_shared::{Context, Observation};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{additive, context, full, jitter, multiplicative, run};

/// Returns the table with a clock on which each scenario takes one second.
fn table_in(context: &Context, runs: &[Observation]) -> Vec<ScenarioRow> {
    let mut secs = 0.0;
    let mut clock = || {
        secs += 1.0;
        secs
    };
    scenario_table(context, runs, Grid::Linear, &mut clock, &mut |_, _| ControlFlow::Continue(())).unwrap()
}

/// Returns the rows of the baseline and scenario 4-2.
fn table(runs: &[Observation]) -> [ScenarioRow; 2] {
    let rows = table_in(&context(None), runs);
    [Scenario::Baseline, Scenario::FourTwo].map(|scenario| find(&rows, scenario))
}

fn find(rows: &[ScenarioRow], scenario: Scenario) -> ScenarioRow {
    rows.iter().find(|row| row.scenario == scenario).unwrap().clone()
}

/// Returns one scenario with the published grid.
fn published(scenario: Scenario, runs: &[Observation]) -> ScenarioRow {
    let watch = &mut |_, _| ControlFlow::Continue(());
    scenario_row(scenario, &context(None), runs, Grid::Published, &mut || 0.0, watch).unwrap()
}

#[test]
fn the_hierarchy_is_tested_on_held_out_whole_jobs() {
    let runs = full(&[1, 2, 3], &[2, 4, 6, 8], &[0.01, 0.1, 1.0], multiplicative);
    let [_, row] = table(&runs);
    assert_eq!((row.scenario.label(), row.fitted, row.tested), ("4-2", 24, 12));
    assert!(row.accuracy_percent.unwrap() > 99.999);
    assert_eq!(row.choices.len(), 4);
    assert_eq!(row.choices[3].place, Place::Level2);
    let sampled: Vec<Observation> = runs.iter().filter(|run| run.sampling_rate < 1.0).copied().collect();
    let [_, blind] = table(&sampled);
    assert_eq!((blind.choices, blind.fitted), (row.choices, 24));
}

#[test]
fn the_baseline_is_tested_by_leaving_out_each_row() {
    let [row, _] = table(&full(&[1, 2, 3], &[2, 4, 8], &[0.1, 1.0], additive));
    assert_eq!((row.scenario, row.fitted, row.tested), (Scenario::Baseline, 9, 9));
    assert!(row.accuracy_percent.unwrap() > 99.999);
    assert_eq!(row.reason, None);
}

#[test]
fn the_times_of_a_row_count_only_its_own_samples_and_training() {
    let runs =
        [run(1, 1, 0.01, 2.0), run(1, 1, 0.01, 4.0), run(1, 1, 0.1, 12.0), run(2, 1, 0.1, 6.0), run(1, 1, 1.0, 99.0)];
    let [baseline, hierarchy] = table(&runs);
    assert_eq!((baseline.t1_secs, baseline.t2_secs, baseline.total_secs), (0.0, 0.0, 0.0));
    let startup = 4.0 * 1.5;
    assert_eq!(hierarchy.t1_secs, 24.0 + startup);
    assert_eq!((hierarchy.t2_secs, hierarchy.total_secs), (1.0, 25.0 + startup));
    assert_eq!((hierarchy.fitted, hierarchy.tested), (3, 1));
}

#[test]
fn a_scenario_without_samples_keeps_its_row_with_advice() {
    let [baseline, hierarchy] = table(&full(&[1, 2], &[1, 2], &[0.01, 0.1], multiplicative));
    assert!(
        baseline.reason.unwrap().contains("this scenario needs 3 configurations at sampling rate 1 and there are 0")
    );
    assert!(hierarchy.reason.unwrap().contains("collect a configuration at sampling rate 1"));
    assert_eq!((hierarchy.fitted, hierarchy.accuracy_percent), (8, None));
    let [baseline, hierarchy] = table(&[]);
    assert!(baseline.reason.is_some() && hierarchy.reason.is_some());
}

#[test]
fn unusable_samples_are_named_in_both_rows() {
    let [baseline, hierarchy] = table(&[run(1, 1, 0.1, f64::NAN)]);
    assert_eq!(baseline.reason, hierarchy.reason);
    assert!(baseline.reason.unwrap().contains("completion time NaN s"));
}

#[test]
fn the_table_has_every_scenario_of_the_paper_in_its_order() {
    let runs = full(&[1, 2, 3], &[2, 4, 8], &[0.01, 0.1, 1.0], multiplicative);
    let rows = table_in(&context(None), &runs);
    let labels: Vec<&str> = rows.iter().map(|row| row.scenario.label()).collect();
    assert_eq!(labels, ["baseline", "1", "2", "3-1", "3-2", "4-1", "4-2"]);
    let counts: Vec<(usize, usize)> = rows.iter().map(|row| (row.fitted, row.tested)).collect();
    assert_eq!(counts, [(9, 9), (18, 9), (18, 9), (9, 9), (9, 9), (18, 9), (18, 9)]);
    let places: Vec<usize> = rows.iter().map(|row| row.choices.len()).collect();
    assert_eq!(places, [1, 1, 1, 3, 3, 4, 4]);
    assert!(rows.iter().all(|row| row.reason.is_none()), "{rows:?}");
    // Only level 2 on the product represents multiplicative effects exactly.
    let exact: Vec<&str> =
        rows.iter().filter(|row| row.accuracy_percent.unwrap() > 99.9).map(|row| row.scenario.label()).collect();
    assert_eq!(exact, ["3-2", "4-2"]);
}

#[test]
fn only_scenario_1_has_memory_and_partition_size_as_features() {
    let mut runs = Vec::new();
    for memory in [1024, 2048] {
        for (partition_size, run) in [8, 16]
            .iter()
            .flat_map(|p| full(&[1, 2], &[1, 2], &[0.01, 0.1, 1.0], multiplicative).into_iter().map(move |r| (*p, r)))
        {
            runs.push(Observation { memory_per_executor_mib: memory, partition_size, ..run });
        }
    }
    let rows = table_in(&context(None), &runs);
    assert_eq!((find(&rows, Scenario::One).fitted, find(&rows, Scenario::One).tested), (32, 16));
    assert_eq!((find(&rows, Scenario::Two).fitted, find(&rows, Scenario::Two).tested), (8, 4));
}

#[test]
fn whole_jobs_that_differ_in_two_features_at_once_have_no_hierarchy() {
    let runs: Vec<Observation> = [(1, 1), (2, 2), (3, 4)].map(|(e, c)| run(e, c, 1.0, 9.0 / f64::from(e))).to_vec();
    let row = find(&table_in(&context(None), &runs), Scenario::ThreeTwo);
    assert!(row.reason.unwrap().contains("differ only in executors or only in cores"));
}

#[test]
fn a_watcher_sees_the_progress_and_can_cancel() {
    let runs = full(&[1, 2, 3], &[1, 2], &[0.01, 0.1, 1.0], multiplicative);
    let mut seen = Vec::new();
    let mut watch = |done, total| {
        seen.push((done, total));
        ControlFlow::Continue(())
    };
    scenario_table(&context(None), &runs, Grid::Linear, &mut || 0.0, &mut watch).unwrap();
    assert!(seen.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 == pair[1].1));
    let (done, total) = *seen.last().unwrap();
    assert!(total > 0 && done == total, "{done} of {total}");
    let mut steps = 0;
    let mut watch = |_, _| {
        steps += 1;
        if steps < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    assert_eq!(scenario_table(&context(None), &runs, Grid::Linear, &mut || 0.0, &mut watch), Err(Cancelled));
    assert_eq!(steps, 5);
}

#[test]
fn scaling_the_times_does_not_change_the_choices() {
    let runs = jitter(&full(&[1, 2, 3], &[2, 4], &[0.01, 0.1, 1.0], multiplicative), 0.1);
    let chosen = |k: f64| {
        let scale = |run: &Observation| Observation { completion_time_secs: run.completion_time_secs * k, ..*run };
        let row = published(Scenario::FourTwo, &runs.iter().map(scale).collect::<Vec<_>>());
        row.choices.iter().map(|choice| choice.technique).collect::<Vec<Technique>>()
    };
    let once = chosen(1.0);
    assert_eq!(once.len(), 4);
    for k in [1e-4, 7.0, 1e5] {
        assert_eq!(chosen(k), once, "{k}");
    }
}

#[test]
fn the_order_of_the_runs_does_not_change_the_scenario_table() {
    let mut runs = jitter(&full(&[1, 2, 3], &[2, 4], &[0.01, 0.1, 1.0], multiplicative), 0.1);
    let sorted = published(Scenario::FourTwo, &runs);
    runs.reverse();
    runs.swap(1, 9);
    assert_eq!(published(Scenario::FourTwo, &runs), sorted);
}

#[test]
fn scenarios_never_panic_and_their_figures_are_finite() {
    let steep = full(&[1, 2], &[1, 2], &[1e-9, 0.1, 1.0], |e, c, s| 1e9 * s / (e * c));
    let flat = full(&[1, 2], &[1, 2], &[0.01, 0.1, 1.0], |_, _, _| 3.0);
    let one_executor = full(&[1], &[1, 2, 4], &[0.01, 0.1, 1.0], multiplicative);
    for runs in [steep, flat, one_executor] {
        for scenario in [Scenario::Baseline, Scenario::Two, Scenario::FourOne, Scenario::FourTwo] {
            let row = published(scenario, &runs);
            assert!(row.reason.is_some() || row.mape_percent.unwrap().is_finite(), "{row:?}");
            assert!(row.choices.iter().all(|choice| choice.loo_mse.is_finite()), "{row:?}");
        }
    }
}
