//! Decisions: the cheapest configuration under a deadline, and the Pareto front of time and cost.

use foreglow_model::{DecideError, Decision, Exclusion, Predictor, Setting, pareto_front};
use foreglow_shared::{IncompleteOutcome, IncompleteRun, Job, Observation, PeakMemory, PriceSheet, Question};
use proptest::prelude::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, decide, full, incomplete, jitter, job, multiplicative, run};

fn predictor() -> Predictor {
    Predictor::fit(&context(None), &runs()).unwrap()
}

fn runs() -> Vec<Observation> {
    full(&[1, 2, 3], &[1, 2, 4], &[0.01, 0.1], multiplicative)
}

/// Decides with the runs of `predictor`.
fn ask(question: &Question) -> Decision {
    decide(&predictor(), &job(&runs()), question).unwrap()
}

fn question() -> Question {
    Question::about(&full(&[1, 2, 3], &[1, 2, 4], &[0.1], multiplicative))
}

fn times(decision: &Decision) -> Vec<f64> {
    decision.candidates.iter().map(|candidate| candidate.prediction.completion_time_secs.unwrap()).collect()
}

#[test]
fn the_cheapest_within_the_deadline_is_recommended() {
    let open = ask(&question());
    assert_eq!(open.candidates.len(), 12);
    let mut sorted = times(&open);
    sorted.sort_by(f64::total_cmp);
    let deadline = sorted[5];
    let decision = ask(&Question { deadline_secs: Some(deadline), probability: 0.5, ..question() });
    let recommended = &decision.candidates[decision.recommended.unwrap()];
    assert!(recommended.meets_deadline);
    let cheaper = decision.candidates.iter().filter(|other| other.cost < recommended.cost);
    assert!(cheaper.clone().count() > 0 && cheaper.clone().all(|other| !other.meets_deadline));
    assert_eq!(decision.candidates.iter().filter(|candidate| candidate.meets_deadline).count(), 6);
}

#[test]
fn without_a_deadline_the_cheapest_of_all_is_recommended() {
    let decision = ask(&question());
    let least = decision.candidates.iter().filter_map(|candidate| candidate.cost).fold(f64::INFINITY, f64::min);
    assert_eq!(decision.candidates[decision.recommended.unwrap()].cost, Some(least));
    assert_eq!(decision.fastest, decision.pareto.first().copied());
}

#[test]
fn an_impossible_deadline_recommends_nothing_and_still_names_the_fastest() {
    let decision = ask(&Question { deadline_secs: Some(1e-9), ..question() });
    assert_eq!(decision.recommended, None);
    let fastest = &decision.candidates[decision.fastest.unwrap()];
    assert_eq!((fastest.placement.executors, fastest.placement.cores_per_executor), (3, 4));
}

#[test]
fn of_equally_cheap_configurations_the_fastest_wins() {
    // Perfect speed-up, so that all cost the same up to rounding.
    let runs = full(&[1, 2, 3], &[1], &[0.01, 0.1], |e, _, s| 700.0 * s / e);
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let decision = decide(&predictor, &job(&runs), &Question::about(&runs)).unwrap();
    assert_eq!(decision.candidates[decision.recommended.unwrap()].placement.executors, 3);
}

#[test]
fn of_equal_configurations_the_one_with_fewer_executors_and_then_fewer_cores_wins() {
    let runs = full(&[1, 2], &[1, 2], &[0.01, 0.1], |_, _, s| 1.0 + 700.0 * s);
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let decision = decide(&predictor, &job(&runs), &Question::about(&runs)).unwrap();
    let best = &decision.candidates[decision.recommended.unwrap()];
    assert_eq!((best.placement.executors, best.placement.cores_per_executor), (1, 1));
    // The others are not predicted to be faster by more than the fit's own precision.
    let secs = |index: &usize| decision.candidates[*index].prediction.completion_time_secs.unwrap();
    assert!(decision.pareto.iter().all(|index| secs(index) > 0.99 * best.prediction.completion_time_secs.unwrap()));
}

#[test]
fn unknown_times_are_never_recommended() {
    // No sample has more than one core.
    let runs = full(&[1, 2], &[1], &[0.01, 0.1], multiplicative);
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let question = Question { cores_per_executor: vec![2, 4], ..Question::about(&runs) };
    let decision = decide(&predictor, &job(&runs), &question).unwrap();
    assert_eq!((decision.recommended, decision.fastest, decision.pareto.len()), (None, None, 0));
    assert!(decision.candidates.iter().all(|candidate| candidate.cost.is_none() && !candidate.meets_deadline));
}

