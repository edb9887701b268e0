//! Decisions against an enumeration by hand, and the advice against the decision: limits that are
//! met exactly, ties, and runs that were stopped.

use foreglow_model::{Candidate, Decision, JointPredictor, Limits, Plan, Predictor, Space, Verdict};
use foreglow_shared::{
    CoreSplit, IncompleteOutcome, IncompleteRun, Job, JobGroup, Observation, PriceSheet, Question, Resources,
};
use proptest::prelude::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{advise, context, decide, full, incomplete, jitter, job, multiplicative, run};
use crate::two_types::{LIMITS, SLOW, compare, group, space, two_types};

fn runs() -> Vec<Observation> {
    jitter(&full(&[1, 2, 3], &[1, 2, 4], &[0.01, 0.1], multiplicative), 0.05)
}

fn question() -> Question {
    Question { deadline_secs: Some(60.0), ..Question::about(&runs()) }
}

/// A run of the whole job that was stopped after this time.
fn stopped(executors: u32, cores: u32, at_least_secs: f64) -> IncompleteRun {
    IncompleteRun {
        sampling_rate: 1.0,
        at_least_secs: Some(at_least_secs),
        ..incomplete(executors, cores, IncompleteOutcome::TimedOut)
    }
}

fn ask(job: &Job, question: &Question) -> Decision {
    decide(&Predictor::fit_job(job).unwrap(), job, question).unwrap()
}

fn named(candidate: &Candidate) -> (u32, u32) {
    (candidate.placement.executors, candidate.placement.cores_per_executor)
}

#[test]
fn a_job_that_was_stopped_at_the_deadline_has_no_chance_anywhere() {
    let mut group = two_types();
    for job in &mut group.jobs {
        job.incomplete = vec![stopped(2, 2, 500.0)];
    }
    let space = Space { executors: vec![2], cores_per_executor: vec![2], ..space() };
    let plan = compare(&group, &space);
    for (deadline, is_late) in [(500.0, true), (500.1, false)] {
        for probability in [0.3, 0.9] {
            let limits = Limits { deadline_secs: Some(deadline), probability, ..LIMITS };
            let decision = plan.decide(&limits).unwrap();
            for candidate in &decision.candidates {
                assert_eq!(candidate.success_probability == Some(0.0), is_late, "{candidate:?}");
                assert!(!(is_late && candidate.is_feasible), "{deadline} {candidate:?}");
            }
            assert!(!is_late || decision.recommended.is_none(), "{deadline} {probability}");
        }
    }
}

#[test]
fn a_stopped_run_counts_where_too_few_runs_tell_a_probability() {
    let two = [run(2, 1, 1.0, 51.0), run(4, 1, 1.0, 26.0)];
    let mut job = job(&two);
    let predictor = Predictor::fit_job(&job).unwrap();
    let chance = |job: &Job, executors: u32| {
        let joint = JointPredictor::from_predictor(predictor.clone(), job);
        let prediction = joint.predict(0, 1, 1);
        joint.chance(0, CoreSplit::even(executors, 1), &prediction, 500.0)
    };
    assert_eq!(chance(&job, 1), None);
    job.incomplete.push(stopped(1, 1, 500.0));
    assert_eq!(chance(&job, 1), Some(0.0));
    assert_eq!(chance(&job, 2), None, "it was not stopped there");
}

/// A plan without any price.
fn unpriced(group: &JobGroup) -> Plan {
    Plan::new(JointPredictor::fit(group).unwrap(), Space::default()).unwrap()
}

#[test]
fn without_any_price_the_advise_name_only_what_may_meet_the_deadline() {
    let mut group = group(vec![crate::two_types::job("somewhere", SLOW.grid(|| 0.0))]);
    let next =
        |group: &JobGroup, limits: &Limits| foreglow_model::advise(group, &unpriced(group), limits, &[]).unwrap();
    let limits = Limits { deadline_secs: Some(2000.0), ..LIMITS };
    let best = next(&group, &limits).best.unwrap().placement;
    group.jobs[0].incomplete = vec![stopped(best.executors, best.cores_per_executor, 2000.0)];
    let other = next(&group, &limits).best.map(|best| best.placement.split());
    assert_ne!(other, Some(best.split()), "it was stopped at the deadline");
    let hourly = Limits { max_hourly_cost: Some(1.0), ..LIMITS };
    assert!(next(&group, &hourly).best.is_none(), "no price per hour is known");
    assert!(unpriced(&group).decide(&hourly).unwrap().recommended.is_none());
}

