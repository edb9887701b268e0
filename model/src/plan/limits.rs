//! Limits that a configuration has to meet.

use foreglow_shared::{Question, Rate};
use serde::{Deserialize, Serialize};

use crate::DecideError;
use crate::accuracy::check_accuracy;
use crate::chance::keeps;

/// Limits that a configuration has to meet, and the prices that apply.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Deadline, seconds.
    pub deadline_secs: Option<f64>,
    /// Largest cost of the job.
    pub budget: Option<f64>,
    /// Largest price of all machines per hour.
    pub max_hourly_cost: Option<f64>,
    /// Least accuracy of the trained CNN, in (0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_accuracy: Option<f64>,
    /// Probability with which the deadline and the budget must be met, in (0, 1).
    pub probability: f64,
    /// Whether machines are rented at spot prices.
    pub spot: bool,
    /// Time that the machines are billed for before the completion time starts, seconds.
    pub startup_secs: f64,
}

impl Limits {
    /// Returns the limits of a question.
    pub fn of(question: &Question) -> Self {
        Self {
            deadline_secs: question.deadline_secs,
            budget: question.budget,
            max_hourly_cost: None,
            min_accuracy: question.min_accuracy,
            probability: question.probability,
            spot: false,
            startup_secs: 0.0,
        }
    }

    pub(crate) fn check(&self) -> Result<(), DecideError> {
        let is_none = |limit: &f64| !(limit.is_finite() && *limit > 0.0);
        if let Some(deadline) = self.deadline_secs.filter(is_none) {
            return Err(DecideError::Deadline(deadline));
        }
        if let Some(budget) = self.budget.filter(is_none) {
            return Err(DecideError::Budget(budget));
        }
        if let Some(cost) = self.max_hourly_cost.filter(is_none) {
            return Err(DecideError::HourlyCost(cost));
        }
        check_accuracy(self.min_accuracy)?;
        if !(self.probability > 0.0 && self.probability < 1.0) {
            return Err(DecideError::Probability(self.probability));
        }
        Ok(())
    }

    /// Whether a limit needs a price.
    pub(crate) fn is_about_money(&self) -> bool {
        self.budget.is_some() || self.max_hourly_cost.is_some()
    }

    pub(crate) fn wants_speed(&self) -> bool {
        self.budget.is_some() && self.deadline_secs.is_none()
    }
}

/// Returns whether a configuration is done by the deadline; `late` is the time that it exceeds too
/// rarely to matter.
pub(crate) fn is_in_time(late: f64, limits: &Limits) -> bool {
    limits.deadline_secs.is_none_or(|deadline| keeps(late, deadline))
}

/// Returns whether a configuration keeps the budget; `late` as in [`is_in_time`]. Without a price
/// none does.
pub(crate) fn keeps_budget(rate: Option<Rate>, late: f64, limits: &Limits) -> bool {
    let cost = |rate: Rate| if late.is_finite() { rate.cost(late) } else { f64::INFINITY };
    limits.budget.is_none_or(|budget| rate.is_some_and(|rate| keeps(cost(rate), budget)))
}

/// Returns whether a configuration keeps the limit on the price per hour. Without a price none
/// does.
pub(crate) fn keeps_hourly_cost(rate: Option<Rate>, limits: &Limits) -> bool {
    limits.max_hourly_cost.is_none_or(|most| rate.is_some_and(|rate| keeps(rate.hourly(), most)))
}
