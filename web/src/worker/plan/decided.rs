//! A decision with its question.

use foreglow_model::{Decision, Limits, Space};

use super::view::PlanView;

/// A decision, and what the page shows of it.
pub struct Decided {
    /// Limits and start-up time.
    pub limits: Limits,
    /// Configurations and prices to choose from.
    pub space: Space,
    /// The decision.
    pub decision: Decision,
    /// What the page shows of it.
    pub view: PlanView,
}
