//! Tests that apply to every form of regression.

use super::*;
use crate::dataset::{Training, UNSEEN};
use crate::regression::detrended::Detrended;
use crate::regression::gaussian_process::GaussianProcess;
use crate::regression::log_additive::LogAdditive;
use crate::regression::posynomial::{Prior, Problem};

fn members(training: &Training) -> Vec<(&'static str, Box<dyn Regression>)> {
    let problem = Problem::new(training, &Prior::default());
    let [one, two, three] = problem.fit().try_into().unwrap();
    vec![
        ("log-additive", Box::new(LogAdditive::fit(training))),
        ("process, short", Box::new(GaussianProcess::fit(training, 1.0, None))),
        ("process, long", Box::new(GaussianProcess::fit(training, 2.0, None))),
        ("2 terms and a process", Box::new(Detrended::fit(training, &problem, &two, (0.03, None)))),
        ("3 terms and a process", Box::new(Detrended::fit(training, &problem, &three, (0.03, None)))),
        ("1 term", Box::new(one)),
        ("2 terms", Box::new(two)),
        ("3 terms", Box::new(three)),
    ]
}

/// Returns rows of numbers and codes with the times of a law.
pub(super) fn table(rows: &[(&[f64], &[u32])], law: impl Fn(&[f64], &[u32]) -> f64) -> Training {
    let points = Points {
        numeric: rows.iter().map(|(numeric, _)| numeric.to_vec()).collect(),
        category: rows.iter().map(|(_, category)| category.to_vec()).collect(),
    };
    let logs = rows.iter().map(|(numeric, category)| libm::log(law(numeric, category))).collect();
    Training::new(points, logs)
}

/// Returns every combination of numbers of executors and sizes, without names.
pub(super) fn grid(law: impl Fn(&[f64], &[u32]) -> f64) -> Training {
    let rows: Vec<[f64; 2]> =
        [1.0, 2.0, 4.0, 8.0].iter().flat_map(|e| [10.0, 30.0, 100.0].map(|size| [*e, size])).collect();
    table(&rows.iter().map(|row| (row.as_slice(), [].as_slice())).collect::<Vec<_>>(), law)
}

fn assert_finite(training: &Training, numeric: &[f64], category: &[u32], what: &str) {
    for (name, member) in members(training) {
        let predicted = member.log(numeric, category);
        assert!(predicted.is_finite(), "{name}, {what}: {predicted}");
    }
}

#[test]
fn every_member_finds_a_power_law_with_a_factor_a_name() {
    let law = |x: &[f64], c: &[u32]| 0.3 * x[1] / x[0] * [1.0, 1.7, 2.5][c[0] as usize];
    let rows: Vec<([f64; 2], [u32; 1])> = (0..24)
        .map(|i| ([[1.0, 2.0, 4.0, 8.0][i % 4], [10.0, 40.0][i / 4 % 2]], [u32::try_from(i / 8).unwrap()]))
        .collect();
    let training = table(&rows.iter().map(|(x, c)| (x.as_slice(), c.as_slice())).collect::<Vec<_>>(), law);
    for (name, member) in members(&training) {
        let error = member.log(&[3.0, 40.0], &[1]) - libm::log(law(&[3.0, 40.0], &[1]));
        assert!(error.abs() < 0.03, "{name}: {error}");
    }
}

#[test]
fn few_rows_give_the_mean_or_better() {
    for rows in 1..=3 {
        let all: Vec<([f64; 2], [u32; 1])> = (0..rows).map(|i| ([1.0 + f64::from(i), 7.0], [i % 2])).collect();
        let rows: Vec<(&[f64], &[u32])> = all.iter().map(|(x, c)| (x.as_slice(), c.as_slice())).collect();
        let training = table(&rows, |x, _| 5.0 / x[0]);
        assert_finite(&training, &[2.5, 9.0], &[1], &format!("{} rows", rows.len()));
    }
    for (name, member) in members(&table(&[(&[3.0], &[0])], |_, _| 5.0)) {
        let error = member.log(&[4.0], &[0]) - libm::log(5.0);
        assert!(error.abs() < 1e-3, "{name}: {error}");
    }
}

#[test]
fn rows_without_a_feature_that_varies_give_their_mean() {
    let no_number = table(&[(&[], &[2]), (&[], &[2]), (&[], &[2])], |_, _| 5.0);
    let constant = table(&[(&[0.0], &[]), (&[0.0], &[]), (&[0.0], &[])], |_, _| 5.0);
    for (training, numeric, category) in [(no_number, vec![], vec![UNSEEN]), (constant, vec![1.0], vec![])] {
        for (name, member) in members(&training) {
            let error = member.log(&numeric, &category) - libm::log(5.0);
            assert!(error.abs() < 1e-3, "{name}: {error}");
        }
    }
}

#[test]
fn names_alone_are_enough() {
    let training = table(&[(&[], &[0, 0]), (&[], &[0, 1]), (&[], &[1, 0]), (&[], &[1, 1])], |_, c| {
        [1.0, 3.0][c[0] as usize] * [1.0, 5.0][c[1] as usize]
    });
    for (name, member) in members(&training) {
        let error = member.log(&[], &[1, 1]) - libm::log(15.0);
        assert!(error.abs() < 0.1, "{name}: {error}");
        assert!(member.log(&[], &[UNSEEN, 1]).is_finite(), "{name}");
    }
}

#[test]
fn a_constant_column_changes_nothing() {
    let plain = grid(|x, _| 3.0 + x[1] / x[0]);
    let mut padded = plain.clone();
    padded.points.numeric.iter_mut().for_each(|row| row.insert(0, 0.1));
    padded.points.category.iter_mut().for_each(|row| row.push(7));
    for ((name, plain), (_, padded)) in members(&plain).into_iter().zip(members(&padded)) {
        assert_eq!(plain.log(&[3.0, 20.0], &[]), padded.log(&[0.2, 3.0, 20.0], &[9]), "{name}");
    }
}

#[test]
fn huge_and_tiny_numbers_give_numbers() {
    let training = table(
        &[(&[1e-300, -1e140, 1e15], &[0]), (&[1.0, 1e140, 1e15 + 0.25], &[1]), (&[1e300, 0.0, 1e15], &[2])],
        |x, _| if x[0] > 1.0 { 1e300 } else { 1e-300 },
    );
    let constant = table(&[(&[2.0], &[0]), (&[3.0], &[0]), (&[5.0], &[0])], |_, _| 1e-300);
    for query in [[0.0, 0.0, 0.0], [-1.0, 1e308, 5e-324], [f64::MAX, f64::MIN, 1.0]] {
        assert_finite(&training, &query, &[UNSEEN], &format!("{query:?}"));
        assert_finite(&constant, &query[..1], &[0], &format!("{query:?}"));
    }
    let infinite = table(&[(&[-f64::MAX], &[0]), (&[f64::MAX], &[0]), (&[0.0], &[0])], |_, _| 2.0);
    assert_finite(&infinite, &[1.0], &[0], "beyond what can be squared");
}

#[test]
fn equal_rows_with_unequal_times_do_not_hinder() {
    let mut training = table(&[(&[1.0], &[0]), (&[1.0], &[0]), (&[2.0], &[0]), (&[2.0], &[0])], |x, _| x[0]);
    training.logs[1] += 0.2;
    assert_finite(&training, &[1.5], &[0], "equal rows");
}
