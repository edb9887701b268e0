//! The decision of a plan with one arm against the earlier decision about one context.

use foreglow_model::decision::{self, decide};
use foreglow_model::Predictor;
use foreglow_shared::{IncompleteOutcome, IncompleteRun, Job, Observation, PeakMemory, PriceSheet, Question};
use proptest::prelude::*;

use crate::grid::{context, decide as decide_now, incomplete, run};

type Known = Option<(u32, u32)>;

/// What both decide: the outstanding configurations, and the values of each candidate.
#[derive(Debug, PartialEq)]
struct Decided {
    recommended: Known,
    fastest: Known,
    cheapest: Known,
    front: Vec<(u32, u32)>,
    candidates: Vec<(u32, u32, Option<f64>, Option<f64>, bool, bool, Option<f64>)>,
}

fn earlier(predictor: &Predictor, job: &Job, question: &Question) -> Option<Decided> {
    let decision = decide(predictor, job, question).ok()?;
    let configuration = |index: usize| {
        let candidate: &decision::Candidate = &decision.candidates[index];
        (candidate.executors, candidate.cores_per_executor)
    };
    Some(Decided {
        recommended: decision.recommended.map(configuration),
        fastest: decision.fastest.map(configuration),
        cheapest: decision.cheapest.map(configuration),
        front: decision.pareto.iter().map(|index| configuration(*index)).collect(),
        candidates: decision
            .candidates
            .iter()
            .filter(|candidate| candidate.exclusion.is_none() && candidate.burden.is_some())
            .map(|one| {
                let secs = one.prediction.completion_time_secs;
                let (e, c) = (one.executors, one.cores_per_executor);
                (e, c, secs, one.cost, one.meets_deadline, one.within_budget, one.success_probability)
            })
            .collect(),
    })
}

fn now(predictor: &Predictor, job: &Job, question: &Question) -> Option<Decided> {
    let decision = decide_now(predictor, job, question).ok()?;
    let configuration = |index: usize| {
        let placement = decision.candidates[index].placement;
        (placement.executors, placement.cores_per_executor)
    };
    Some(Decided {
        recommended: decision.recommended.map(configuration),
        fastest: decision.fastest.map(configuration),
        cheapest: decision.cheapest.map(configuration),
        front: decision.pareto.iter().map(|index| configuration(*index)).collect(),
        candidates: decision
            .candidates
            .iter()
            .filter(|candidate| candidate.is_possible())
            .map(|one| {
                let secs = one.prediction.completion_time_secs;
                let (e, c) = (one.placement.executors, one.placement.cores_per_executor);
                (e, c, secs, one.cost, one.meets_deadline, one.within_budget, one.success_probability)
            })
            .collect(),
    })
}

fn any_job() -> impl Strategy<Value = Job> {
    let times = proptest::collection::vec((1u32..=4, 1u32..=4, 0usize..3, 0.7f64..1.4), 2..24);
    let stopped = proptest::collection::vec((1u32..=4, 1u32..=4, 0usize..3, 1.0f64..2000.0), 0..3);
    (times, stopped, any::<bool>(), any::<bool>(), prop::option::of(2u32..9)).prop_map(
        |(times, stopped, has_peaks, on_gpu, processors)| {
            let rates = [0.01, 0.1, 0.3];
            let runs: Vec<Observation> = times
                .iter()
                .map(|(e, c, rate, noise)| {
                    let rate = rates[*rate];
                    let secs = (3.0 + 700.0 * rate / f64::from(e * c)) * noise;
                    run(*e, *c, rate, secs)
                })
                .collect();
            let outcomes =
                [IncompleteOutcome::TimedOut, IncompleteOutcome::OutOfMemory, IncompleteOutcome::OutOfMemory];
            let incomplete = stopped.iter().map(|(e, c, outcome, secs)| {
                let at_least = (outcomes[*outcome] == IncompleteOutcome::TimedOut).then_some(*secs);
                IncompleteRun { at_least_secs: at_least, ..incomplete(*e, *c, outcomes[*outcome]) }
            });
            let peaks = runs.iter().filter(|_| has_peaks).map(|run| PeakMemory {
                cores_per_executor: run.cores_per_executor,
                partition_size: run.partition_size,
                peak_mib: 300 + 90 * run.cores_per_executor,
            });
            let mut context = context(processors);
            context.accelerator = on_gpu.then(|| "Some GPU".to_owned());
            Job { incomplete: incomplete.collect(), peaks: peaks.collect(), ..Job::of_runs(context, runs) }
        },
    )
}

fn any_question() -> impl Strategy<Value = (Option<f64>, Option<f64>, f64, u32, u32, bool, u32)> {
    (
        prop::option::of(1.0f64..900.0),
        prop::option::of(1e-4f64..1.0),
        prop_oneof![Just(0.5), Just(0.9), 0.05f64..0.99],
        1u32..9,
        1u32..9,
        any::<bool>(),
        prop_oneof![Just(256u32), Just(512), Just(1024)],
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_with_one_arm_decides_as_the_decision_about_one_context_did(job in any_job(), asked in any_question()) {
        let Ok(predictor) = Predictor::fit_job(&job) else { return Ok(()) };
        let (deadline_secs, budget, probability, executors, cores, is_gpu_priced, memory) = asked;
        let prices = PriceSheet { accelerator_hour: if is_gpu_priced { 2.0 } else { 0.0 }, ..PriceSheet::example() };
        let question = Question {
            deadline_secs,
            budget,
            probability,
            executors: (1..=executors).collect(),
            cores_per_executor: (1..=cores).collect(),
            memory_per_executor_mib: memory,
            prices,
            ..Question::about_job(&job)
        };
        prop_assert_eq!(now(&predictor, &job, &question), earlier(&predictor, &job, &question));
    }

    #[test]
    fn a_large_grid_is_reduced_to_the_same_configurations(job in any_job(), asked in any_question()) {
        let Ok(predictor) = Predictor::fit_job(&job) else { return Ok(()) };
        let (deadline_secs, budget, probability, ..) = asked;
        let question = Question {
            deadline_secs,
            budget,
            probability,
            executors: (1..=80).collect(),
            cores_per_executor: (1..=60).collect(),
            ..Question::about_job(&job)
        };
        let (now, earlier) = (now(&predictor, &job, &question), earlier(&predictor, &job, &question));
        let outstanding = |decided: Option<Decided>| {
            decided.map(|decided| (decided.recommended, decided.fastest, decided.cheapest, decided.front))
        };
        prop_assert_eq!(outstanding(now), outstanding(earlier));
    }
}
