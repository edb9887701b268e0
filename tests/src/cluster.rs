//! A simulated job on a cluster.

use foreglow_model::{DecideError, Decision, Limits, Plan, Predictor};
use foreglow_shared::{Job, LeftOut, Observation, Question, View, WhatIf};

/// Runs of a CNN job on 1 to 8 executors of 1 to 4 cores, on 1 % and 10 % of its images, and two on
/// all of them.
///
/// # Panics
/// Never: the text is a valid context.
pub fn cluster_job() -> Job {
    let context = serde_json::from_str(
        r#"{"workload":{"model":"resnet50","mode":"inference","image_px":224,"images":200000,"epochs":1,"batch_size":32},
            "engine":"spark","host":{"cpu":"Some CPU"}}"#,
    )
    .expect("the text is a context");
    let run = |(executors, cores_per_executor, sampling_rate): (u32, u32, f64)| {
        let (e, c) = (f64::from(executors), f64::from(cores_per_executor));
        // Deterministic noise of up to 2 %.
        let noise = 1.0 + 0.02 * ((e * 7.3 + c * 3.1 + sampling_rate * 91.0).sin());
        Observation {
            executors,
            cores_per_executor,
            total_cores: None,
            memory_per_executor_mib: 4096,
            partition_size: 40,
            sampling_rate,
            completion_time_secs: (2.0 + 0.4 * e + 5400.0 * sampling_rate * (0.03 + 0.97 / (e * c))) * noise,
            startup_secs: Some(8.2),
            disturbed: false,
            log_error: 0.0,
        }
    };
    let pairs = [1, 2, 4, 8].into_iter().flat_map(|e| [1, 2, 4].map(|c| (e, c)));
    let shares = pairs.flat_map(|(e, c)| [0.01, 0.1].map(|rate| (e, c, rate)));
    let whole = [(8, 4, 1.0), (4, 4, 1.0)];
    Job::of_runs(context, shares.chain(whole).map(run).collect())
}

/// A view of that job with all configurations up to the given counts, a deadline of ten minutes and
/// a what-if.
pub fn cluster_view(executors: u32, cores: u32) -> View {
    let job = cluster_job();
    let question = Question {
        deadline_secs: Some(600.0),
        executors: (1..=executors).collect(),
        cores_per_executor: (1..=cores).collect(),
        what_if: WhatIf { executors: 4, cores_per_executor: 2 },
        ..Question::about(&job.observations)
    };
    View { job, question, pins: Vec::new(), left_out: LeftOut::default(), compared: Vec::new() }
}

/// The predictor and the decision that the command line computes for a view.
///
/// # Errors
/// There is no predictor, or no decision.
pub fn answer(view: &View) -> anyhow::Result<(Predictor, Decision)> {
    let predictor = Predictor::fit_job(&view.job)?;
    let decision = decide(predictor.clone(), &view.job, &view.question)?;
    Ok((predictor, decision))
}

/// Plans a single context with its predictor, and decides.
///
/// # Errors
/// The question has no answer.
pub fn decide(predictor: Predictor, job: &Job, question: &Question) -> Result<Decision, DecideError> {
    Plan::from_context(predictor, job, question)?.decide(&Limits::of(question))
}
