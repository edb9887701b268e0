//! Sums of the normal equations, with the effect of each pair of software and network integrated
//! out.

use std::collections::BTreeMap;

use foreglow_numeric::{Cholesky, Matrix};

use crate::effects::{Key, Row};
use crate::variances::Variances;

/// A row with the indices of its columns.
pub(crate) struct Indexed {
    pub(crate) columns: Vec<(usize, f64)>,
    /// Residual of the roofline.
    pub(crate) residual: f64,
    pub(crate) noise: usize,
    pub(crate) pair: (u32, u32),
}

/// Sums of the rows of one pair of software and network.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairSums {
    /// Σ w, Σ w y and Σ w x.
    pub(crate) weight: f64,
    pub(crate) residual: f64,
    pub(crate) columns: BTreeMap<usize, f64>,
}

impl PairSums {
    /// Returns the share of the pair's mean residual that is its effect, divided by Σ w.
    pub(crate) fn shrinkage(&self, variance: f64) -> f64 {
        variance / (1.0 + variance * self.weight)
    }
}

/// The coefficients of a design.
pub(crate) struct Coefficients(pub(crate) BTreeMap<Key, usize>);

impl Coefficients {
    pub(crate) fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let mut keys: BTreeMap<Key, usize> = BTreeMap::new();
        for (key, _) in rows.flat_map(|row| &row.columns) {
            keys.entry(*key).or_default();
        }
        keys.values_mut().enumerate().for_each(|(index, place)| *place = index);
        Self(keys)
    }

    pub(crate) fn index(&self, row: &Row, log_speed: f64) -> Indexed {
        Indexed {
            columns: row.columns.iter().filter_map(|(key, value)| Some((*self.0.get(key)?, *value))).collect(),
            residual: log_speed - row.roofline,
            noise: row.noise as usize,
            pair: row.pair,
        }
    }
}

/// The solved normal equations.
pub(crate) struct Solved {
    pub(crate) mean: Vec<f64>,
    pub(crate) factor: Cholesky,
    pub(crate) pairs: BTreeMap<(u32, u32), PairSums>,
}

impl Solved {
    /// Solves the normal equations; `None` if a variance is not above 0.
    pub(crate) fn of(coefficients: &Coefficients, rows: &[Indexed], variances: &Variances) -> Option<Self> {
        let size = coefficients.0.len();
        let mut matrix = Matrix::zeros(size, size);
        let mut right = vec![0.0; size];
        for (key, index) in &coefficients.0 {
            matrix[*index][*index] = 1.0 / variances.of(key.0);
        }
        let mut pairs: BTreeMap<(u32, u32), PairSums> = BTreeMap::new();
        for row in rows {
            let weight = 1.0 / variances.noise[row.noise];
            let pair = pairs.entry(row.pair).or_default();
            pair.weight += weight;
            pair.residual += weight * row.residual;
            for (i, x) in &row.columns {
                *pair.columns.entry(*i).or_default() += weight * x;
                right[*i] += weight * x * row.residual;
                let line = &mut matrix[*i];
                for (j, other) in &row.columns {
                    line[*j] += weight * x * other;
                }
            }
        }
        for pair in pairs.values() {
            let shrinkage = pair.shrinkage(variances.pair);
            for (i, x) in &pair.columns {
                right[*i] -= shrinkage * x * pair.residual;
                let line = &mut matrix[*i];
                for (j, other) in &pair.columns {
                    line[*j] -= shrinkage * x * other;
                }
            }
        }
        let factor = Cholesky::of(matrix)?;
        Some(Self { mean: factor.solve(&right), factor, pairs })
    }
}
