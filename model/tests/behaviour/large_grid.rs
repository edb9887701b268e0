//! Decisions on very large grids agree with those on small ones.

use foreglow_model::{Candidate, Decision, Limits, Plan, Predictor, pareto_front};
use foreglow_shared::{IncompleteOutcome, IncompleteRun, Job, Mode, PriceSheet, Question};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, decide, full, jitter, job, run, whole};

/// Counts that give more configurations than are listed, from below the measured range to far
/// beyond it.
const EXECUTORS: u32 = 70;
const CORES: u32 = 80;

/// Runs on a cluster whose times are not multiplicative and have a minimum, so that the front has
/// many points.
fn measured() -> Job {
    let secs = |e: f64, c: f64, s: f64| s * (4000.0 / (e * c) + 3.0 * e) + 2.0 / c + 0.5;
    let runs = full(&[2, 3, 5], &[2, 4, 8], &[0.01, 0.05, 0.1], secs);
    job(&jitter(&runs, 0.02))
}

/// The same with whole jobs that agree on another time than the samples suggest.
fn measured_with_repeats() -> Job {
    let mut job = measured();
    let slow = [1.0, 1.01, 0.99].map(|factor| run(3, 4, 1.0, 680.0 * factor));
    job.observations.extend(slow.into_iter().chain([run(2, 8, 1.0, 260.0)]));
    job
}

fn question(job: &Job) -> Question {
    let prices = PriceSheet { executor_start: 0.01, startup_secs: 20.0, minimum_secs: 60.0, ..PriceSheet::example() };
    Question {
        executors: (1..=EXECUTORS).collect(),
        cores_per_executor: (1..=CORES).collect(),
        prices,
        ..Question::about(&job.observations)
    }
}

/// Evaluates every configuration by decisions on parts that are small enough to be listed
/// completely.
fn one_by_one(predictor: &Predictor, job: &Job, question: &Question) -> Vec<Candidate> {
    let part = |executors: &[u32]| Question { executors: executors.to_vec(), ..question.clone() };
    let parts = question.executors.chunks(20).map(|executors| decide(predictor, job, &part(executors)).unwrap());
    parts.flat_map(|decision| decision.candidates).collect()
}

fn named(candidate: &Candidate) -> (u32, u32) {
    (candidate.placement.executors, candidate.placement.cores_per_executor)
}

fn recommended(decision: &Decision) -> Option<&Candidate> {
    decision.recommended.map(|index| &decision.candidates[index])
}

#[test]
fn the_recommendation_is_the_best_of_all_configurations() {
    [measured(), measured_with_repeats()].iter().for_each(is_best_of_all);
}

fn is_best_of_all(job: &Job) {
    let predictor = Predictor::fit_job(job).unwrap();
    let open = question(job);
    let all = one_by_one(&predictor, job, &open);
    assert_eq!(all.len(), (EXECUTORS * CORES) as usize);
    let fastest = all.iter().filter_map(|one| one.prediction.completion_time_secs).fold(f64::INFINITY, f64::min);
    for (deadline, budget, probability) in [
        (None, None, 0.9),
        (Some(fastest * 3.0), None, 0.9),
        (Some(fastest * 3.0), None, 0.4),
        (None, Some(1.0), 0.9),
        (Some(fastest * 6.0), Some(2.0), 0.7),
        (Some(fastest * 0.1), None, 0.9),
    ] {
        let question = Question { deadline_secs: deadline, budget, probability, ..open.clone() };
        let decision = decide(&predictor, job, &question).unwrap();
        assert_eq!(decision.compared, all.len());
        assert!(decision.candidates.len() < 600, "{}", decision.candidates.len());
        let all = one_by_one(&predictor, job, &question);
        let feasible = || all.iter().filter(|one| one.is_feasible);
        let by_time = deadline.is_none() && budget.is_some();
        let wanted =
            |one: &Candidate| if by_time { one.prediction.completion_time_secs.unwrap() } else { one.cost.unwrap() };
        match recommended(&decision) {
            None => assert_eq!(feasible().count(), 0),
            Some(best) => {
                assert!(best.is_feasible);
                let least = feasible().map(wanted).fold(f64::INFINITY, f64::min);
                let cheapest = decision.least().map_or(f64::INFINITY, wanted);
                assert!(cheapest <= least * (1.0 + 1e-9), "{cheapest} {least} {:?}", named(best));
                assert!(wanted(best) <= least * 1.02, "{} {least} {:?}", wanted(best), named(best));
            }
        }
    }
}

#[test]
fn the_front_has_only_non_dominated_points_and_both_ends() {
    [measured(), measured_with_repeats()].iter().for_each(has_the_front_of_all);
}