#[test]
fn a_budget_of_exactly_the_cost_is_kept() {
    let job = job(&runs());
    let minimum = PriceSheet { minimum_secs: 1e5, executor_start: 0.07, discount: 0.3, ..PriceSheet::example() };
    for prices in [PriceSheet::example(), minimum] {
        let question = Question { deadline_secs: None, probability: 0.5, prices, ..question() };
        for candidate in ask(&job, &question).candidates {
            let question = Question { budget: candidate.cost, ..question.clone() };
            let decision = ask(&job, &question);
            let same = decision.candidates.iter().find(|one| named(one) == named(&candidate)).unwrap();
            assert!(same.within_budget, "{same:?}");
        }
    }
}

#[test]
fn a_deadline_of_exactly_the_time_is_met_in_small_and_large_grids() {
    let job = job(&runs());
    let open = Question { deadline_secs: None, probability: 0.5, ..question() };
    let large = |question: &Question| Question { executors: (1..=5000).collect(), ..question.clone() };
    for candidate in ask(&job, &open).candidates {
        let question = Question { deadline_secs: candidate.prediction.completion_time_secs, ..open.clone() };
        let (few, many) = (ask(&job, &question), ask(&job, &large(&question)));
        let cost = |decision: &Decision| decision.least().unwrap().cost.unwrap();
        assert!(few.candidates.iter().any(|one| named(one) == named(&candidate) && one.meets_deadline));
        assert!(cost(&many) <= cost(&few) * 1.002, "{:?}", named(&candidate));
    }
}

#[test]
fn runs_beyond_the_limits_of_samples_are_refused_and_not_listed() {
    let mut many = runs();
    many[0].executors = u32::MAX;
    many[1].cores_per_executor = u32::MAX;
    let question = Question::about(&many);
    assert_eq!((question.executors.len(), question.cores_per_executor.len()), (10_000, 1_000));
    let error = Predictor::fit(&context(None), &many[..1]).unwrap_err();
    assert!(error.to_string().contains("1 to 10,000 executors of 1 to 1,000 cores"), "{error}");
}

/// What the advice says of a question about a job; its recommendation has to be that of the
/// decision.
fn advice(job: &Job, question: &Question) -> foreglow_model::Advice {
    let advice = advise(job, question).unwrap();
    let decision = ask(job, question);
    let recommended = decision.recommended.map(|place| decision.candidates[place].split());
    assert_eq!(advice.best.as_ref().map(|best| best.placement.split()), recommended);
    if recommended.is_none() {
        assert_ne!(advice.verdict, Verdict::Enough);
        assert_eq!(advice.expected_saving, None);
    }
    advice
}

#[test]
fn the_advice_is_about_what_the_decision_recommends_among_many_configurations() {
    let cluster = |e: f64, c: f64, s: f64| s * (4000.0 / (e * c) + 3.0 * e) + 2.0 / c + 0.5;
    let job = job(&jitter(&full(&[2, 3, 5], &[2, 4, 8], &[0.01, 0.05, 0.1], cluster), 0.02));
    let open = Question { executors: (1..=40).collect(), ..Question::about(&job.observations) };
    let fastest = ask(&job, &open);
    let fastest = fastest.candidates[fastest.fastest.unwrap()].prediction.completion_time_secs.unwrap();
    let mut known = 0;
    for factor in [0.9, 1.0, 1.01, 1.02, 1.05, 1.1, 1.3, 2.0, 3.0] {
        let question = Question { deadline_secs: Some(fastest * factor), probability: 0.5, ..open.clone() };
        known += u32::from(advice(&job, &question).expected_saving.is_some());
    }
    assert_eq!(known, 8, "all but one deadline can be met");
}

#[test]
fn what_is_certain_is_not_to_be_measured() {
    let all = |question: &Question| {
        let e = question.executors.iter();
        e.flat_map(|e| question.cores_per_executor.iter().map(|c| (*e, *c))).collect::<Vec<_>>()
    };
    let is_over = |job: &Job, question: &Question, why: &str| {
        let advice = advice(job, question);
        assert_eq!((advice.verdict, advice.suggestions.len()), (Verdict::Exhausted, 0), "{why}");
    };
    let mut stopped_everywhere = job(&runs());
    stopped_everywhere.incomplete = all(&question()).into_iter().map(|(e, c)| stopped(e, c, 60.0)).collect();
    is_over(&stopped_everywhere, &question(), "every configuration was stopped at the deadline");
    is_over(&job(&runs()), &Question { deadline_secs: Some(0.001), ..question() }, "hopeless");
    is_over(&job(&runs()), &Question { min_accuracy: Some(0.9), ..question() }, "no sample tells an accuracy");
    let mut gpu = job(&runs());
    gpu.context.accelerator = Some("Some GPU".into());
    is_over(&gpu, &Question { budget: Some(1.0), ..question() }, "no sample tells a price");
}

