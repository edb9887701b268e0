//! The question a user asks the predictor: deadline, budget, prices and the configurations to
//! choose from.

use serde::{Deserialize, Serialize};

use crate::{CoreSplit, Job, MOST_CORES, MOST_EXECUTORS, Observation, PriceSheet, SlotTimes, distinct};

/// Default probability with which a deadline or budget must be met.
///
/// 0.9 matches the coverage of the interval that is shown. A higher probability needs more samples
/// before any configuration qualifies; a lower one misses deadlines more often than users expect.
pub const DEFAULT_PROBABILITY: f64 = 0.9;

/// Probability for links that lack the field, at which the predicted (median) time must meet the
/// deadline.
fn median() -> f64 {
    0.5
}

/// A question about one job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Deadline, seconds; `None` asks for the cheapest configuration at any speed.
    pub deadline_secs: Option<f64>,
    /// Largest cost, in the currency of the prices; `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Least accuracy of the trained CNN, in (0, 1]; `None` accepts any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_accuracy: Option<f64>,
    /// Probability with which the deadline and the budget must be met, in (0, 1). At 1/2 and below,
    /// the predicted time itself is compared.
    #[serde(default = "median")]
    pub probability: f64,
    /// Candidate numbers of executors, ascending.
    pub executors: Vec<u32>,
    /// Candidate numbers of cores per executor, ascending.
    pub cores_per_executor: Vec<u32>,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// Prices per hour.
    pub prices: PriceSheet,
    /// The configuration under the user's slider.
    pub what_if: WhatIf,
}

/// A configuration that the user explores by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhatIf {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C.
    pub cores_per_executor: u32,
}

impl WhatIf {
    /// Returns executors and cores.
    pub fn split(self) -> CoreSplit {
        CoreSplit::even(self.executors, self.cores_per_executor)
    }
}

impl Question {
    /// Returns the default question about measured runs: every configuration up to the largest
    /// measured one, the largest measured memory, no deadline, the example prices, and the smallest
    /// configuration as the what-if. Counts beyond the limits of the readers, with which no
    /// predictor can be fitted, are cut.
    pub fn about(observations: &[Observation]) -> Self {
        let largest = |count: fn(&Observation) -> u32| observations.iter().map(count).max().unwrap_or(1);
        Self {
            deadline_secs: None,
            budget: None,
            min_accuracy: None,
            probability: DEFAULT_PROBABILITY,
            executors: (1..=largest(|run| run.executors).min(MOST_EXECUTORS)).collect(),
            cores_per_executor: (1..=largest(|run| run.cores_per_executor).min(MOST_CORES)).collect(),
            memory_per_executor_mib: largest(|run| run.memory_per_executor_mib),
            prices: PriceSheet::example(),
            what_if: WhatIf { executors: 1, cores_per_executor: 1 },
        }
    }

    /// Like [`Question::about`] the job's runs, with the published prices of its hardware if there
    /// are any. Event logs give the times of more executors than they had.
    pub fn about_job(job: &Job) -> Self {
        let prices = PriceSheet::usual_for(job.context.accelerator.as_deref());
        let mut question = Self { prices, ..Self::about(&job.observations) };
        if job.is_logged() {
            let largest = question.executors.last().copied().unwrap_or(1);
            let cores = distinct(job.observations.iter().map(|run| run.cores_per_executor));
            question.executors = SlotTimes::compared_executors(largest).collect();
            question.what_if = WhatIf { executors: largest, cores_per_executor: cores.last().copied().unwrap_or(1) };
            question.cores_per_executor = cores;
        }
        question
    }

    /// Whether the question asks for the fastest configuration: it has a budget and no deadline.
    pub fn wants_speed(&self) -> bool {
        self.budget.is_some() && self.deadline_secs.is_none()
    }
}
