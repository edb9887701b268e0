//! States of the work of the page's workers.

use std::sync::Arc;

use crate::worker::machines::ComparedHtml;
use crate::worker::messages::{Fitted, Published, Scenario};

/// State of the fit.
#[derive(Clone, Debug)]
pub enum Fit {
    /// There are no runs to fit.
    None,
    /// The worker is fitting.
    Running,
    /// The fit is done.
    Ready(Arc<Fitted>),
    /// The fit failed, with the reason.
    Failed(String),
}

impl Fit {
    /// The fitted predictor.
    pub fn fitted(&self) -> Option<Arc<Fitted>> {
        match self {
            Self::Ready(fitted) => Some(Arc::clone(fitted)),
            _ => None,
        }
    }
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

/// State of the comparison of machine types.
#[derive(Clone, Debug, PartialEq)]
pub enum Machines {
    /// The job was measured with one machine type, batch size, averaging interval and partition
    /// size, and without its accuracy.
    None,
    /// Running.
    Running,
    /// The comparison is done.
    Ready(MachineView),
    /// The comparison failed, with the reason.
    Failed(String),
}

/// The comparison of machine types, and the what-if over them.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineView {
    /// The comparison.
    pub compared: Arc<ComparedHtml>,
    /// The what-if.
    pub picked: Arc<str>,
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