#[test]
fn a_setting_that_was_stopped_is_not_proposed_again() {
    // The cores were never varied, so a run tells much.
    let mut job = job(&full(&[1, 2, 3], &[1], &[0.01, 0.1], multiplicative));
    let question = Question { deadline_secs: None, executors: (1..=6).collect(), ..question() };
    let first = advise(&job, &question).unwrap().suggestions.swap_remove(0);
    let (executors, cores) = (first.executors, first.cores_per_executor);
    job.incomplete = vec![IncompleteRun { sampling_rate: first.sampling_rate, ..stopped(executors, cores, 1e-3) }];
    let is_same = |other: &foreglow_model::Suggestion| {
        (other.executors, other.cores_per_executor, other.sampling_rate) == (executors, cores, first.sampling_rate)
    };
    assert!(!advise(&job, &question).unwrap().suggestions.iter().any(is_same));
}

#[test]
fn an_unknown_time_beside_a_recommendation_is_not_a_missing_recommendation() {
    let job = job(&jitter(&full(&[1, 2, 3], &[1], &[0.01, 0.1], multiplicative), 0.05));
    let question = Question { deadline_secs: None, cores_per_executor: vec![1, 2], ..question() };
    let advice = advice(&job, &question);
    assert!(advice.best.is_some());
    assert_eq!(advice.verdict, Verdict::GoOn);
}

/// Any of the prices by itself, so that candidates tie.
fn any_prices() -> impl Strategy<Value = PriceSheet> {
    let none = PriceSheet { core_hour: 0.0, gib_hour: 0.0, ..PriceSheet::example() };
    (0usize..4, prop::sample::select(vec![0.0, 60.0, 1e4]), prop::sample::select(vec![0.0, 0.02]), 0.0f64..0.9)
        .prop_map(move |(which, minimum_secs, executor_start, discount)| {
            let price = |place: usize| if which == place || which == 3 { 0.05 } else { 0.0 };
            let (executor_hour, core_hour, gib_hour) = (price(0), price(1), price(2));
            PriceSheet { executor_hour, core_hour, gib_hour, minimum_secs, executor_start, discount, ..none.clone() }
        })
}