#[test]
fn duplicates_and_order_of_the_lists_do_not_matter() {
    let shuffled = Question { executors: vec![3, 1, 2, 1], ..question() };
    assert_eq!(ask(&shuffled), ask(&question()));
}

#[test]
fn invalid_questions_are_rejected_with_the_reason() {
    let error = |question: &Question| decide(&predictor(), &job(&runs()), question).unwrap_err();
    assert_eq!(error(&Question { executors: Vec::new(), ..question() }), DecideError::NoConfiguration);
    assert_eq!(error(&Question { cores_per_executor: vec![0, 1], ..question() }), DecideError::ZeroConfiguration);
    assert_eq!(error(&Question { memory_per_executor_mib: 0, ..question() }), DecideError::ZeroConfiguration);
    assert_eq!(error(&Question { deadline_secs: Some(-1.0), ..question() }), DecideError::Deadline(-1.0));
    let many = Question { executors: (1..=1001).collect(), cores_per_executor: (1..=1000).collect(), ..question() };
    assert_eq!(error(&many), DecideError::TooMany(1_001_000));
    assert_eq!(error(&Question { budget: Some(0.0), ..question() }), DecideError::Budget(0.0));
    for probability in [0.0, 1.0, 1.5] {
        assert_eq!(error(&Question { probability, ..question() }), DecideError::Probability(probability));
    }
    let free = PriceSheet { core_hour: 0.0, gib_hour: 0.0, ..PriceSheet::example() };
    assert!(error(&Question { prices: free, ..question() }).to_string().contains("every price is zero"));
}

#[test]
fn a_job_on_accelerators_costs_what_they_cost() {
    let mut job = job(&runs());
    job.context.accelerator = Some("Some GPU".into());
    let prices = PriceSheet { accelerator_hour: 2.0, ..PriceSheet::example() };
    let with = decide(&predictor(), &job, &Question { prices, ..question() }).unwrap();
    let (with, without) = (with.candidates[0].cost.unwrap(), ask(&question()).candidates[0].cost.unwrap());
    let hours = ask(&question()).candidates[0].prediction.completion_time_secs.unwrap() / 3600.0;
    assert!((with - without - 2.0 * hours).abs() < 1e-12);
}

#[test]
fn without_a_price_times_are_answered_and_executor_hours_take_the_place_of_money() {
    let mut job = job(&runs());
    job.context.accelerator = Some("Some GPU".into());
    let unpriced = |question: &Question| decide(&predictor(), &job, question).unwrap();
    let a_machine = PriceSheet { executor_hour: 3.0, core_hour: 0.0, gib_hour: 0.0, ..PriceSheet::example() };
    for deadline_secs in [None, question().deadline_secs, Some(1e-3)] {
        let question = Question { deadline_secs, ..question() };
        let with = unpriced(&Question { prices: a_machine.clone(), ..question.clone() });
        let without = unpriced(&question);
        assert_eq!(
            (without.recommended, without.fastest, without.cheapest, &without.pareto),
            (with.recommended, with.fastest, with.cheapest, &with.pareto),
            "whole executors of one price rank as executor-hours do"
        );
        for (without, with) in without.candidates.iter().zip(&with.candidates) {
            assert_eq!((without.cost, &without.prediction), (None, &with.prediction));
            assert_eq!(
                (without.success_probability, without.meets_deadline),
                (with.success_probability, with.meets_deadline)
            );
        }
    }
    let with_budget = unpriced(&Question { budget: Some(1e9), ..question() });
    assert_eq!(with_budget.recommended, None, "no budget is known to be kept");
    assert!(with_budget.candidates.iter().all(|one| !one.within_budget && one.success_probability.is_none()));
}

#[test]
fn a_large_grid_without_a_price_is_decided_as_with_one_price_for_each_executor() {
    let mut job = job(&runs());
    job.context.accelerator = Some("Some GPU".into());
    let large = Question { executors: (1..=300).collect(), cores_per_executor: (1..=20).collect(), ..question() };
    let a_machine = PriceSheet { executor_hour: 1.0, core_hour: 0.0, gib_hour: 0.0, ..PriceSheet::example() };
    let with = decide(&predictor(), &job, &Question { prices: a_machine, ..large.clone() }).unwrap();
    let without = decide(&predictor(), &job, &large).unwrap();
    let at = |decision: &Decision| {
        decision
            .recommended
            .map(|place| &decision.candidates[place])
            .map(|one| (one.placement.executors, one.placement.cores_per_executor))
    };
    assert_eq!(at(&with), at(&without));
    let with_budget = decide(&predictor(), &job, &Question { budget: Some(1e9), ..large }).unwrap();
    assert_eq!(with_budget.recommended, None);
}

