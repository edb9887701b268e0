//! Training targets of each fold.

use std::collections::BTreeMap;

use crate::{Fold, Table};

/// The distinct rows of a table and the targets of each fold. Equal features give equal outputs, so
/// rows with equal features are merged with their mean target; level-1 grids have two to four
/// distinct values in 24 rows.
pub(super) struct Targets {
    /// Features of each distinct row.
    pub(super) points: Vec<Vec<f64>>,
    /// Index of each row's distinct row.
    pub(super) place: Vec<usize>,
    /// Number of training rows by fold; the last entry is the fit on all rows.
    pub(super) rows: Vec<f64>,
    /// By fold: the share of training rows at each distinct row.
    pub(super) shares: Vec<Vec<f64>>,
    /// By fold: the mean target at each distinct row; 0 if it has no training row.
    pub(super) means: Vec<Vec<f64>>,
}

impl Targets {
    pub(super) fn of(table: &Table) -> Self {
        let bits = |features: &[f64]| features.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        let mut known = BTreeMap::new();
        let mut points = Vec::new();
        let place: Vec<usize> = table
            .features
            .iter()
            .map(|features| {
                *known.entry(bits(features)).or_insert_with(|| {
                    points.push(features.clone());
                    points.len() - 1
                })
            })
            .collect();
        let mut targets = Self { points, place, rows: Vec::new(), shares: Vec::new(), means: Vec::new() };
        for fold in Fold::all(table.rows()).map(Some).chain([None]) {
            targets.add(table, fold);
        }
        targets
    }

    fn add(&mut self, table: &Table, left_out: Option<Fold>) {
        let mut counts = vec![0.0; self.points.len()];
        let mut sums = vec![0.0; self.points.len()];
        for row in (0..table.rows()).filter(|row| !left_out.is_some_and(|fold| fold.has(*row))) {
            counts[self.place[row]] += 1.0;
            sums[self.place[row]] += table.target[row];
        }
        let rows: f64 = counts.iter().sum();
        self.means.push(sums.iter().zip(&counts).map(|(sum, count)| sum / f64::max(*count, 1.0)).collect());
        self.shares.push(counts.iter().map(|count| count / rows).collect());
        self.rows.push(rows);
    }
}
