//! Rivals equal their published formulas, and explain why they cannot answer.

use foreglow_model::{Column, Dataset, Features, RIVALS, RivalError, Roles, Term};
use serde_json::Value;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn table(columns: Vec<Column>, secs: Vec<f64>) -> Dataset {
    let censored = vec![false; secs.len()];
    Dataset::new(Features::new(columns).unwrap(), secs, censored).unwrap()
}

fn number(name: &str, values: &[f64]) -> Column {
    Column::numeric(name, values.to_vec(), None)
}

fn answer(name: &str, fit: &Dataset, asked: Vec<Column>, roles: &Roles) -> Result<Vec<Option<f64>>, RivalError> {
    let rival = RIVALS.iter().find(|rival| rival.name() == name).unwrap();
    rival.answer(fit, &Features::new(asked).unwrap(), roles)
}

fn roles() -> Roles {
    let term = |name: &str| Some(Term::new(name));
    Roles { machines: term("m"), data_size: term("n"), batch_size: term("b"), iterations: term("i"), terms: vec![] }
}

fn close(answers: &[Option<f64>], expected: &[f64], tolerance: f64) {
    assert_eq!(answers.len(), expected.len());
    for (answer, expected) in answers.iter().zip(expected) {
        let answer = answer.unwrap();
        assert!((answer - expected).abs() <= tolerance * expected.abs(), "{answer} instead of {expected}");
    }
}

#[test]
fn ernest_equals_scipy() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../fixtures/nnls.json")).unwrap();
    assert!(cases.len() >= 20);
    for case in cases {
        let list = |name: &str| -> Vec<f64> { serde_json::from_value(case[name].clone()).unwrap() };
        let fit = table(vec![number("m", &list("machines")), number("n", &list("data"))], list("secs"));
        let asked = vec![number("m", &list("asked_machines")), number("n", &[10.0; 4])];
        close(&answer("ernest", &fit, asked, &roles()).unwrap(), &list("expected"), 1e-7);
    }
}

#[test]
fn ernest_fits_each_context_by_itself() {
    let machine = |names: [&str; 4]| Column::category("vm", names);
    let fit = table(
        vec![number("m", &[1.0, 2.0, 1.0, 2.0]), number("n", &[1.0; 4]), machine(["a", "a", "b", "b"])],
        vec![10.0, 5.0, 100.0, 50.0],
    );
    let asked = vec![number("m", &[4.0; 4]), number("n", &[1.0; 4]), machine(["a", "b", "a", "c"])];
    let answers = answer("ernest-per-context", &fit, asked, &roles()).unwrap();
    close(&answers[..3], &[2.5, 25.0, 2.5], 1e-9);
    assert_eq!(answers[3], None, "no run was on c");
}

#[test]
fn linear_scaling_starts_from_the_largest_sample() {
    let fit = table(vec![number("n", &[0.01, 0.1, 0.1]), number("m", &[1.0, 1.0, 2.0])], vec![3.0, 20.0, 11.0]);
    let asked = vec![number("n", &[1.0, 1.0, 1.0]), number("m", &[1.0, 2.0, 3.0])];
    let answers = answer("linear-scaling", &fit, asked, &roles()).unwrap();
    close(&answers[..2], &[200.0, 110.0], 1e-12);
    assert_eq!(answers[2], None);
}

#[test]
fn the_end_to_end_regression_separates_training_and_inference() {
    let mode = Column::category("mode", ["training", "training", "training", "inference", "inference", "inference"]);
    let batch = [8.0, 16.0, 8.0, 8.0, 16.0, 8.0];
    let iterations = [10.0, 10.0, 20.0, 10.0, 10.0, 20.0];
    let secs = |slope: f64| (0..3).map(move |row| 2.0 + slope * batch[row] + 3.0 * slope * iterations[row]);
    let columns = vec![number("b", &batch), number("i", &iterations), mode];
    let fit = table(columns, secs(3.0).chain(secs(1.0)).collect());
    let mode = Column::category("mode", ["inference", "training"]);
    let asked = vec![number("b", &[32.0, 32.0]), number("i", &[40.0, 40.0]), mode];
    close(&answer("end-to-end", &fit, asked, &roles()).unwrap(), &[154.0, 458.0], 1e-9);
}

