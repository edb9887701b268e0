//! Jobs whose runs have the most extreme values that samples may have: every fit and every decision
//! ends, and all numbers are finite.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use foreglow_model::{JointPredictor, Limits, Plan, Predictor, Scaling, Setting, Space, advise};
use foreglow_shared::{
    Context, DEADLINE_SECS, Job, JobDefinition, JobGroup, MONEY, Observation, PriceSheet, Question, RUN_SECS,
    SAMPLING_RATES,
};
use proptest::prelude::*;

fn context() -> Context {
    let json = r#"{"workload":{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,
        "batch_size":8},"engine":"local","host":{}}"#;
    serde_json::from_str(json).unwrap()
}

/// A number of the range, often one of its ends.
fn within(range: std::ops::RangeInclusive<f64>, usual: f64) -> impl Strategy<Value = f64> {
    let (least, most) = range.into_inner();
    prop_oneof![Just(least), Just(most), Just(usual), (libm::log(least)..libm::log(most)).prop_map(libm::exp)]
        .prop_map(move |number| number.clamp(least, most))
}

fn run() -> impl Strategy<Value = Observation> {
    let executors = prop_oneof![Just(1_u32), Just(2), Just(10_000), 1..=10_000_u32];
    let cores = prop_oneof![Just(1_u32), Just(1_000), 1..=1_000_u32];
    let memory = prop_oneof![Just(1_u32), Just(1 << 24), Just(1_024)];
    let partition = prop_oneof![Just(1_u32), Just(u32::MAX), Just(8)];
    let numbers = (within(SAMPLING_RATES, 0.1), within(RUN_SECS, 2.5));
    (executors, cores, memory, partition, numbers).prop_map(
        |(executors, cores, memory, partition_size, (rate, secs))| Observation {
            executors,
            cores_per_executor: cores,
            total_cores: None,
            memory_per_executor_mib: memory,
            partition_size,
            sampling_rate: rate,
            completion_time_secs: secs,
            startup_secs: None,
            disturbed: false,
            log_error: 0.0,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_prediction_from_the_most_extreme_runs_ends_and_is_a_number(runs in prop::collection::vec(run(), 2..14)) {
        let job = Job::of_runs(context(), runs);
        if let Ok(predictor) = Predictor::fit_job(&job) {
            for (executors, cores) in [(1, 1), (3, 2), (10_000, 1_000)] {
                let prediction = predictor.predict(Setting::even(executors, cores, 1.0));
                let secs = prediction.completion_time_secs;
                prop_assert!(secs.is_none_or(f64::is_finite), "{secs:?} from {job:?}");
                let interval = prediction.interval.map(|interval| interval.lower_secs + interval.upper_secs);
                prop_assert!(interval.is_none_or(f64::is_finite), "{interval:?} from {job:?}");
            }
        }
    }
}

/// Limits of a question; half of them are given.
fn limits() -> impl Strategy<Value = Limits> {
    let limit = |range| prop::option::of(within(range, 100.0));
    (limit(DEADLINE_SECS), limit(MONEY), limit(MONEY)).prop_map(|(deadline_secs, budget, max_hourly_cost)| Limits {
        deadline_secs,
        budget,
        min_accuracy: None,
        max_hourly_cost,
        probability: 0.9,
        spot: false,
        startup_secs: 0.0,
    })
}

/// Checks that an answer has no number that is infinite or missing by mistake.
fn check(answer: &dyn std::fmt::Debug) -> Result<(), TestCaseError> {
    let text = format!("{answer:?}");
    let mut words = text.split(|letter: char| !letter.is_alphanumeric());
    prop_assert!(!words.any(|word| matches!(word, "NaN" | "inf")), "{text}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn plan_scaling_and_advice_from_the_most_extreme_runs_end_in_numbers(
        of_types in prop::collection::vec(prop::collection::vec(run(), 1..8), 1..4),
        core_hour in within(MONEY, 0.04),
        limits in limits(),
    ) {
        let on = |(machine, runs): (usize, Vec<Observation>)| {
            let mut context = context();
            context.host.machine = Some(format!("t{machine}"));
            Job::of_runs(context, runs)
        };
        let jobs: Vec<Job> = of_types.into_iter().enumerate().map(on).collect();
        let sheet = Some(PriceSheet { core_hour, ..PriceSheet::example() });
        for job in &jobs {
            let Ok(predictor) = Predictor::fit_job(job) else { continue };
            let question = Question::about(&job.observations);
            check(&Scaling::of(&Arc::new(predictor), job, &question))?;
        }
        let group = JobGroup { definition: JobDefinition::of(&jobs[0].context), jobs, lenders: Vec::new() };
        let joint = JointPredictor::fit(&group).unwrap();
        if let Ok(plan) = Plan::new(joint, Space { sheet, keeps_sheet: true, ..Space::default() }) {
            check(&plan.decide(&limits))?;
            check(&advise(&group, &plan, &limits, &[]))?;
        }
    }
}
