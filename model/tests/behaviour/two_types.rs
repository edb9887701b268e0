//! A job on two machine types whose times follow a law, for tests of plans.

use foreglow_model::{Candidate, Decision, JointPredictor, Limits, Plan, Space};
use foreglow_shared::{Catalog, Context, Job, JobDefinition, JobGroup, Observation};

use crate::grid;

pub const IMAGES: u64 = 100_000;
/// Limits that exclude nothing.
pub const LIMITS: Limits = Limits {
    deadline_secs: None,
    budget: None,
    max_hourly_cost: None,
    min_accuracy: None,
    probability: 0.9,
    spot: false,
    startup_secs: 0.0,
};

pub fn context(machine: &str, batch_size: u32) -> Context {
    let text = format!(
        r#"{{"workload":{{"model":"resnet18","mode":"inference","image_px":64,"images":{IMAGES},"epochs":1,
            "batch_size":{batch_size}}},"engine":"local","host":{{"cpu":"Some CPU","machine":"{machine}"}}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

pub fn run(executors: u32, cores_per_executor: u32, sampling_rate: f64, secs: f64) -> Observation {
    Observation { startup_secs: None, ..grid::run(executors, cores_per_executor, sampling_rate, secs) }
}

pub fn job(machine: &str, observations: Vec<Observation>) -> Job {
    Job::of_runs(context(machine, 8), observations)
}

pub fn group(jobs: Vec<Job>) -> JobGroup {
    JobGroup { definition: JobDefinition::of(&jobs[0].context), jobs, lenders: Vec::new() }
}

/// The law of a job on one machine type.
#[derive(Clone, Copy)]
pub struct Law {
    pub secs: f64,
    pub serial: f64,
    pub fixed_secs: f64,
}

impl Law {
    pub fn secs(self, executors: u32, cores: u32, rate: f64) -> f64 {
        let threads = f64::from(executors * cores);
        self.fixed_secs + self.secs * rate * (self.serial + (1.0 - self.serial) / threads)
    }

    pub fn grid(self, mut noise: impl FnMut() -> f64) -> Vec<Observation> {
        let mut runs = Vec::new();
        for (executors, cores) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
            runs.extend(
                [0.01, 0.1]
                    .map(|rate| run(executors, cores, rate, self.secs(executors, cores, rate) * libm::exp(noise()))),
            );
        }
        runs
    }
}

pub const SLOW: Law = Law { secs: 3000.0, serial: 0.02, fixed_secs: 1.0 };
pub const FAST: Law = Law { secs: 1200.0, serial: 0.02, fixed_secs: 0.4 };

pub fn two_types() -> JobGroup {
    group(vec![job("c5.xlarge", SLOW.grid(|| 0.0)), job("c7i.large", FAST.grid(|| 0.0))])
}

pub fn space() -> Space {
    Space { catalog: Some(Catalog::built_in()), ..Space::default() }
}

pub fn compare(group: &JobGroup, space: &Space) -> Plan {
    Plan::new(JointPredictor::fit(group).unwrap(), space.clone()).unwrap()
}

pub fn machine<'a>(plan: &'a Plan, candidate: &Candidate) -> &'a str {
    &plan.predictor().arms()[candidate.placement.arm].machine
}

pub fn secs(candidate: &Candidate) -> f64 {
    candidate.prediction.completion_time_secs.unwrap()
}

/// Returns the configurations that nothing excludes.
pub fn possible(decision: &Decision) -> impl Iterator<Item = &Candidate> {
    decision.candidates.iter().filter(|candidate| candidate.exclusion.is_none())
}
