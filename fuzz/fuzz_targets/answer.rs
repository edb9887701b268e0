//! From runs to a decision. Runs within the limits of samples are rejected, or give finite
//! predictions whose intervals contain them. The order of the runs changes no digit, and more
//! images never take less time. A recommendation meets all limits and is the cheapest that does.
#![no_main]

use std::ops::Range;

use foreglow_model::{Candidate, DecideError, Decision, Limits, Plan, Prediction, Predictor, Setting};
use foreglow_shared::{Context, Job, Observation, Question};
use libfuzzer_sys::fuzz_target;

/// Largest factor of costs that may count as equal, within the error of the prediction. Then time
/// decides.
const SAME_COST: f64 = 1.02;
const CONTEXT: &str = r#"{"workload":{"model":"lenet5","mode":"inference","image_px":28,"images":3200,"epochs":1,
    "batch_size":32},"engine":"local","host":{}}"#;
/// Length of the encoding of a run, bytes.
const RUN: usize = 9;
/// Numbers of configurations that exceed the limit on listed ones, 4,096, and half of which do not.
const EXECUTORS: u32 = 100;
const CORES: u32 = 64;
/// Exponents of floats from 2⁻²⁹ to 2²⁹: about the times that samples may have.
const LEAST_EXPONENT: u32 = 127 - 29;
const EXPONENTS: u32 = 59;
/// Largest number of runs, so that an input takes milliseconds.
const MOST_RUNS: usize = 24;

fuzz_target!(|bytes: &[u8]| {
    let Some((limits, rows)) = bytes.split_at_checked(5) else { return };
    let context: Context = serde_json::from_str(CONTEXT).expect("the context is valid");
    let runs: Vec<Observation> = rows.chunks_exact(RUN).take(MOST_RUNS).map(run).collect();
    let job = Job::of_runs(context, runs);
    let Ok(predictor) = Predictor::fit_job(&job) else { return };
    let mut reversed = job.clone();
    reversed.observations.reverse();
    let reversed = Predictor::fit_job(&reversed).expect("the same runs could be fitted");
    for (executors, cores, rate) in [(1, 1, 1.0), (3, 2, 0.1), (1000, 64, 1.0)] {
        let setting = Setting::even(executors, cores, rate);
        let prediction = predictor.predict(setting);
        check(&prediction);
        assert_eq!(reversed.predict(setting), prediction);
    }
    for executors in [1, 3] {
        let secs = |rate| predictor.predict(Setting::even(executors, 2, rate)).completion_time_secs;
        let secs: Vec<f64> = [1e-6, 0.01, 0.1, 0.4, 1.0].into_iter().filter_map(secs).collect();
        assert!(secs.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 1e-9)), "{secs:?}");
    }
    let mut question = Question::about(&job.observations);
    question.executors.truncate(8);
    question.cores_per_executor.truncate(8);
    let limit = number([limits[0], limits[1], limits[2], limits[3]]);
    match limits[4] % 3 {
        0 => {}
        1 => question.deadline_secs = Some(limit),
        _ => question.budget = Some(limit),
    }
    question.probability = f64::from(limits[4].max(1)) / 256.0;
    let Ok(decision) = decide(&predictor, &job, &question) else { return };
    for candidate in &decision.candidates {
        check(&candidate.prediction);
    }
    if limits[3] % 8 == 1 {
        check_faster(&predictor, &job, &question);
    }
    let Some(recommended) = decision.recommended.map(|place| &decision.candidates[place]) else {
        assert!(!decision.candidates.iter().any(|candidate| candidate.is_feasible));
        return;
    };
    assert!(recommended.is_feasible);
    if question.budget.is_none() {
        let feasible = decision.candidates.iter().filter(|candidate| candidate.is_feasible);
        let least = feasible.filter_map(|candidate| candidate.cost).fold(f64::INFINITY, f64::min);
        assert!(recommended.cost.is_none_or(|cost| cost <= SAME_COST * least), "{least} {recommended:?}");
    }
});

