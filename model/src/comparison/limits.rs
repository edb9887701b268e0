//! Limits that a configuration has to meet.

use foreglow_shared::Question;
use serde::{Deserialize, Serialize};

use super::billing::Rate;
use crate::DecideError;
use crate::accuracy::check_accuracy;

/// Limits that a configuration has to meet, and the prices that apply.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineLimits {
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

impl MachineLimits {
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

    pub(crate) fn wants_speed(&self) -> bool {
        self.budget.is_some() && self.deadline_secs.is_none()
    }
}

/// Whether a configuration meets the deadline; `late` is the time that it exceeds with at most the
/// allowed probability.
pub(super) fn is_in_time(late: f64, limits: &MachineLimits) -> bool {
    limits.deadline_secs.is_none_or(|deadline| late <= deadline * (1.0 + 1e-9))
}

/// Whether the machines cost at most this per hour.
pub(crate) fn keeps_hourly_cost(rate: Rate, most: f64) -> bool {
    rate.hourly() <= most * (1.0 + 1e-9)
}

/// Whether a configuration meets all limits but the deadline; `late` as in [`is_in_time`].
pub(super) fn keeps_money(rate: Option<Rate>, secs: f64, late: f64, limits: &MachineLimits) -> bool {
    let Some(rate) = rate else {
        // Without a price, a configuration may be the fastest, but never the cheapest.
        return false;
    };
    let late_cost = if late.is_finite() { rate.cost(late) } else { f64::INFINITY };
    secs.is_finite()
        && limits.budget.is_none_or(|budget| late_cost <= budget * (1.0 + 1e-9))
        && limits.max_hourly_cost.is_none_or(|most| keeps_hourly_cost(rate, most))
}
