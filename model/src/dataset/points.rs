//! Rows as the numerical methods see them.

use serde::{Deserialize, Serialize};

use crate::dataset::{Features, Values};

/// A row of a smaller weight is an outlier.
pub(crate) const OUTLIER: f64 = 0.25;
/// The code of a name that no training row has.
pub(crate) const UNSEEN: u32 = u32::MAX;

/// Feature values, row by row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Points {
    /// n × D numbers, untransformed.
    pub(crate) numeric: Vec<Vec<f64>>,
    /// n × Q codes of names.
    pub(crate) category: Vec<Vec<u32>>,
}

/// Rows to learn from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Training {
    pub(crate) points: Points,
    /// Natural logarithm of each time in seconds, less a constant that the caller keeps.
    pub(crate) logs: Vec<f64>,
    /// Weight of each row: the variance of its noise is that of an ordinary row divided by it.
    pub(crate) weights: Vec<f64>,
}

impl Points {
    /// The rows of a table, names by their codes in that table.
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

    /// n.
    pub(crate) fn rows(&self) -> usize {
        self.numeric.len()
    }

    /// Some of the rows, in the order of the indices.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        Self {
            numeric: rows.iter().map(|row| self.numeric[*row].clone()).collect(),
            category: rows.iter().map(|row| self.category[*row].clone()).collect(),
        }
    }
}

impl Training {
    /// Rows of equal weight.
    pub(crate) fn new(points: Points, logs: Vec<f64>) -> Self {
        let weights = vec![1.0; logs.len()];
        Self { points, logs, weights }
    }

    /// The rows that are no outliers, or all where fewer than half are left.
    pub(crate) fn reliable(&self) -> Self {
        let rows: Vec<usize> = (0..self.logs.len()).filter(|row| self.weights[*row] >= OUTLIER).collect();
        if rows.len() == self.logs.len() || 2 * rows.len() < self.logs.len() {
            self.clone()
        } else {
            self.select(&rows)
        }
    }

    /// Some of the rows, in the order of the indices.
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