/// A predictor and a job with noisy times.
fn noisy(share: f64) -> (Predictor, Job) {
    let runs = jitter(&runs(), share);
    (Predictor::fit(&context(None), &runs).unwrap(), job(&runs))
}

#[test]
fn a_deadline_is_met_if_it_has_the_requested_probability() {
    let (predictor, job) = noisy(0.2);
    let spread = predictor.predict(crate::grid::whole(2, 2)).spread.unwrap();
    let predicted = predictor.predict(crate::grid::whole(2, 2)).completion_time_secs.unwrap();
    let only = Question { executors: vec![2], cores_per_executor: vec![2], ..question() };
    let meets = |deadline: f64, probability: f64| {
        let question = Question { deadline_secs: Some(deadline), probability, ..only.clone() };
        decide(&predictor, &job, &question).unwrap().candidates[0].meets_deadline
    };
    for probability in [0.6, 0.75, 0.9] {
        let limit = predicted * spread.quantile(probability);
        assert!(meets(limit, probability) && !meets(limit * 0.999, probability), "{probability}");
    }
    assert!(meets(predicted, 0.5) && !meets(predicted * 0.999, 0.5));
}

#[test]
fn a_probability_beyond_the_spread_recommends_nothing_and_names_the_likeliest() {
    // Whole jobs are measured, so that the spread is the empirical one.
    let runs = jitter(&full(&[1, 2, 3, 4], &[1, 2, 4], &[0.1, 0.3, 1.0], multiplicative), 0.2);
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let ask = |deadline: f64| {
        let question = Question { deadline_secs: Some(deadline), probability: 0.999, ..Question::about(&runs) };
        decide(&predictor, &job(&runs), &question).unwrap()
    };
    let fastest = |decision: &Decision| decision.candidates[decision.fastest.unwrap()].prediction.clone();
    let decision = ask(1e6);
    assert_eq!(decision.recommended, decision.cheapest, "far beyond every error");
    let near = fastest(&decision).completion_time_secs.unwrap() * 1.01;
    let decision = ask(near);
    assert_eq!(decision.recommended, None);
    let likeliest = &decision.candidates[decision.likeliest.unwrap()];
    let most = decision.candidates.iter().filter_map(|candidate| candidate.success_probability).fold(0.0, f64::max);
    assert!(most > 0.5 && most < 0.999 && likeliest.success_probability == Some(most), "{likeliest:?}");
}

/// Three runs of each of two configurations, all of the whole job.
fn repeated() -> Vec<Observation> {
    let times = [(1, 9.7), (1, 9.5), (1, 9.6), (2, 7.9), (2, 8.1), (2, 6.6)];
    times.map(|(cores, secs)| run(1, cores, 1.0, secs)).to_vec()
}

#[test]
fn repeats_tell_the_noise_of_measured_configurations_where_none_can_be_held_out() {
    let runs = repeated();
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let spread = |cores_per_executor: u32| predictor.predict(Setting::even(1, cores_per_executor, 1.0)).spread;
    let measured = spread(1).unwrap();
    assert_eq!(Some(&measured), spread(2).as_ref(), "the noise is pooled");
    assert!(measured.probability_below(600.0 / 9.6) > 0.99 && measured.probability_below(1.01) < 0.9);
    assert_eq!(spread(4), None, "not measured");
    let single = [runs[0], runs[3]];
    let predictor = Predictor::fit(&context(None), &single).unwrap();
    assert_eq!(predictor.predict(Setting::even(1, 1, 1.0)).spread, None);
}

#[test]
fn a_large_grid_knows_the_noise_of_repeated_runs_too() {
    let runs = repeated();
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let ask = |counts: Vec<u32>| {
        let question = Question {
            deadline_secs: Some(600.0),
            executors: counts.clone(),
            cores_per_executor: counts,
            ..Question::about(&runs)
        };
        let decision = decide(&predictor, &job(&runs), &question).unwrap();
        decision.recommended.map(|index| decision.candidates[index].clone())
    };
    let small = ask(vec![1, 2]).unwrap();
    assert_eq!(ask((1..=100).collect()), Some(small));
}

