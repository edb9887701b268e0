//! A single learner from all features to the completion time.

use foreglow_learner::{Cancelled, Grid, Model, Selection, Table, Work, select};
use serde::{Deserialize, Serialize};

use crate::published::row::{AveragedRun, longest_secs};

/// A feature with its transform (the paper, Table 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Column {
    InverseCores,
    InverseExecutors,
    SamplingRate,
    /// Executor memory, GiB.
    Memory,
    /// Partition size, images.
    PartitionSize,
}

/// A fitted learner on several features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Single {
    columns: Vec<Column>,
    model: Model,
    /// The longest training time. The target is divided by it, so that the unit of the times does
    /// not influence the selection.
    longest_secs: f64,
}

impl Column {
    fn of(self, row: &AveragedRun) -> f64 {
        match self {
            Self::InverseCores => 1.0 / row.setting.split().mean_cores(),
            Self::InverseExecutors => 1.0 / f64::from(row.setting.executors),
            Self::SamplingRate => row.setting.sampling_rate,
            Self::Memory => f64::from(row.memory_per_executor_mib) / 1024.0,
            Self::PartitionSize => f64::from(row.partition_size),
        }
    }
}

impl Single {
    /// Fits at least two rows.
    pub(crate) fn fit(
        columns: &[Column],
        rows: &[AveragedRun],
        grid: Grid,
        work: &mut Work<'_>,
    ) -> Result<(Self, Selection), Cancelled> {
        let longest_secs = longest_secs(rows);
        let table = Table {
            features: rows.iter().map(|row| features(columns, row)).collect(),
            target: rows.iter().map(|row| row.secs / longest_secs).collect(),
        };
        let (selection, model) = select(&table, grid, work)?;
        Ok((Self { columns: columns.to_vec(), model, longest_secs }, selection))
    }

    /// Returns the prediction for a row, seconds; it may be negative.
    pub(crate) fn secs(&self, row: &AveragedRun) -> f64 {
        self.model.at(&features(&self.columns, row)) * self.longest_secs
    }
}

fn features(columns: &[Column], row: &AveragedRun) -> Vec<f64> {
    columns.iter().map(|column| column.of(row)).collect()
}