proptest! {
    /// Costs, chances, limits and ties are computed here from their definitions.
    #[test]
    fn a_decision_is_that_of_an_enumeration(
        prices in any_prices(), share in 0.0f64..0.1, place in 0usize..12, factor in prop::sample::select(vec![1.0, 0.7, 1.5]),
        has_deadline: bool, has_budget: bool, probability in prop::sample::select(vec![0.3, 0.5, 0.9]),
        bound in prop::option::of((1u32..4, 1u32..5, prop::sample::select(vec![0.5, 1.0, 2.0]))),
        single: bool, never_accelerated: bool,
    ) {
        let mut job = job(&jitter(&full(&[1, 2, 3], &[1, 2, 4], &[0.01, 0.1], multiplicative), share));
        if !never_accelerated {
            job.context.accelerator = Some("Some GPU".into());
        }
        let open = Question { deadline_secs: None, prices, probability, ..question() };
        let at = ask(&job, &open).candidates[place].clone();
        let deadline = at.prediction.completion_time_secs.unwrap() * factor;
        let counts = |all: Vec<u32>, one: u32| if single { vec![one] } else { all };
        let question = Question {
            deadline_secs: has_deadline.then_some(deadline),
            budget: at.cost.filter(|_| has_budget).map(|cost| cost * factor),
            executors: counts(open.executors.clone(), at.placement.executors),
            cores_per_executor: counts(open.cores_per_executor.clone(), at.placement.cores_per_executor),
            ..open
        };
        job.incomplete.extend(bound.map(|(e, c, times)| stopped(e, c, deadline * times)));
        let decision = ask(&job, &question);

        let accelerated = job.context.accelerator.is_some();
        let resources = |one: &Candidate| Resources {
            split: one.split(),
            memory_per_executor_mib: one.placement.memory_per_executor_mib, accelerated, shared_accelerators: None,
        };
        let money = |one: &Candidate, secs: f64| question.prices.cost(resources(one), secs);
        let secs = |one: &Candidate| one.prediction.completion_time_secs.unwrap();
        let burden = |one: &Candidate| {
            money(one, secs(one)).unwrap_or(f64::from(one.placement.executors) * secs(one) / 3600.0)
        };
        let is_feasible = |one: &Candidate| {
            let spread = one.prediction.spread.as_ref().unwrap();
            let known = job.incomplete.iter().filter(|run| run.split() == one.split()).filter_map(|run| run.at_least_secs);
            let late = if probability > 0.5 { secs(one) * spread.quantile(probability) } else { secs(one) };
            // A stopped run took longer than its bound.
            let late = known.map(|bound| bound * (1.0 + 3e-9)).fold(late, f64::max);
            question.deadline_secs.is_none_or(|deadline| late <= deadline * (1.0 + 1e-9))
                && question.budget.is_none_or(|budget| money(one, late).unwrap() <= budget * (1.0 + 1e-9))
        };
        let all = &decision.candidates;
        // The best that the tie leaves: the fastest of those within the error of the least.
        let best = |ones: Vec<usize>| {
            let least = ones.iter().copied().min_by(|a, b| burden(&all[*a]).total_cmp(&burden(&all[*b])))?;
            let error = all[least].prediction.spread.as_ref().unwrap().log_deviation().unwrap_or(0.0);
            let most = burden(&all[least]) * (1.0 + error.clamp(0.002, 0.02));
            let key = |one: &usize| (secs(&all[*one]), burden(&all[*one]));
            let same = ones.iter().filter(|one| burden(&all[**one]) <= most);
            same.min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap()).copied()
        };
        let feasible: Vec<usize> = (0..all.len()).filter(|one| is_feasible(&all[*one])).collect();
        let fastest = |ones: &[usize]| ones.iter().copied().min_by(|a, b| {
            (secs(&all[*a]), burden(&all[*a])).partial_cmp(&(secs(&all[*b]), burden(&all[*b]))).unwrap()
        });
        for (place, one) in all.iter().enumerate() {
            prop_assert_eq!(one.is_feasible, feasible.contains(&place), "{:?}", one);
        }
        let wanted = if question.wants_speed() { fastest(&feasible) } else { best(feasible) };
        prop_assert_eq!(decision.recommended, wanted);
        prop_assert_eq!(decision.cheapest, best((0..all.len()).collect()));
        prop_assert_eq!(decision.fastest, fastest(&(0..all.len()).collect::<Vec<_>>()));
        let advice = advise(&job, &question).unwrap();
        prop_assert_eq!(advice.best.map(|one| one.placement.split()), wanted.map(|one| all[one].split()));
    }

    #[test]
    fn a_plan_of_machine_types_breaks_ties_like_a_decision(
        deadline in 100.0..3000.0_f64, probability in prop::sample::select(vec![0.5, 0.9]), spot: bool,
        bound in prop::option::of(0.9..1.1_f64),
    ) {
        let mut group = two_types();
        group.jobs[1].incomplete.extend(bound.map(|times| stopped(2, 2, deadline * times)));
        let plan = compare(&group, &Space { executors: vec![1, 2, 4, 8], ..space() });
        let limits = Limits { deadline_secs: Some(deadline), probability, spot, ..LIMITS };
        let decision = plan.decide(&limits).unwrap();
        let at = |place: usize| &decision.candidates[place];
        let point = |place: usize| (at(place).prediction.completion_time_secs.unwrap(), at(place).cost.unwrap());
        let machine = |place: usize| plan.predictor().arms()[at(place).placement.arm].machine.clone();
        if let Some(best) = decision.recommended {
            prop_assert!(decision.best_per_machine.contains(&best), "it is the best of its machine type");
            let other = decision.best_per_machine.iter().filter(|other| at(**other).is_feasible);
            for other in other.filter(|other| **other != best) {
                prop_assert!(machine(*other) != machine(best));
                prop_assert!(point(best).1 <= 1.02 * point(*other).1);
            }
        }
        for pair in decision.pareto.windows(2) {
            prop_assert!(point(pair[0]).0 < point(pair[1]).0 && point(pair[0]).1 > point(pair[1]).1);
        }
        for candidate in decision.candidates.iter().filter(|candidate| candidate.is_feasible) {
            prop_assert!(candidate.success_probability.unwrap() >= probability - 1e-6, "{candidate:?}");
        }
    }
}
