//! The cheapest configuration under a deadline, and the front of time and money.

use foreglow_model::{DecideError, Decision, Predictor, decide, pareto_front};
use foreglow_shared::{Observation, PriceSheet, Question};
use proptest::prelude::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, full, jitter, multiplicative};

fn predictor() -> Predictor {
    Predictor::fit(&context(None), &full(&[1, 2, 3], &[1, 2, 4], &[0.01, 0.1], multiplicative)).unwrap()
}

fn question() -> Question {
    Question::about(&full(&[1, 2, 3], &[1, 2, 4], &[0.1], multiplicative))
}

fn times(decision: &Decision) -> Vec<f64> {
    decision.candidates.iter().map(|candidate| candidate.prediction.completion_time_secs.unwrap()).collect()
}

#[test]
fn the_cheapest_within_the_deadline_is_recommended() {
    let open = decide(&predictor(), &question()).unwrap();
    assert_eq!(open.candidates.len(), 12);
    let mut sorted = times(&open);
    sorted.sort_by(f64::total_cmp);
    let deadline = sorted[5];
    let decision = decide(&predictor(), &Question { deadline_secs: Some(deadline), ..question() }).unwrap();
    let recommended = &decision.candidates[decision.recommended.unwrap()];
    assert!(recommended.meets_deadline);
    let cheaper = decision.candidates.iter().filter(|other| other.cost < recommended.cost);
    assert!(cheaper.clone().count() > 0 && cheaper.clone().all(|other| !other.meets_deadline));
    assert_eq!(decision.candidates.iter().filter(|candidate| candidate.meets_deadline).count(), 6);
}

#[test]
fn without_a_deadline_the_cheapest_of_all_is_recommended() {
    let decision = decide(&predictor(), &question()).unwrap();
    let least = decision.candidates.iter().filter_map(|candidate| candidate.cost).fold(f64::INFINITY, f64::min);
    assert_eq!(decision.candidates[decision.recommended.unwrap()].cost, Some(least));
    assert_eq!(decision.fastest, decision.pareto.first().copied());
}

#[test]
fn an_impossible_deadline_recommends_nothing_and_still_names_the_fastest() {
    let decision = decide(&predictor(), &Question { deadline_secs: Some(1e-9), ..question() }).unwrap();
    assert_eq!(decision.recommended, None);
    let fastest = &decision.candidates[decision.fastest.unwrap()];
    assert_eq!((fastest.executors, fastest.cores_per_executor), (3, 4));
}

#[test]
fn of_equally_cheap_configurations_the_fastest_wins() {
    // Each executor does its full share, so that all cost the same apart from rounding.
    let runs = full(&[1, 2, 3], &[1], &[0.01, 0.1], |e, _, s| 700.0 * s / e);
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let decision = decide(&predictor, &Question::about(&runs)).unwrap();
    assert_eq!(decision.candidates[decision.recommended.unwrap()].executors, 3);
}

#[test]
fn of_equal_configurations_the_one_with_fewer_executors_and_then_fewer_cores_wins() {
    let runs = full(&[1, 2], &[1, 2], &[0.01, 0.1], |_, _, s| 1.0 + 700.0 * s);
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let decision = decide(&predictor, &Question::about(&runs)).unwrap();
    let best = &decision.candidates[decision.recommended.unwrap()];
    assert_eq!((best.executors, best.cores_per_executor), (1, 1));
    assert_eq!(decision.pareto.len(), 1);
}

#[test]
fn unknown_times_are_never_recommended() {
    let runs = full(&[1, 2], &[1], &[0.01, 0.1], |e, _, s| (1.0 + 100.0 * s) * if e > 1.5 { 0.2 } else { 1.0 });
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let decision = decide(&predictor, &Question { executors: vec![40, 50], ..Question::about(&runs) }).unwrap();
    assert_eq!((decision.recommended, decision.fastest, decision.pareto.len()), (None, None, 0));
    assert!(decision.candidates.iter().all(|candidate| candidate.cost.is_none() && !candidate.meets_deadline));
}

#[test]
fn lists_that_repeat_or_are_out_of_order_name_the_same_configurations() {
    let shuffled = Question { executors: vec![3, 1, 2, 1], ..question() };
    assert_eq!(decide(&predictor(), &shuffled), decide(&predictor(), &question()));
}

#[test]
fn questions_that_cannot_be_answered_say_why() {
    let error = |question: &Question| decide(&predictor(), question).unwrap_err();
    assert_eq!(error(&Question { executors: Vec::new(), ..question() }), DecideError::NoConfiguration);
    assert_eq!(error(&Question { cores_per_executor: vec![0, 1], ..question() }), DecideError::ZeroConfiguration);
    assert_eq!(error(&Question { memory_per_executor_mib: 0, ..question() }), DecideError::ZeroConfiguration);
    assert_eq!(error(&Question { deadline_secs: Some(-1.0), ..question() }), DecideError::Deadline(-1.0));
    let many = Question { executors: (1..=1001).collect(), cores_per_executor: (1..=1000).collect(), ..question() };
    assert_eq!(error(&many), DecideError::TooMany(1_001_000));
    let free = PriceSheet { core_hour: 0.0, gib_hour: 0.0, ..PriceSheet::example() };
    assert!(error(&Question { prices: free, ..question() }).to_string().contains("every price is zero"));
}

fn any_points() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((0u8..12, 0u8..12), 0..60)
        .prop_map(|points| points.into_iter().map(|(time, money)| (f64::from(time), f64::from(money))).collect())
}

fn beats(a: (f64, f64), b: (f64, f64)) -> bool {
    a.0 <= b.0 && a.1 <= b.1 && a != b
}

proptest! {
    #[test]
    fn nothing_on_the_front_is_beaten_and_all_off_it_is_beaten_or_equal(points in any_points()) {
        let front = pareto_front(&points);
        for (index, point) in points.iter().enumerate() {
            if front.contains(&index) {
                prop_assert!(!points.iter().any(|other| beats(*other, *point)));
            } else {
                prop_assert!(front.iter().any(|other| beats(points[*other], *point) || points[*other] == *point));
            }
        }
    }

    #[test]
    fn the_front_rises_in_time_and_falls_in_money(points in any_points()) {
        let front = pareto_front(&points);
        for pair in front.windows(2) {
            prop_assert!(points[pair[0]].0 < points[pair[1]].0 && points[pair[0]].1 > points[pair[1]].1);
        }
    }

    #[test]
    fn the_recommended_configuration_is_on_the_front_where_there_is_no_deadline(share in 0.0f64..0.3) {
        let runs: Vec<Observation> = jitter(&full(&[1, 2, 3], &[1, 2], &[0.01, 0.1], multiplicative), share);
        let predictor = Predictor::fit(&context(None), &runs).unwrap();
        let decision = decide(&predictor, &Question::about(&runs)).unwrap();
        prop_assert_eq!(decision.recommended, decision.pareto.last().copied());
    }
}

#[test]
fn points_that_are_no_numbers_are_on_no_front() {
    assert_eq!(pareto_front(&[(f64::NAN, 1.0), (1.0, f64::INFINITY), (2.0, 2.0)]), [2]);
    assert!(pareto_front(&[]).is_empty());
}