#[test]
fn without_a_spread_only_the_predicted_time_is_compared() {
    let runs = [run(1, 1, 1.0, 101.0), run(2, 1, 1.0, 51.0)];
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    let ask = |probability: f64| {
        let question = Question { deadline_secs: Some(1e4), probability, ..Question::about(&runs) };
        decide(&predictor, &job(&runs), &question).unwrap()
    };
    assert_eq!(ask(0.5).recommended, Some(0));
    assert_eq!((ask(0.9).recommended, ask(0.9).candidates[0].success_probability), (None, None));
}

#[test]
fn within_a_budget_the_fastest_is_recommended() {
    let (predictor, job) = noisy(0.05);
    let open = decide(&predictor, &job, &question()).unwrap();
    let mut costs: Vec<f64> = open.candidates.iter().filter_map(|candidate| candidate.cost).collect();
    costs.sort_by(f64::total_cmp);
    let question = Question { budget: Some(costs[6]), ..question() };
    let decision = decide(&predictor, &job, &question).unwrap();
    let recommended = &decision.candidates[decision.recommended.unwrap()];
    assert!(recommended.within_budget && recommended.cost.unwrap() < costs[6]);
    let faster = |other: &foreglow_model::Candidate| {
        other.prediction.completion_time_secs < recommended.prediction.completion_time_secs
    };
    assert!(decision.candidates.iter().filter(|other| faster(other)).all(|other| !other.within_budget));
    assert!(decision.candidates.iter().any(faster));
}

fn ended(cores: u32, memory: u32, outcome: IncompleteOutcome) -> IncompleteRun {
    IncompleteRun {
        memory_per_executor_mib: memory,
        at_least_secs: (outcome == IncompleteOutcome::TimedOut).then_some(50.0),
        ..incomplete(1, cores, outcome)
    }
}

#[test]
fn configurations_out_of_memory_are_never_recommended() {
    let open = ask(&question());
    let best = &open.candidates[open.recommended.unwrap()];
    let mut job = job(&runs());
    let over = ended(best.placement.cores_per_executor, 1024, IncompleteOutcome::OutOfMemory);
    job.incomplete.push(over);
    let decision = decide(&predictor(), &job, &question()).unwrap();
    for candidate in &decision.candidates {
        assert_eq!(
            candidate.exclusion.is_some(),
            candidate.placement.cores_per_executor >= best.placement.cores_per_executor
        );
    }
    let excluded = |index: usize| decision.candidates[index].exclusion.is_some();
    let standing_out = [decision.recommended, decision.fastest, decision.cheapest];
    assert!(standing_out.into_iter().flatten().chain(decision.pareto.iter().copied()).all(|index| !excluded(index)));
    let exclusion = serde_json::to_value(&decision.candidates.last().unwrap().exclusion).unwrap();
    assert_eq!(exclusion["kind"], "out_of_memory");

    let ask = |job: &Job| decide(&predictor(), job, &question()).unwrap().candidates;
    let none = |job: &Job| ask(job).iter().all(|candidate| candidate.exclusion.is_none());
    let with = |change: fn(&mut IncompleteRun)| {
        let mut job = job.clone();
        change(&mut job.incomplete[0]);
        job
    };
    assert!(none(&with(|run| run.memory_per_executor_mib = 512)), "a run with less memory excludes nothing");
    assert!(none(&with(|run| run.partition_size = 16)), "nor does one with larger partitions");
    assert!(none(&with(|run| run.cores_per_executor = 5)), "nor one with more cores");
    assert!(!none(&with(|run| run.memory_per_executor_mib = 2048)), "a run with more memory excludes all");
    assert!(!none(&with(|run| run.sampling_rate = 1.0)), "at any sampling rate");
}

#[test]
fn completed_runs_refute_out_of_memory_at_larger_sampling_rates() {
    let mut job = job(&runs());
    job.incomplete.push(IncompleteRun { sampling_rate: 1.0, ..ended(2, 1024, IncompleteOutcome::OutOfMemory) });
    let excluded = |sampling_rate: f64| {
        let run = IncompleteRun { sampling_rate, ..job.incomplete[0] };
        let job = Job { incomplete: vec![run], ..job.clone() };
        let decision = decide(&predictor(), &job, &question()).unwrap();
        let of_cores = |cores| decision.candidates.iter().find(move |one| one.placement.cores_per_executor == cores);
        [1, 2, 4].map(|cores| of_cores(cores).unwrap().exclusion.is_some())
    };
    // Runs with up to 4 cores completed at sampling rate 0.1, which does not show that the whole
    // job fits.
    assert_eq!(excluded(1.0), [false, true, true]);
}

