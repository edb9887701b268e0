//! States of the work of the page's workers.

use std::sync::Arc;

use crate::worker::messages::{Published, Scenario};

/// State of the fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Fit {
    /// There are no runs to fit.
    None,
    /// The worker is fitting.
    Running,
    /// The fit is done.
    Ready,
    /// The fit failed, with the reason.
    Failed(String),
}

/// State of the evaluation of the published scenarios.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluated {
    /// Not requested by a view yet.
    None,
    /// Running.
    Running,
    /// The evaluation is done.
    Ready(Arc<Published>),
    /// The evaluation failed, with the reason.
    Failed(String),
}

/// State of the comparison of all learners.
#[derive(Clone, Debug)]
pub enum Compared {
    /// Not requested.
    None,
    /// Running: steps done, steps in total.
    Running(u64, u64),
    /// The evaluation of every scenario.
    Ready(Vec<Scenario>),
    /// The comparison failed, with the reason.
    Failed(String),
}
