//! A configuration with its predicted time, its cost and the limits that it meets.

use foreglow_shared::{CoreSplit, CostUnit, JobDefinition};
use serde::{Deserialize, Serialize};

use super::{Decision, Exclusion, Placement};
use crate::{Accuracy, Prediction};

/// A configuration with its prediction and its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The configuration.
    #[serde(flatten)]
    pub placement: Placement,
    /// Prediction for the whole job (sampling rate 1).
    pub prediction: Prediction,
    /// Cost of the predicted time; `None` if the time or the price is unknown.
    pub cost: Option<f64>,
    /// Price of all machines or executors per hour; `None` if no price is known.
    pub hourly_cost: Option<f64>,
    /// The quantity that ranks the candidates, see [`Objective`](super::Objective); `None` if it is
    /// unknown.
    pub objective: Option<f64>,
    /// Probability of meeting both the deadline and the budget; `None` if neither is set, the time
    /// is unknown, there are too few samples to estimate it, or there is a budget and no price.
    pub success_probability: Option<f64>,
    /// Whether the deadline is met with the requested probability. Without a deadline, true if the
    /// time is known.
    pub meets_deadline: bool,
    /// Whether the budget is met with the requested probability. Without a budget, true if the time
    /// is known; with one, false without a price.
    pub within_budget: bool,
    /// Whether the accuracy is known to be at least the minimum. Without a minimum, true.
    pub keeps_accuracy: bool,
    /// Whether nothing excludes the configuration and it meets all limits, that of the price per
    /// hour included.
    pub is_feasible: bool,
    /// The measured accuracy of the trained CNN; `None` if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// Why the configuration must not be recommended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusion: Option<Exclusion>,
}

impl Candidate {
    /// Returns how the cores are divided among the executors.
    pub fn split(&self) -> CoreSplit {
        self.placement.split()
    }

    /// Whether the time and the objective are known and nothing excludes the configuration.
    pub fn is_possible(&self) -> bool {
        self.objective.is_some() && self.exclusion.is_none()
    }

    /// Returns the coordinates for the Pareto front: time, seconds, and objective; `None` if one is
    /// unknown.
    pub fn time_and_objective(&self) -> Option<(f64, f64)> {
        Some((self.prediction.completion_time_secs?, self.objective?))
    }

    /// Returns the unit that makes the cost of the job comparable; `None` without one.
    pub fn cost_unit(&self, job: &JobDefinition) -> Option<CostUnit> {
        CostUnit::of(job, self.prediction.completion_time_secs?, self.cost?, self.hourly_cost?)
    }
}

impl Decision {
    /// Returns the unit in which the costs of the job are compared, by the recommended
    /// configuration or else the cheapest.
    pub fn cost_unit(&self, job: &JobDefinition) -> Option<CostUnit> {
        self.candidates.get(self.recommended.or(self.cheapest)?)?.cost_unit(job)
    }
}
