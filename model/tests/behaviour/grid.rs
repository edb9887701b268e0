//! Test data: contexts and grids of runs.

use foreglow_model::{Advice, DecideError, Decision, JointPredictor, Limits, Plan, Predictor, Setting, Space, median};
use foreglow_shared::{
    Context, Engine, IncompleteOutcome, IncompleteRun, Job, JobDefinition, JobGroup, Observation, Question,
};

/// A job on a machine with this number of hardware threads, if known.
pub fn context(processors: Option<u32>) -> Context {
    let mut context: Context = serde_json::from_str(
        r#"{"workload":{"model":"resnet18","mode":"inference","image_px":32,"images":2000,"epochs":1,"batch_size":8},
            "engine":"local","host":{"cpu":"a processor"}}"#,
    )
    .unwrap();
    context.host.processors = processors;
    context
}

/// The measurements of a job on an unknown machine.
pub fn job(runs: &[Observation]) -> Job {
    Job::of_runs(context(None), runs.to_vec())
}

/// A job on a cluster, where the host's processors are not a limit.
pub fn cluster() -> Context {
    Context { engine: Engine::Spark, ..context(Some(2)) }
}

pub fn run(executors: u32, cores_per_executor: u32, sampling_rate: f64, completion_time_secs: f64) -> Observation {
    Observation {
        executors,
        cores_per_executor,
        total_cores: None,
        memory_per_executor_mib: 1024,
        partition_size: 8,
        sampling_rate,
        completion_time_secs,
        startup_secs: Some(1.5),
        disturbed: false,
        log_error: 0.0,
    }
}

/// A run of a small sample that did not complete.
pub fn incomplete(executors: u32, cores_per_executor: u32, outcome: IncompleteOutcome) -> IncompleteRun {
    IncompleteRun {
        executors,
        cores_per_executor,
        total_cores: None,
        memory_per_executor_mib: 1024,
        partition_size: 8,
        sampling_rate: 0.01,
        outcome,
        at_least_secs: None,
    }
}

/// Runs of every configuration at every sampling rate.
pub fn full(executors: &[u32], cores: &[u32], rates: &[f64], time: impl Fn(f64, f64, f64) -> f64) -> Vec<Observation> {
    let mut runs = Vec::new();
    for e in executors {
        for c in cores {
            for s in rates {
                runs.push(run(*e, *c, *s, time(f64::from(*e), f64::from(*c), *s)));
            }
        }
    }
    runs
}

/// A time with multiplicative effects, as the hierarchy assumes.
pub fn multiplicative(e: f64, c: f64, s: f64) -> f64 {
    (0.5 + 120.0 * s) * (0.1 + 0.9 / e) * (0.3 + 1.4 / c)
}

/// A time of whole jobs that is linear in 1/E and 1/C, as the baseline assumes.
pub fn additive(e: f64, c: f64, _: f64) -> f64 {
    4.0 + 30.0 / e + 50.0 / c
}

/// The whole job on a configuration.
pub fn whole(executors: u32, cores_per_executor: u32) -> Setting {
    Setting::even(executors, cores_per_executor, 1.0)
}

pub fn secs(predictor: &Predictor, setting: Setting) -> f64 {
    predictor.predict(setting).completion_time_secs.unwrap()
}

/// Adds deterministic noise of up to this share of the time.
pub fn jitter(runs: &[Observation], share: f64) -> Vec<Observation> {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut noisy = runs.to_vec();
    for run in &mut noisy {
        // Marsaglia's xorshift (J. Stat. Softw. 8(14), 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
        run.completion_time_secs *= 1.0 + share * (2.0 * uniform - 1.0);
    }
    noisy
}

/// Plans a single context with its predictor, and decides.
pub fn decide(predictor: &Predictor, job: &Job, question: &Question) -> Result<Decision, DecideError> {
    let joint = JointPredictor::from_predictor(predictor.clone(), job);
    Plan::new(joint, Space::from_question(question)?)?.decide(&Limits::of(question))
}

/// Advises on a question about a single context.
pub fn advise(job: &Job, question: &Question) -> Result<Advice, DecideError> {
    let definition = JobDefinition::of(&job.context);
    let group = JobGroup { definition, jobs: vec![job.clone()], lenders: Vec::new() };
    let plan = Plan::new(JointPredictor::fit(&group).unwrap(), Space::from_question(question)?)?;
    let startup_secs = median(job.observations.iter().filter_map(|run| run.startup_secs));
    foreglow_model::advise(&group, &plan, &Limits { startup_secs, ..Limits::of(question) }, &[])
}
