//! The comparison of machine types in a worker: the question, and the table of the answer. The page
//! only shows the table.

mod accuracy;
mod front;
mod html;
mod pick;
mod pick_html;
mod row;
mod session;

use foreglow_model::{Limits, TrainedSetting};
use foreglow_shared::{Context, PriceSheet, WhatIf};
use serde::{Deserialize, Serialize};

pub use self::html::{ComparedHtml, MachineHtml};
pub use self::row::MachineRow;
pub use self::session::Session;
use crate::data::machine_choice::MachineChoice;

/// A question about a job on all measured machine types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineQuestion {
    /// The context of the selected job.
    pub context: Context,
    /// Deadline, budget and probability. The worker adds the start-up time.
    pub limits: Limits,
    /// Prices of machines that are in no catalog.
    pub sheet: PriceSheet,
    /// The devices and machine types to compare, and the user's prices.
    pub choice: MachineChoice,
    /// Executors and cores of the what-if.
    pub what_if: WhatIf,
}

/// The answer: the notable configurations, and the machine types.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineTable {
    /// Currency of all prices.
    pub currency: String,
    /// Number of configurations that were compared.
    pub weighed: usize,
    /// The notable configurations, ascending by time.
    pub rows: Vec<MachineRow>,
    /// Index of the recommended configuration.
    pub recommended: Option<usize>,
    /// Index of the fastest configuration, regardless of the limits.
    pub fastest: Option<usize>,
    /// Indices of the best configuration of each machine type, the cheapest first.
    pub best: Vec<usize>,
    /// Indices of the Pareto front of time and cost, by ascending time.
    pub pareto: Vec<usize>,
    /// The measured machine types.
    pub types: Vec<TypePrice>,
    /// Names of the machine types of the catalog that were not measured.
    pub unmeasured: Vec<String>,
    /// Measured batch sizes of all machine types, ascending.
    pub batch_sizes: Vec<u32>,
    /// Measured partition sizes of all machine types, ascending.
    pub partition_sizes: Vec<u32>,
    /// Number of measured averaging intervals of all machine types.
    pub averaging_intervals: usize,
    /// The training settings whose accuracy was measured, the most accurate first.
    pub trained: Vec<TrainedSetting>,
    /// Why the accuracy is unknown, if there is a minimum or it was measured on too few images.
    pub accuracy_unknown: Option<String>,
    /// Configurations that were not compared, with the reasons; one sentence each.
    pub omitted: Vec<String>,
}

impl MachineTable {
    /// Whether several machine types, batch or partition sizes or averaging intervals are compared.
    pub fn compares(&self) -> bool {
        let sizes = self.batch_sizes.len().max(self.partition_sizes.len());
        self.types.len() > 1 || sizes > 1 || self.averaging_intervals > 1
    }
}

/// A measured machine type and its price.
#[derive(Clone, Debug, PartialEq)]
pub struct TypePrice {
    /// Name of the machine type.
    pub machine: String,
    /// Whether its executors hold an accelerator.
    pub is_accelerated: bool,
    /// Price per hour of a whole machine; `None` if the catalog lacks it.
    pub hourly_price: Option<f64>,
}
