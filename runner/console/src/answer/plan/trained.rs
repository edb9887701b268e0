//! Training settings whose accuracy was measured, with their times.

use foreglow_model::{Accuracy, Limits, Plan, TrainedSetting};
use foreglow_shared::{format_duration, format_money};
use serde::Serialize;

use super::{PlanAnswer, Row};
use crate::table::{aligned, table};

/// A training setting whose accuracy was measured, with the time of its fastest configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct TrainedRow {
    executors: u32,
    batch_size: u32,
    average_every: Option<u32>,
    pub(super) accuracy: Accuracy,
    /// Whether the accuracy is at least the minimum.
    keeps_accuracy: bool,
    /// Time of the fastest configuration with this setting; `None` without such a configuration.
    completion_time_secs: Option<f64>,
    cost: Option<f64>,
}

impl TrainedRow {
    /// Returns the training settings of a plan, the most accurate first.
    pub(super) fn all(plan: &Plan, limits: &Limits) -> Vec<Self> {
        let row = |setting: TrainedSetting| Self {
            executors: setting.executors,
            batch_size: setting.batch_size,
            average_every: setting.average_every,
            accuracy: setting.accuracy,
            keeps_accuracy: setting.is_accurate,
            completion_time_secs: setting.secs,
            cost: setting.cost,
        };
        plan.trained(limits).into_iter().map(row).collect()
    }
}

impl PlanAnswer {
    /// Returns the table of accuracies and times; empty if no accuracy was measured.
    pub(super) fn accuracies(&self) -> String {
        // With one arm, the accuracy is a column of the table.
        if self.trained.is_empty() || !self.compares_arms() {
            return String::new();
        }
        let columns =
            aligned(["executors", "batch", "averaged every", "<accuracy", "seeds", "shortest time", "cost", "<"]);
        let cells = |row: &TrainedRow| {
            let is_recommended = |best: &Row| {
                (best.executors, best.batch_size, best.average_every)
                    == (row.executors, row.batch_size, row.average_every)
            };
            let mark = match (row.keeps_accuracy, &self.recommended) {
                (false, _) => "too inaccurate",
                (true, Some(best)) if is_recommended(best) => "recommended",
                (true, _) => "",
            };
            vec![
                row.executors.to_string(),
                row.batch_size.to_string(),
                row.average_every.map_or_else(|| "unknown".into(), |every| every.to_string()),
                row.accuracy.to_string(),
                row.accuracy.runs.to_string(),
                row.completion_time_secs.map_or_else(|| "unknown".into(), format_duration),
                row.cost.map_or_else(|| "unknown".into(), |cost| format_money(cost, &self.currency)),
                mark.to_owned(),
            ]
        };
        let rows = table(&columns, self.trained.iter().map(cells));
        format!("\nAccuracy by executors, mini-batch and mini-batches between two averages:\n{rows}")
    }
}
