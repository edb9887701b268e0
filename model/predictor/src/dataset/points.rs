//! Rows in the form that numerical methods use.

use serde::{Deserialize, Serialize};

use crate::dataset::{Features, Values};

/// Weight below which a row counts as an outlier.
pub(crate) const OUTLIER: f64 = 0.25;
/// Code of a name that no training row has.
pub(crate) const UNSEEN: u32 = u32::MAX;

/// Feature values, row by row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Points {
    /// n × D numbers, untransformed.
    pub(crate) numeric: Vec<Vec<f64>>,
    /// n × Q codes of names.
    pub(crate) category: Vec<Vec<u32>>,
}

/// Training rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Training {
    pub(crate) points: Points,
    /// Natural logarithm of each time in seconds, less a constant that the caller stores.
    pub(crate) logs: Vec<f64>,
    /// Weight of each row, by which the variance of its noise is divided.
    pub(crate) weights: Vec<f64>,
}

impl Points {
    /// Converts the rows of a table; names keep their codes in that table.
    pub(crate) fn of(features: &Features) -> Self {
        let mut points =
            Self { numeric: vec![Vec::new(); features.rows()], category: vec![Vec::new(); features.rows()] };
        for column in features.columns() {
            match &column.values {
                Values::Numeric { values, .. } => push(&mut points.numeric, values),
                Values::Category { codes, .. } => push(&mut points.category, codes),
            }
        }
        points
    }

    /// Returns the number of rows, n.
    pub(crate) fn rows(&self) -> usize {
        self.numeric.len()
    }

    /// Returns some of the rows, in the order of the indices.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        Self {
            numeric: rows.iter().map(|row| self.numeric[*row].clone()).collect(),
            category: rows.iter().map(|row| self.category[*row].clone()).collect(),
        }
    }
}

impl Training {
    /// Creates rows of equal weight.
    pub(crate) fn new(points: Points, logs: Vec<f64>) -> Self {
        let weights = vec![1.0; logs.len()];
        Self { points, logs, weights }
    }

    /// Returns the rows that are not outliers, or all if fewer than half would be left.
    pub(crate) fn reliable(&self) -> Self {
        let rows: Vec<usize> = (0..self.logs.len()).filter(|row| self.weights[*row] >= OUTLIER).collect();
        if rows.len() == self.logs.len() || 2 * rows.len() < self.logs.len() {
            self.clone()
        } else {
            self.select(&rows)
        }
    }

    /// Returns some of the rows, in the order of the indices.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        Self {
            points: self.points.select(rows),
            logs: rows.iter().map(|row| self.logs[*row]).collect(),
            weights: rows.iter().map(|row| self.weights[*row]).collect(),
        }
    }
}

fn push<T: Copy>(rows: &mut [Vec<T>], column: &[T]) {
    for (row, value) in rows.iter_mut().zip(column) {
        row.push(*value);
    }
}
