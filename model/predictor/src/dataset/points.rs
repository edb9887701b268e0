//! Rows in the form that numerical methods use.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use foreglow_shared::{sort_by, sort_by_cached_key};

use crate::dataset::{Features, Values};
use crate::permutation::hash;

/// Weight below which a row counts as an outlier.
pub(crate) const OUTLIER: f64 = 0.25;
/// Number of rows up to which a smooth function is fitted to all rows. A process is conditioned on
/// them in cubic time, and more rows hardly change a function of a few numbers.
const ENOUGH_ROWS: usize = 500;
/// Rows that each context (combination of names) keeps where not all are fitted. If there are too
/// many contexts for that, all rows are fitted, because each tells of its own names.
const LEAST_OF_CONTEXT: usize = 16;
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

    /// Returns the rows that represent all in the fit of a smooth function, ascending: at most
    /// [`ENOUGH_ROWS`], spread evenly over the contexts and pseudo-randomly within each. `None` if
    /// all rows are fitted.
    pub(crate) fn representatives(&self) -> Option<Vec<usize>> {
        if self.rows() <= ENOUGH_ROWS {
            return None;
        }
        let mut ranked: Vec<usize> = (0..self.rows()).collect();
        sort_by_cached_key(&mut ranked, |row| (&self.category[*row], hash(*row), *row));
        let contexts: Vec<&[usize]> = ranked.chunk_by(|a, b| self.category[*a] == self.category[*b]).collect();
        let most = ENOUGH_ROWS / contexts.len();
        if most < LEAST_OF_CONTEXT {
            return None;
        }
        let mut kept: Vec<usize> = contexts.iter().flat_map(|rows| rows.iter().take(most)).copied().collect();
        sort_by(&mut kept, Ord::cmp);
        Some(kept)
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

    /// Returns the rows that represent all in the fit of a smooth function.
    pub(crate) fn representatives(&self) -> Cow<'_, Self> {
        self.points.representatives().map_or(Cow::Borrowed(self), |rows| Cow::Owned(self.select(&rows)))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns points with this number of rows of each context.
    fn points(rows: &[u32]) -> Points {
        let codes = rows.iter().zip(0..).flat_map(|(rows, code)| vec![vec![code]; *rows as usize]);
        let category: Vec<Vec<u32>> = codes.collect();
        Points { numeric: (0..category.len()).map(|row| vec![row as f64]).collect(), category }
    }

    #[test]
    fn many_rows_are_represented_by_as_many_of_each_context() {
        let points = points(&[900, 3, 100]);
        let kept = points.representatives().unwrap();
        let of = |code: u32| kept.iter().filter(|row| points.category[**row] == [code]).count();
        assert_eq!([of(0), of(1), of(2)], [166, 3, 100]);
        assert!(kept.is_sorted() && kept[..166].windows(2).all(|pair| pair[1] - pair[0] < 60), "{kept:?}");
        assert_eq!(tests::points(&[501]).representatives().unwrap().len(), ENOUGH_ROWS);
    }

    #[test]
    fn all_rows_are_fitted_if_they_are_few_or_of_many_contexts() {
        assert!(points(&[500]).representatives().is_none());
        assert!(points(&[20; 32]).representatives().is_none());
        assert!(points(&[20; 31]).representatives().is_some());
    }
}
