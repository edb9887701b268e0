//! Jobs whose runs have the most extreme values that samples may have: every fit and every decision
//! ends, and all numbers are finite.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use foreglow_model::{Predictor, Setting};
use foreglow_shared::{Context, Job, Observation, RUN_SECS, SAMPLING_RATES};
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
