//! The plan of a job: the question, and what the page shows of the answer. A worker fits, plans and
//! decides; the page only draws.

pub mod candidate_list;
mod charts;
mod decided;
mod public;
mod rows;
mod session;
mod verdict;
pub mod view;
mod what_if;
pub mod why;

use foreglow_shared::{Context, Job, Question, WhatIf};
use serde::{Deserialize, Serialize};

pub use self::public::public_data;
pub use self::session::Session;
use self::view::{ChartView, PlanView, Row, WhatIfView};
use self::why::Reason;
use crate::data::machine_choice::{MachineChoice, Selection};
use crate::worker::wire::json;

/// A question about a job on all its machine types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanQuestion {
    /// The context of the selected job; `None` for a job without samples.
    #[serde(with = "json")]
    pub context: Option<Context>,
    /// Limits, executors, cores, memory and prices. Its what-if is not used.
    #[serde(with = "json")]
    pub question: Question,
    /// The machine types to compare, the user's prices, and the machine type of the what-if.
    pub choice: MachineChoice,
    /// Executors and cores of the what-if; `None` for the recommended configuration.
    pub chosen: Option<WhatIf>,
    /// The pinned configurations.
    pub pins: Vec<Selection>,
    /// The configuration whose figures are explained.
    pub explained: Option<Selection>,
}

impl PlanQuestion {
    /// The default question about a job.
    pub fn about(job: &Job) -> Self {
        Self {
            context: Some(job.context.clone()),
            question: Question::about_job(job),
            choice: MachineChoice::default(),
            chosen: None,
            pins: Vec::new(),
            explained: None,
        }
    }
}

/// The answer. Parts that the page already has are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanAnswer {
    /// The plan, or why it failed.
    pub plan: Option<Result<PlanView, String>>,
    /// The data of the charts.
    pub charts: Option<ChartView>,
    /// The configuration of the what-if.
    pub what_if: Option<WhatIfView>,
    /// Time, cost and machine type of each pin that can run, in the order of the question.
    pub pinned: Option<Vec<Option<Row>>>,
    /// The explanation.
    pub reasons: Option<Vec<Reason>>,
}
