//! What a person asks of the predictor: a deadline, prices, the configurations to choose from, and one to look at.

use serde::{Deserialize, Serialize};

use crate::{Observation, PriceSheet};

/// A question about one job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The job must be done within so many seconds; `None` asks for the cheapest at any speed.
    pub deadline_secs: Option<f64>,
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
            executors: (1..=largest(|run| run.executors)).collect(),
            cores_per_executor: (1..=largest(|run| run.cores_per_executor)).collect(),
            memory_per_executor_mib: largest(|run| run.memory_per_executor_mib),
            prices: PriceSheet::example(),
            what_if: WhatIf { executors: 1, cores_per_executor: 1 },
        }
    }
}
