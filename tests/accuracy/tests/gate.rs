//! Regression test of the accuracy figures of the default predictor.

use std::process::Command;

/// Compares a few trials of every protocol with `tests/accuracy/reference.csv`; skips missing
/// public data sets.
#[test]
fn no_figure_is_worse_than_the_reference_by_more_than_a_twentieth() {
    let output = Command::new(env!("CARGO_BIN_EXE_accuracy")).arg("--check").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    said.lines().filter(|line| line.contains("skipped")).for_each(|line| eprintln!("{line}"));
}

#[test]
fn a_protocol_that_does_not_exist_is_unusable_input() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_accuracy")).args(["--only", "nothing of this name"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing of this name"));
}

#[test]
fn without_the_data_a_full_run_says_where_it_looked() {
    let output = Command::new(env!("CARGO_BIN_EXE_accuracy")).arg("/no/such/folder").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/no/such/folder"));
}

#[test]
fn without_the_tables_of_a_cloned_set_the_program_names_the_scripts_that_write_them() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_accuracy")).args(["/no/such/folder", "--only", "Scout"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("Scout") && said.contains("clouds.py and gpus.py") && said.contains("/no/such/folder"),
        "{said}"
    );
}