fn decide(predictor: &Predictor, job: &Job, question: &Question) -> Result<Decision, DecideError> {
    Plan::from_context(predictor.clone(), job, question)?.decide(&Limits::of(question))
}

/// Checks decisions that are computed faster: with the cache of another decision, and over many
/// configurations, of which few are predicted exactly.
fn check_faster(predictor: &Predictor, job: &Job, question: &Question) {
    let mut other = question.clone();
    (other.deadline_secs, other.budget) = (question.budget, question.deadline_secs);
    let plan = Plan::from_context(predictor.clone(), job, question).expect("the question had a plan");
    let _ = plan.decide(&Limits::of(question));
    assert_eq!(plan.decide(&Limits::of(&other)), decide(predictor, job, &other));
    let mut many = question.clone();
    many.cores_per_executor = (1..=CORES).collect();
    let mut best = |executors: Range<u32>| {
        many.executors = executors.collect();
        let decision = decide(predictor, job, &many).ok()?;
        decision.recommended.map(|place| decision.candidates[place].clone())
    };
    let (whole, halves) = (best(1..EXECUTORS + 1), [best(1..EXECUTORS / 2), best(EXECUTORS / 2..EXECUTORS + 1)]);
    assert_eq!(whole.is_some(), halves.iter().any(Option::is_some));
    let cost = |best: &Option<Candidate>| best.as_ref().and_then(|best| best.cost);
    let (cost, least) = (cost(&whole), halves.iter().filter_map(cost).fold(f64::INFINITY, f64::min));
    if question.budget.is_none() {
        let most = (SAME_COST * SAME_COST * least).max(f64::MIN_POSITIVE);
        assert!(cost.is_none_or(|cost| cost <= most), "{cost:?} {least}");
    }
}

fn check(prediction: &Prediction) {
    let Some(secs) = prediction.completion_time_secs else { return };
    assert!(secs.is_finite() && secs > 0.0, "{prediction:?}");
    if let Some(interval) = prediction.interval {
        assert!(0.0 <= interval.lower_secs && interval.lower_secs <= secs, "{prediction:?}");
        assert!(secs <= interval.upper_secs, "{prediction:?}");
    }
}

/// Returns the run of these bytes. Most bytes give small counts, as in real sweeps; a few give the
/// largest that the readers of samples accept.
fn run(bytes: &[u8]) -> Observation {
    let count = |byte: u8, most: u32| if byte < 250 { u32::from(byte % 16) } else { most >> (255 - byte) };
    Observation {
        executors: count(bytes[0], 10_000),
        cores_per_executor: count(bytes[1], 1_000),
        total_cores: (bytes[2] >= 224).then(|| u32::from(bytes[2] - 224)),
        memory_per_executor_mib: 2048,
        partition_size: u32::from(bytes[3]),
        sampling_rate: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 1e-6][usize::from(bytes[2] % 8)],
        completion_time_secs: secs([bytes[4], bytes[5], bytes[6], bytes[7]], bytes[8] % 16 == 4),
        startup_secs: (bytes[8] % 2 == 1).then(|| f64::from(bytes[8]) / 16.0),
        disturbed: bytes[8] % 16 == 2,
        // Extrapolated from progress, in some runs.
        log_error: if bytes[8] % 16 == 6 { f64::from(bytes[7]) / 64.0 } else { 0.0 },
    }
}

/// Returns a time within the limits of samples, or any number.
fn secs(bytes: [u8; 4], is_any: bool) -> f64 {
    if is_any {
        return number(bytes);
    }
    let bits = u32::from_le_bytes(bytes);
    let exponent = LEAST_EXPONENT + (bits >> 23) % EXPONENTS;
    f64::from(f32::from_bits(exponent << 23 | bits & 0x007f_ffff))
}

/// Returns a number, which may be negative, infinite or NaN.
fn number(bytes: [u8; 4]) -> f64 {
    f64::from(f32::from_le_bytes(bytes))
}
