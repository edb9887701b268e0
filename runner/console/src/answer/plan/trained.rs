//! Training settings whose accuracy was measured, with their times.

use foreglow_model::{TrainedSetting, format_time};

use super::{PlanAnswer, Row};
use crate::table::{aligned, table};

impl PlanAnswer {
    /// Returns the table of accuracies and times; empty if no accuracy was measured.
    pub(super) fn accuracies(&self) -> String {
        // With one arm, the accuracy is a column of the table.
        if self.trained.is_empty() || !self.compares_arms() {
            return String::new();
        }
        let cost = self.cost_title();
        let columns =
            aligned(["executors", "batch", "averaged every", "<accuracy", "seeds", "shortest time", &cost, "<"]);
        let cells = |row: &TrainedSetting| {
            let is_recommended = |best: &Row| {
                (best.split.executors, best.batch_size, best.average_every)
                    == (row.executors, row.batch_size, row.average_every)
            };
            let mark = match (row.is_accurate, &self.recommended) {
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
                format_time(row.secs, row.interval.as_ref()),
                self.compared_money(row.cost, row.secs, row.interval.as_ref()),
                mark.to_owned(),
            ]
        };
        let rows = table(&columns, self.trained.iter().map(cells));
        format!("\nAccuracy by executors, mini-batch and mini-batches between two averages:\n{rows}")
    }
}