fn has_the_front_of_all(job: &Job) {
    let predictor = Predictor::fit_job(job).unwrap();
    let question = question(job);
    let decision = decide(&predictor, job, &question).unwrap();
    let all = one_by_one(&predictor, job, &question);
    let point = |one: &Candidate| (one.prediction.completion_time_secs.unwrap(), one.cost.unwrap());
    let points: Vec<(f64, f64)> = all.iter().map(point).collect();
    let whole: Vec<(u32, u32)> = pareto_front(&points).into_iter().map(|index| named(&all[index])).collect();
    let front: Vec<(u32, u32)> = decision.pareto.iter().map(|index| named(&decision.candidates[*index])).collect();
    assert!(front.len() > 20, "{}", front.len());
    assert_eq!((front.first(), front.last()), (whole.first(), whole.last()));
    for index in &decision.pareto {
        let (secs, cost) = point(&decision.candidates[*index]);
        let beats = |other: &&(f64, f64)| other.0 < secs * (1.0 - 1e-9) && other.1 < cost * (1.0 - 1e-9);
        assert_eq!(points.iter().find(beats), None);
    }
}

#[test]
fn out_of_memory_and_stopped_configurations_are_not_recommended() {
    let mut job = measured();
    let predictor = Predictor::fit_job(&job).unwrap();
    let deadline_secs = Some(1e4);
    let question = Question { deadline_secs, ..question(&job) };
    let first = named(recommended(&decide(&predictor, &job, &question).unwrap()).unwrap());
    let ended = |outcome| IncompleteRun {
        executors: first.0,
        cores_per_executor: first.1,
        total_cores: None,
        memory_per_executor_mib: question.memory_per_executor_mib,
        partition_size: 1,
        sampling_rate: 1.0,
        outcome,
        at_least_secs: Some(2e4),
    };
    job.incomplete = vec![ended(IncompleteOutcome::TimedOut)];
    let second = decide(&predictor, &job, &question).unwrap();
    assert_ne!(named(recommended(&second).unwrap()), first);
    job.incomplete = vec![ended(IncompleteOutcome::OutOfMemory)];
    let third = decide(&predictor, &job, &question).unwrap();
    assert!(recommended(&third).unwrap().placement.cores_per_executor < first.1 || first.1 == 1);
    assert!(third.pareto.iter().all(|index| third.candidates[*index].placement.cores_per_executor < first.1));
}

#[test]
fn a_count_that_never_varied_is_evaluated_only_as_measured() {
    let mut job = measured();
    job.observations.retain(|run| run.executors == 3);
    let predictor = Predictor::fit_job(&job).unwrap();
    let question = Question { deadline_secs: Some(2000.0), ..question(&job) };
    let decision = decide(&predictor, &job, &question).unwrap();
    assert!(decision.compared == (EXECUTORS * CORES) as usize && decision.candidates.len() < 600);
    let all = one_by_one(&predictor, &job, &question);
    let least = all.iter().filter(|one| one.is_feasible).filter_map(|one| one.cost).fold(f64::INFINITY, f64::min);
    let best = recommended(&decision).unwrap();
    assert!(best.placement.executors == 3 && best.cost.unwrap() <= least * 1.02, "{best:?} {least}");
    assert!(decision.least().unwrap().cost.unwrap() <= least * (1.0 + 1e-9));

    let other = Question { executors: (4..=EXECUTORS).collect(), ..question };
    let decision = decide(&predictor, &job, &other).unwrap();
    assert_eq!(decision.candidates.len(), 1);
    assert!(!decision.candidates[0].prediction.warnings.is_empty());
}

#[test]
fn oversubscribed_configurations_are_decided_as_one_by_one() {
    let secs = |e: f64, c: f64, s: f64| s * (400.0 / (e * c) + 9.0 * e) + 2.0 / c + 0.5;
    let ranges: [(&[u32], &[u32]); 3] = [(&[1, 2, 3], &[1, 2, 4]), (&[2, 3], &[4, 8]), (&[1, 4], &[3, 6])];
    for (place, (executors, cores)) in ranges.into_iter().enumerate() {
        for mode in [Mode::Inference, Mode::Training] {
            let mut job = job(&jitter(&full(executors, cores, &[0.01, 0.05, 0.1], secs), 0.02));
            job.context = context(Some(12));
            job.context.workload.mode = mode;
            let predictor = Predictor::fit_job(&job).unwrap();
            for (fewest, deadline_secs) in [(1, None), (1, Some(400.0)), (5, Some(400.0)), (15, None)] {
                let executors = (fewest..=EXECUTORS).collect();
                let question = Question { deadline_secs, executors, ..question(&job) };
                let decision = decide(&predictor, &job, &question).unwrap();
                let all = one_by_one(&predictor, &job, &question);
                assert_eq!(decision.compared, all.len());
                assert!(decision.candidates.len() < 300, "{}", decision.candidates.len());
                for one in &decision.candidates {
                    let place = all.binary_search_by_key(&named(one), named).unwrap();
                    assert_eq!(*one, all[place]);
                }
                let feasible = || all.iter().filter(|one| one.is_feasible);
                let least = feasible().filter_map(|one| one.cost).fold(f64::INFINITY, f64::min);
                let best = decision.least().map(|best| best.cost.unwrap());
                assert_eq!(best.is_none(), feasible().count() == 0, "{place} {mode:?} {fewest}");
                assert!(best.unwrap_or(0.0) <= least * (1.0 + 1e-9), "{place} {mode:?} {fewest} {best:?} {least}");
                let fastest =
                    all.iter().filter_map(|one| one.prediction.completion_time_secs).fold(f64::INFINITY, f64::min);
                let found = decision.fastest.and_then(|at| decision.candidates[at].prediction.completion_time_secs);
                assert!((found.unwrap() / fastest - 1.0).abs() < 1e-9, "{place} {mode:?} {fewest}");
            }
        }
    }
}

