//! The scenario table.

use foreglow_model::{Place, Scenario, ScenarioRow, scenario_table};
use foreglow_shared::Observation;

use crate::grid::{additive, context, full, multiplicative, run};

/// Each scenario "takes" a second.
fn table(runs: &[Observation]) -> [ScenarioRow; 2] {
    let mut secs = 0.0;
    let mut clock = || {
        secs += 1.0;
        secs
    };
    scenario_table(&context(None), runs, &mut clock).try_into().unwrap()
}

#[test]
fn the_hierarchy_is_tested_on_the_whole_job_that_it_never_saw() {
    let runs = full(&[1, 2, 3], &[2, 4, 6, 8], &[0.01, 0.1, 1.0], multiplicative);
    let [_, row] = table(&runs);
    assert_eq!((row.scenario.label(), row.fitted, row.tested), ("4-2", 24, 12));
    assert!(row.accuracy_percent.unwrap() > 99.999);
    assert_eq!(row.choices.len(), 4);
    assert_eq!(row.choices[3].place, Place::Level2);
}

#[test]
fn the_baseline_is_tested_by_leaving_out_each_row() {
    let [row, _] = table(&full(&[1, 2, 3], &[2, 4, 8], &[0.1, 1.0], additive));
    assert_eq!((row.scenario, row.fitted, row.tested), (Scenario::Baseline, 9, 9));
    assert!(row.accuracy_percent.unwrap() > 99.999);
    assert_eq!(row.reason, None);
}

#[test]
fn the_times_of_a_row_are_those_of_its_own_samples_and_its_own_training() {
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
fn a_scenario_without_samples_keeps_its_row_and_says_what_to_collect() {
    let [baseline, hierarchy] = table(&full(&[1, 2], &[1, 2], &[0.01, 0.1], multiplicative));
    assert!(
        baseline.reason.unwrap().contains("the baseline needs 3 configurations at sampling rate 1 and there are 0")
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