#[test]
fn a_gpu_out_of_memory_excludes_at_any_memory_of_the_executors_and_only_as_many_executors_on_a_shared_one() {
    let mut job = job(&runs());
    let over = IncompleteRun { executors: 2, ..ended(2, 512, IncompleteOutcome::OutOfAcceleratorMemory) };
    job.incomplete.push(over);
    let large = Question { memory_per_executor_mib: 65_536, ..question() };
    let excluded = |job: &Job, executors, cores_per_executor| {
        let question =
            Question { executors: vec![executors], cores_per_executor: vec![cores_per_executor], ..large.clone() };
        decide(&predictor(), job, &question).unwrap().candidates[0].exclusion.clone()
    };
    let exclusion = excluded(&job, 1, 2).unwrap();
    assert_eq!(exclusion, Exclusion::OutOfAcceleratorMemory { cores_per_executor: 2, partition_size: 8 });
    let sentence = exclusion.to_string();
    assert!(sentence.contains("smaller batch") && !sentence.contains("more memory or"), "{sentence}");
    assert!(excluded(&job, 1, 1).is_none(), "fewer cores hold fewer batches");
    let decision = decide(&predictor(), &job, &Question { memory_per_executor_mib: 65_536, ..question() }).unwrap();
    assert!(decision.candidates[decision.recommended.unwrap()].placement.cores_per_executor < 2);
    job.context.shares_accelerators = true;
    assert!(excluded(&job, 1, 2).is_none() && excluded(&job, 2, 2).is_some() && excluded(&job, 3, 2).is_some());
    // The same failure of an executor's own memory ends with more of it.
    job.incomplete[0].outcome = IncompleteOutcome::OutOfMemory;
    assert!(excluded(&job, 2, 2).is_none());
}

#[test]
fn configurations_expected_out_of_memory_are_never_recommended() {
    let mut job = job(&runs());
    // 4 cores need 980 MiB of 1024, and 5 cores would need 1200.
    let peak = |cores_per_executor: u32| PeakMemory {
        cores_per_executor,
        partition_size: 8,
        peak_mib: 100 + 220 * cores_per_executor,
    };
    job.peaks = (1..=4).map(peak).collect();
    let question = Question { executors: vec![1], cores_per_executor: (1..=8).collect(), ..question() };
    let decision = decide(&predictor(), &job, &question).unwrap();
    let excluded: Vec<u32> =
        decision.candidates.iter().filter(|c| c.exclusion.is_some()).map(|c| c.placement.cores_per_executor).collect();
    assert_eq!(excluded, [5, 6, 7, 8], "1024 MiB hold 4 cores");
    assert_eq!(
        decision.candidates[4].exclusion,
        Some(Exclusion::ExpectedOutOfMemory { peak_memory_mib: 1200, memory_per_executor_mib: 1024 })
    );
    for index in [decision.recommended, decision.fastest, decision.cheapest].into_iter().flatten() {
        assert!(decision.candidates[index].placement.cores_per_executor <= 4);
    }
    // A completed run with as little memory refutes the extrapolation.
    job.peaks = vec![PeakMemory { cores_per_executor: 4, partition_size: 8, peak_mib: 1100 }];
    let decision = decide(&predictor(), &job, &question).unwrap();
    assert!(decision.candidates[..4].iter().all(|candidate| candidate.exclusion.is_none()));
    assert!(decision.candidates[4].exclusion.is_some());
}