#[test]
fn a_grid_of_times_equals_single_predictions_on_one_machine_too() {
    let secs = |e: f64, c: f64, s: f64| s * (400.0 / (e * c) + 9.0 * e) + 2.0 / c + 0.5;
    let runs = jitter(&full(&[1, 2, 3], &[2, 4], &[0.01, 0.05, 0.1], secs), 0.02);
    let predictor = Predictor::fit(&context(Some(6)), &runs).unwrap();
    let (executors, cores): (Vec<u32>, Vec<u32>) = ((1..=9).collect(), (1..=9).collect());
    let times = predictor.times(&executors, &cores);
    let configurations: Vec<(u32, u32)> = executors.iter().flat_map(|e| cores.iter().map(|c| (*e, *c))).collect();
    let together = predictor.predict_whole_job(&configurations);
    for ((e, c), prediction) in configurations.into_iter().zip(together) {
        assert_eq!(prediction, predictor.predict(whole(e, c)), "{e} {c}");
        let time = times[e as usize - 1][c as usize - 1].unwrap();
        assert!((time / prediction.completion_time_secs.unwrap() - 1.0).abs() < 1e-11, "{e} {c}");
    }
}

#[test]
fn deciding_again_under_other_limits_equals_a_new_decision() {
    let job = measured();
    let predictor = Predictor::fit_job(&job).unwrap();
    let open = question(&job);
    let plan = Plan::from_context(predictor.clone(), &job, &open).unwrap();
    let mut earlier = plan.decide(&Limits::of(&open)).unwrap();
    for (deadline_secs, probability) in [(Some(400.0), 0.9), (Some(90.0), 0.9), (None, 0.5), (Some(400.0), 0.5)] {
        let asked = Question { deadline_secs, probability, ..open.clone() };
        let decision = decide(&predictor, &job, &asked).unwrap();
        assert_ne!(decision, earlier);
        earlier = plan.decide(&Limits::of(&asked)).unwrap();
        assert_eq!(earlier, decision);
    }
}

#[test]
fn shared_accelerators_are_billed_alike_in_small_and_large_grids() {
    let mut job = measured();
    job.context.accelerator = Some("Some GPU".into());
    job.context.shares_accelerators = true;
    let gpu = serde_json::json!({"name": "Some GPU"});
    job.context.host.accelerators = serde_json::from_value(serde_json::json!([gpu, gpu])).unwrap();
    let predictor = Predictor::fit_job(&job).unwrap();
    let machines = PriceSheet { executor_hour: 36.0, core_hour: 0.0, gib_hour: 0.0, ..question(&job).prices };
    let parts = PriceSheet { accelerator_hour: 3.0, ..question(&job).prices };
    for prices in [machines, parts] {
        for (deadline_secs, budget) in [(None, None), (Some(300.0), None), (None, Some(5.0))] {
            let question = Question { deadline_secs, budget, prices: prices.clone(), ..question(&job) };
            let decision = decide(&predictor, &job, &question).unwrap();
            let all = one_by_one(&predictor, &job, &question);
            let wanted = |one: &Candidate| match budget {
                Some(_) => one.prediction.completion_time_secs.unwrap(),
                None => one.cost.unwrap(),
            };
            let least = all.iter().filter(|one| one.is_feasible).map(wanted).fold(f64::INFINITY, f64::min);
            let best = recommended(&decision).unwrap();
            let cheapest = decision.least().map_or(f64::INFINITY, wanted);
            assert!(cheapest <= least * (1.0 + 1e-9), "{cheapest} {least} {:?}", named(best));
            assert!(wanted(best) <= least * 1.02, "{} {least} {:?}", wanted(best), named(best));
        }
    }
}
