//! Order of elimination in the normal equations of a posynomial with many names.
//!
//! No row has two names of one category, so that the coefficients of different names are only
//! coupled through those that all names share. If the names are eliminated first, the factor keeps
//! these zeros: an arrow matrix (Golub and Van Loan, "Matrix computations", 4th ed., §4.3), whose
//! factorisation is linear in the number of names, not cubic.

use foreglow_numeric::{Envelope, Matrix};

use crate::regression::posynomial::design::Row;

/// Number of blocks from which the order matters.
const LEAST_BLOCKS: usize = 8;

/// Columns of the design in blocks that no row has in common.
pub(crate) struct Elimination {
    width: usize,
    blocks: Vec<Vec<usize>>,
    /// Columns of several blocks.
    shared: Vec<usize>,
}

impl Elimination {
    /// Finds the blocks by the category with the most names, whose first column is `first` and
    /// which has this number of names; `None` if names are few.
    pub(crate) fn of(rows: &[Row], width: usize, (first, names): (usize, usize)) -> Option<Self> {
        if names < LEAST_BLOCKS {
            return None;
        }
        let is_name = |column: &&usize| (first..first + names).contains(*column);
        let mut of_columns: Vec<Option<usize>> = vec![None; width];
        let mut is_shared = vec![false; width];
        for row in rows {
            let Some(name) = row.columns.iter().find(is_name) else { continue };
            for column in &row.columns {
                is_shared[*column] |= *of_columns[*column].get_or_insert(*name) != *name;
            }
        }
        let mut blocks = vec![Vec::new(); names];
        let mut shared = Vec::new();
        for (column, name) in of_columns.into_iter().enumerate() {
            match name {
                Some(name) if !is_shared[column] => blocks[name - first].push(column),
                _ => shared.push(column),
            }
        }
        Some(Self { width, blocks, shared })
    }

    /// Solves a system whose lower triangle is given, with a damped diagonal; `None` if it is not
    /// positive definite.
    pub(crate) fn solve(&self, matrix: &Matrix, right: &[f64], damping: f64) -> Option<Vec<f64>> {
        let terms = right.len() / self.width;
        let (mut order, mut starts) = (Vec::with_capacity(right.len()), Vec::with_capacity(right.len()));
        let blocks = self.blocks.iter().map(|block| (block, true)).chain([(&self.shared, false)]);
        for (columns, is_block) in blocks {
            let start = if is_block { order.len() } else { 0 };
            order.extend((0..terms).flat_map(|term| columns.iter().map(move |column| term * self.width + column)));
            starts.resize(order.len(), start);
        }
        let row = |(i, own): (usize, &usize)| {
            let entry = |other: &usize| matrix[*own.max(other)][*own.min(other)];
            let mut entries: Vec<f64> = order[starts[i]..=i].iter().map(entry).collect();
            entries.last_mut().into_iter().for_each(|diagonal| *diagonal *= 1.0 + damping);
            (starts[i], entries)
        };
        let right: Vec<f64> = order.iter().map(|place| right[*place]).collect();
        let solved = Envelope::of(order.iter().enumerate().map(row).collect()).solve(&right)?;
        let mut found = vec![0.0; solved.len()];
        order.iter().zip(solved).for_each(|(place, value)| found[*place] = value);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use foreglow_numeric::Cholesky;

    use super::*;

    #[test]
    fn the_order_of_elimination_does_not_change_the_solution() {
        // Columns: an offset, a number, and nine names, of which each row has one.
        let names = 9;
        let rows: Vec<Row> = (0..500)
            .map(|row| Row { columns: vec![0, 1, 2 + row % names], values: vec![1.0, libm::sin(row as f64), 1.0] })
            .collect();
        let (width, terms) = (2 + names, 2);
        let mut matrix = Matrix::zeros(terms * width, terms * width);
        for (place, row) in rows.iter().enumerate() {
            let share = 0.3 + 0.4 * libm::cos(place as f64).abs();
            let entries = (0..terms).flat_map(|term| {
                let share = if term == 0 { share } else { 1.0 - share };
                row.columns.iter().zip(&row.values).map(move |(column, value)| (term * width + column, share * value))
            });
            let entries: Vec<(usize, f64)> = entries.collect();
            for (i, a) in &entries {
                entries.iter().filter(|(j, _)| j <= i).for_each(|(j, b)| matrix[*i][*j] += a * b);
            }
        }
        (0..terms * width).for_each(|i| matrix[i][i] += 1.0);
        let right: Vec<f64> = (0..terms * width).map(|i| libm::sin(3.0 * i as f64)).collect();
        let elimination = Elimination::of(&rows, width, (2, names)).unwrap();
        assert_eq!((elimination.blocks.len(), elimination.shared.as_slice()), (names, [0, 1].as_slice()));
        let found = elimination.solve(&matrix, &right, 0.1).unwrap();
        (0..terms * width).for_each(|i| matrix[i][i] *= 1.1);
        let expected = Cholesky::of(matrix).unwrap().solve(&right);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} {expected}");
        }
        assert!(Elimination::of(&rows, width, (2, names - 2)).is_none());
    }
}
