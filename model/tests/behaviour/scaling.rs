//! Strong and weak scaling.

use std::sync::Arc;

use foreglow_model::{Predictor, Scaling, ScalingRow};
use foreglow_shared::{Observation, Question};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, full, job, run};

/// A part that no slot speeds up, and a part that the slots share: Amdahl's law.
fn amdahl(e: f64, c: f64, s: f64) -> f64 {
    2.0 + 100.0 * s / (e * c)
}

fn scaling(runs: &[Observation]) -> Scaling {
    let predictor = Predictor::fit(&context(None), runs).unwrap();
    let question = Question { executors: vec![1, 2, 4], cores_per_executor: vec![1, 2], ..Question::about(runs) };
    Scaling::of(&Arc::new(predictor), &job(runs), &question).unwrap().unwrap()
}

fn runs() -> Vec<Observation> {
    full(&[1, 2, 4], &[1, 2], &[0.05, 0.1, 0.25, 0.5], amdahl)
}

fn row(scaling: &Scaling, executors: u32, cores: u32) -> &ScalingRow {
    let is_it = |row: &&ScalingRow| {
        (row.candidate.placement.executors, row.candidate.placement.cores_per_executor) == (executors, cores)
    };
    scaling.rows.iter().find(is_it).unwrap()
}

fn is_near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value / expected - 1.0).abs() < 0.03)
}

#[test]
fn the_same_images_speed_up_by_the_law_of_amdahl() {
    let scaling = scaling(&runs());
    assert_eq!((scaling.smallest, scaling.rows.len()), ((1, 1), 6));
    for row in &scaling.rows {
        let ratio = f64::from(row.candidate.placement.executors * row.candidate.placement.cores_per_executor);
        let expected = 102.0 / (2.0 + 100.0 / ratio);
        assert!(is_near(row.strong.speed_up, expected), "{expected}: {row:?}");
        assert!(is_near(row.strong.efficiency, expected / ratio), "{row:?}");
        let burdens = row.candidate.objective.unwrap() / scaling.rows[0].candidate.objective.unwrap();
        assert_eq!(row.cost_factor, Some(burdens));
    }
}

#[test]
fn images_that_grow_with_the_slots_take_the_same_time_if_the_slots_do_not_disturb_each_other() {
    let scaling = scaling(&runs());
    // The whole job of 2,000 images on 4 × 2 slots.
    assert_eq!(scaling.images_per_slot, 250.0);
    for row in &scaling.rows {
        let ratio = f64::from(row.candidate.placement.executors * row.candidate.placement.cores_per_executor);
        assert_eq!(row.weak.sampling_rate, ratio / 8.0);
        assert!(is_near(row.weak.prediction.completion_time_secs, 14.5), "{row:?}");
        assert!(is_near(row.weak.gain.efficiency, 1.0), "{row:?}");
        assert!(is_near(row.weak.gain.speed_up, ratio), "{row:?}");
    }
}

#[test]
fn the_smallest_configuration_is_the_measure_and_the_others_have_intervals() {
    let scaling = scaling(&runs());
    let smallest = row(&scaling, 1, 1);
    assert_eq!(
        (smallest.strong.speed_up, smallest.strong.efficiency, smallest.cost_factor),
        (Some(1.0), Some(1.0), Some(1.0))
    );
    assert_eq!((smallest.strong.interval, smallest.weak.gain.interval), (None, None));
    for gain in [row(&scaling, 4, 2).strong, row(&scaling, 4, 2).weak.gain] {
        let ((lower, upper), speed_up) = (gain.interval.unwrap(), gain.speed_up.unwrap());
        assert!(lower < speed_up && speed_up < upper, "{gain:?}");
    }
}

#[test]
fn runs_of_the_same_images_stand_beside_what_is_predicted() {
    let mut runs = runs();
    runs.extend([run(1, 1, 1.0, 100.0), run(1, 1, 1.0, 104.0), run(4, 1, 1.0, 25.5)]);
    let scaling = scaling(&runs);
    let measured = |row: &ScalingRow| row.strong.measured.map(|own| (own.runs, own.completion_time_secs, own.speed_up));
    assert_eq!(measured(row(&scaling, 1, 1)), Some((2, 102.0, Some(1.0))));
    assert_eq!(measured(row(&scaling, 4, 1)), Some((1, 25.5, Some(4.0))));
    assert_eq!(measured(row(&scaling, 2, 1)), None);
    // 2 × 1 has a quarter of the slots of 4 × 2, and a run had a quarter of the images. On 1 × 1 an
    // eighth was not measured.
    let weak = row(&scaling, 2, 1).weak.gain.measured.unwrap();
    assert_eq!((weak.runs, weak.completion_time_secs, weak.speed_up), (1, 14.5, None));
    assert_eq!(row(&scaling, 1, 1).weak.gain.measured, None);
}
