//! Training settings whose accuracy was measured, with their times.

use foreglow_model::{Accuracy, Comparison, MachineLimits, TrainedSetting};
use foreglow_shared::{format_duration, format_money};
use serde::Serialize;

use super::{MachineAnswer, MachineRow};
use crate::answer::accuracy::Inaccuracy;
use crate::table::{Align, table};

/// A training setting whose accuracy was measured, with its fastest configuration.
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
    /// The fastest configuration.
    #[serde(skip)]
    fastest: Option<String>,
}

impl TrainedRow {
    /// Returns the training settings of a comparison, the most accurate first.
    pub(super) fn all(comparison: &Comparison, limits: &MachineLimits) -> Vec<Self> {
        let row = |setting: TrainedSetting| Self {
            executors: setting.executors,
            batch_size: setting.batch_size,
            average_every: setting.average_every,
            accuracy: setting.accuracy,
            keeps_accuracy: setting.is_accurate,
            completion_time_secs: setting.secs,
            cost: setting.cost,
            fastest: setting.fastest.map(|placement| comparison.describe(placement)),
        };
        comparison.trained(limits).into_iter().map(row).collect()
    }
}

impl MachineAnswer {
    /// Returns the table of accuracies and times; empty if no accuracy was measured.
    pub(super) fn accuracies(&self) -> String {
        if self.trained.is_empty() {
            return String::new();
        }
        let columns = [
            ("executors", Align::Right),
            ("batch", Align::Right),
            ("averaged every", Align::Right),
            ("accuracy", Align::Left),
            ("seeds", Align::Right),
            ("shortest time", Align::Right),
            ("cost", Align::Right),
            ("", Align::Left),
        ];
        let cells = |row: &TrainedRow| {
            let is_recommended = |best: &MachineRow| {
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

    /// Returns why no configuration is accurate enough, or meets the other limits as well; `None`
    /// without a minimum accuracy.
    pub(super) fn inaccuracy(&self) -> Option<String> {
        let least = self.limits.min_accuracy?;
        let compared = || self.trained.iter().filter_map(|row| Some((row, row.fastest.clone()?)));
        let secs = |row: &TrainedRow| row.completion_time_secs.unwrap_or(f64::INFINITY);
        let accurate = compared().filter(|(row, _)| row.keeps_accuracy);
        let fastest = accurate.min_by(|(a, _), (b, _)| secs(a).total_cmp(&secs(b)));
        let inaccuracy = Inaccuracy {
            least,
            wish: self.wish(),
            fastest: fastest.map(|(row, fastest)| (fastest, format_duration(secs(row)))),
            measured: compared().map(|(row, fastest)| (fastest, row.accuracy.clone())).collect(),
            unknown: self.accuracy_unknown,
        };
        Some(inaccuracy.describe())
    }
}
