//! What a person asks of the predictor: a deadline, prices, the configurations to choose from, and one to look at.

use serde::{Deserialize, Serialize};

use crate::{Job, Observation, PriceSheet};

/// The probability with which a deadline or a budget is to be kept, where nobody says: the recommendation then holds nine
/// times in ten, as the interval that is shown beside it does. A higher one needs more samples before anything can be
/// promised, a lower one is missed more often than a person who names a deadline expects.
pub const DEFAULT_PROBABILITY: f64 = 0.9;

/// What a question asked for before it named a probability: that the predicted time itself is within the deadline.
fn median() -> f64 {
    0.5
}

/// A question about one job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The job must be done within so many seconds; `None` asks for the cheapest at any speed.
    pub deadline_secs: Option<f64>,
    /// The job may cost so much, in the currency of the prices; `None` asks for the cheapest whatever it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Probability with which the deadline and the budget are to be kept, above 0 and below 1. At 1/2 and below the
    /// predicted time itself decides.
    #[serde(default = "median")]
    pub probability: f64,
    /// Numbers of executors to choose from, ascending.
    pub executors: Vec<u32>,
    /// Numbers of cores per executor to choose from, ascending.
    pub cores_per_executor: Vec<u32>,
    /// Memory that each executor gets, MiB.
    pub memory_per_executor_mib: u32,
    /// What an hour costs.
    pub prices: PriceSheet,
    /// The configuration that the person looks at.
    pub what_if: WhatIf,
}

/// A configuration that a person moves by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhatIf {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C.
    pub cores_per_executor: u32,
}

impl Question {
    /// The question to start from: every configuration up to the largest that was measured, the largest memory that
    /// was measured, no deadline, the example prices, and the smallest configuration to look at.
    pub fn about(observations: &[Observation]) -> Self {
        let largest = |count: fn(&Observation) -> u32| observations.iter().map(count).max().unwrap_or(1);
        Self {
            deadline_secs: None,
            budget: None,
            probability: DEFAULT_PROBABILITY,
            executors: (1..=largest(|run| run.executors)).collect(),
            cores_per_executor: (1..=largest(|run| run.cores_per_executor)).collect(),
            memory_per_executor_mib: largest(|run| run.memory_per_executor_mib),
            prices: PriceSheet::example(),
            what_if: WhatIf { executors: 1, cores_per_executor: 1 },
        }
    }

    /// As [`Question::about`] the job's runs, with the published prices of its hardware where there are some.
    pub fn about_job(job: &Job) -> Self {
        let prices = PriceSheet::usual_for(job.context.accelerator.as_deref());
        Self { prices, ..Self::about(&job.observations) }
    }

    /// Whether the fastest configuration is asked for, and not the cheapest: there is a budget and no deadline.
    pub fn wants_speed(&self) -> bool {
        self.budget.is_some() && self.deadline_secs.is_none()
    }
}