#[test]
fn own_terms_may_be_products() {
    let term: Term = "b*px*px".parse().unwrap();
    let (b, px) = ([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 10.0, 30.0]);
    let secs = b.iter().zip(&px).map(|(b, px)| 1.0 + 0.5 * b * px * px).collect();
    let fit = table(vec![number("b", &b), number("px", &px)], secs);
    let asked = vec![number("b", &[8.0]), number("px", &[100.0])];
    let roles = Roles { terms: vec![term], ..Roles::default() };
    close(&answer("own-terms", &fit, asked, &roles).unwrap(), &[40_001.0], 1e-9);
}

#[test]
fn log_additive_finds_powers_and_factors() {
    let rows: Vec<(f64, &str)> = [1.0, 2.0, 4.0, 8.0].into_iter().flat_map(|m| [(m, "a"), (m, "b")]).collect();
    let secs = |(m, vm): &(f64, &str)| 100.0 / m * if *vm == "a" { 1.0 } else { 3.0 };
    let columns = |rows: &[(f64, &str)]| {
        let machines = rows.iter().map(|(m, _)| *m).collect::<Vec<_>>();
        vec![number("m", &machines), Column::category("vm", rows.iter().map(|(_, vm)| vm))]
    };
    let fit = table(columns(&rows), rows.iter().map(secs).collect());
    close(&answer("log-additive", &fit, columns(&[(16.0, "b")]), &roles()).unwrap(), &[18.75], 1e-2);
}

#[test]
fn trees_learn_steps_and_are_constant_beyond_the_range() {
    let m = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let secs = m.iter().map(|m| if *m < 4.5 { 100.0 } else { 10.0 }).collect();
    let fit = table(vec![number("m", &m), Column::category("vm", ["a"; 8])], secs);
    for name in ["random-forest", "gradient-boosting"] {
        let asked = vec![number("m", &[2.0, 7.0, 8.0, 1000.0]), Column::category("vm", ["a", "a", "b", "b"])];
        let answers = answer(name, &fit, asked, &roles()).unwrap();
        close(&answers, &[100.0, 10.0, 10.0, 10.0], 0.05);
        assert_eq!(answers[2], answers[3], "{name}");
    }
}

#[test]
fn a_rival_that_cannot_answer_gives_the_reason() {
    let fit = table(vec![number("m", &[0.0, 1.0]), Column::category("n", ["a", "b"])], vec![1.0, 2.0]);
    let why = |name: &str, roles: &Roles| {
        let asked = fit.features().columns().to_vec();
        answer(name, &fit, asked, roles).unwrap_err().to_string()
    };
    assert_eq!(why("ernest", &Roles::default()), "no column of the machines is named (--machines)");
    assert_eq!(why("ernest", &roles()), "m is 0 in a row and must be above 0");
    assert_eq!(why("linear-scaling", &roles()), "the column n is not a numeric feature");
    assert_eq!(why("own-terms", &roles()), "no column of the terms is named (--term)");
    assert_eq!(why("end-to-end", &Roles::default()), "no column of the batch size is named (--batch-size)");
    let machines = Roles { machines: Some(Term::new("m")), ..Roles::default() };
    let fit = table(vec![number("m", &[1.0, 2.0])], vec![1.0, 2.0]);
    let why = answer("ernest-per-context", &fit, fit.features().columns().to_vec(), &machines).unwrap_err();
    assert_eq!(why.to_string(), "all rows are of one context, so that it is the same as ernest");
}

#[test]
fn rivals_have_distinct_names() {
    let mut names: Vec<&str> = RIVALS.iter().map(|rival| rival.name()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(!names.contains(&"foreglow"));
}