#[test]
fn a_configuration_that_was_stopped_after_the_deadline_misses_it() {
    let mut job = job(&runs());
    job.incomplete.push(ended(4, 1024, IncompleteOutcome::TimedOut));
    let index = |decision: &Decision| {
        decision
            .candidates
            .iter()
            .position(|c| (c.placement.executors, c.placement.cores_per_executor) == (1, 4))
            .unwrap()
    };
    for (deadline, meets) in [(49.0, false), (1e5, true)] {
        let question = Question { deadline_secs: Some(deadline), ..question() };
        let decision = decide(&predictor(), &job, &question).unwrap();
        assert_eq!(decision.candidates[index(&decision)].meets_deadline, meets, "{deadline}");
    }
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
    fn the_front_is_the_set_of_non_dominated_points(points in any_points()) {
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
    fn the_front_ascends_in_time_and_descends_in_cost(points in any_points()) {
        let front = pareto_front(&points);
        for pair in front.windows(2) {
            prop_assert!(points[pair[0]].0 < points[pair[1]].0 && points[pair[0]].1 > points[pair[1]].1);
        }
    }

    #[test]
    fn without_a_deadline_the_recommendation_is_on_the_front(share in 0.0f64..0.3) {
        let runs: Vec<Observation> = jitter(&full(&[1, 2, 3], &[1, 2], &[0.01, 0.1], multiplicative), share);
        let predictor = Predictor::fit(&context(None), &runs).unwrap();
        let decision = decide(&predictor, &job(&runs), &Question::about(&runs)).unwrap();
        let recommended = decision.recommended.unwrap();
        let cost = |index: usize| decision.candidates[index].cost.unwrap();
        // Costs count as equal within the error of the least, and the faster one is recommended.
        prop_assert!(decision.pareto.contains(&recommended));
        let least = *decision.pareto.last().unwrap();
        let error = decision.candidates[least].prediction.spread.as_ref().unwrap().log_deviation().unwrap();
        prop_assert!(cost(recommended) <= cost(least) * (1.0 + error.clamp(0.002, 0.02)));
        prop_assert_eq!(decision.as_cheap, Some(least).filter(|least| *least != recommended));
    }

    #[test]
    fn the_recommendation_is_the_best_feasible_configuration(
        share in 0.0f64..0.3, place in 0.0f64..1.5, money in 0.5f64..3.0, probability in 0.3f64..0.95,
        asks_deadline: bool, asks_budget: bool, cores_over_memory in 1u32..7
    ) {
        let (predictor, mut job) = noisy(share);
        job.incomplete.push(ended(cores_over_memory, 1024, IncompleteOutcome::OutOfMemory));
        let open = decide(&predictor, &job, &question()).unwrap();
        let question = Question {
            deadline_secs: asks_deadline.then(|| times(&open)[0] * (place + 0.01)),
            budget: asks_budget.then(|| open.candidates[0].cost.unwrap() * money),
            probability,
            ..question()
        };
        let decision = decide(&predictor, &job, &question).unwrap();
        let feasible: Vec<_> = decision.candidates.iter().filter(|candidate| candidate.is_feasible).collect();
        match decision.recommended.map(|index| &decision.candidates[index]) {
            None => prop_assert!(feasible.is_empty()),
            Some(best) => {
                prop_assert!(best.is_feasible && best.placement.cores_per_executor < cores_over_memory);
                if asks_deadline || asks_budget {
                    prop_assert!(best.success_probability.unwrap() >= probability.max(0.5) - 1e-6);
                }
                for other in feasible {
                    let (secs, best_secs) = (other.prediction.completion_time_secs, best.prediction.completion_time_secs);
                    if asks_budget && !asks_deadline {
                        prop_assert!(secs >= best_secs);
                    } else {
                        prop_assert!(other.cost.unwrap() >= decision.least().unwrap().cost.unwrap() * (1.0 - 1e-9));
                        prop_assert!(other.cost.unwrap() >= best.cost.unwrap() / 1.02);
                    }
                }
            }
        }
        for index in decision.pareto {
            prop_assert!(decision.candidates[index].exclusion.is_none());
        }
    }
}

#[test]
fn points_that_are_not_finite_are_not_on_the_front() {
    assert_eq!(pareto_front(&[(f64::NAN, 1.0), (1.0, f64::INFINITY), (2.0, 2.0)]), [2]);
    assert!(pareto_front(&[]).is_empty());
}

#[test]
fn what_ran_out_of_memory_with_the_usual_partitions_is_excluded_though_smaller_ones_would_fit() {
    let mut job = job(&runs());
    job.observations.push(Observation { partition_size: 2, ..run(1, 1, 0.01, 3.0) });
    job.incomplete.push(ended(4, 1024, IncompleteOutcome::OutOfMemory));
    let predictor = Predictor::fit_job(&job).unwrap();
    assert_eq!(predictor.partition_size(&job), Some(8));
    let excluded = |predictor: &Predictor| {
        let decision = decide(predictor, &job, &question()).unwrap();
        decision
            .candidates
            .iter()
            .filter(|c| c.exclusion.is_some())
            .map(|c| c.placement.cores_per_executor)
            .collect::<Vec<_>>()
    };
    assert_eq!(excluded(&predictor), [4, 4, 4]);
}
