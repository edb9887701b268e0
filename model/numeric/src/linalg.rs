//! Dense symmetric systems, positive definite or semi-definite.

use std::ops::{Index, IndexMut, Range};

use crate::products::{add_scaled, dot, dots};

/// Number of rows that share the loads of one dot product.
const BLOCK: usize = 4;
/// Number of rows that are factorised together: each earlier row is then read from memory once for
/// all of them.
const TILE: usize = 16;

/// A matrix in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// Creates a matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { columns, values: vec![0.0; rows * columns] }
    }

    /// Copies a matrix that is given by its rows, all of one length.
    pub fn of(rows: &[Vec<f64>]) -> Self {
        Self { columns: rows.first().map_or(0, Vec::len), values: rows.concat() }
    }

    /// Returns the number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }
}

impl Index<usize> for Matrix {
    type Output = [f64];

    #[inline]
    fn index(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}

impl IndexMut<usize> for Matrix {
    #[inline]
    fn index_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.columns..(row + 1) * self.columns]
    }
}

/// Relative size of a pivot below which its column counts as linearly dependent on earlier ones.
const DEPENDENT: f64 = 1e-13;

/// Lower triangle L of A = LLᵀ (Golub and Van Loan, "Matrix Computations", 4th ed., §4.2.5).
///
/// The pivot of a dropped column is infinite, because a division by it then gives 0.
pub struct Cholesky(Matrix);

impl Cholesky {
    /// Factorises a square matrix, whose lower triangle is read; `None` if it is not positive
    /// definite.
    pub fn of(matrix: Matrix) -> Option<Self> {
        factorise(matrix, |pivot, _| (pivot > 0.0 && pivot.is_finite()).then(|| pivot.sqrt()))
    }

    /// Factorises a positive semi-definite matrix, whose lower triangle is read. Columns that
    /// depend on earlier ones are dropped: their unknowns are 0.
    pub fn of_semidefinite(matrix: &[Vec<f64>]) -> Self {
        let root =
            |pivot: f64, diagonal| Some(if pivot <= DEPENDENT * diagonal { f64::INFINITY } else { pivot.sqrt() });
        factorise(Matrix::of(matrix), root).expect("every pivot has a root or is dropped")
    }

    /// Whether no column was dropped.
    pub fn is_regular(&self) -> bool {
        self.pivots().all(|pivot| pivot != f64::INFINITY)
    }

    fn pivots(&self) -> impl Iterator<Item = f64> {
        (0..self.0.columns).map(|i| self.0[i][i])
    }

    /// Returns ln |A|, without the columns that were dropped.
    pub fn log_determinant(&self) -> f64 {
        self.pivots().filter(|pivot| *pivot != f64::INFINITY).map(|pivot| 2.0 * libm::log(pivot)).sum()
    }

    /// Returns L⁻¹b.
    pub fn forward(&self, rhs: &[f64]) -> Vec<f64> {
        let lower = &self.0;
        let mut solved = rhs.to_vec();
        for i in 0..solved.len() {
            solved[i] = (solved[i] - dot(&lower[i][..i], &solved[..i])) / lower[i][i];
        }
        solved
    }

    /// Returns A⁻¹b.
    pub fn solve(&self, rhs: &[f64]) -> Vec<f64> {
        let lower = &self.0;
        let mut solved = self.forward(rhs);
        for i in (0..solved.len()).rev() {
            let (before, rest) = solved.split_at_mut(i);
            rest[0] /= lower[i][i];
            add_scaled(before, -rest[0], &lower[i][..i]);
        }
        solved
    }

    /// Returns A⁻¹ = L⁻ᵀL⁻¹, both triangles, of a positive definite matrix.
    pub fn inverse(&self) -> Matrix {
        let size = self.0.columns;
        let columns = self.columns_of_inverse();
        let mut inverse = Matrix::zeros(size, size);
        for i in 0..size {
            for j in (0..=i).step_by(BLOCK) {
                let sums = dots(&columns[i][i..], rows(&columns.values[j * size..], size, i..size));
                for (j, sum) in (j..=i).zip(sums) {
                    inverse[i][j] = sum;
                    inverse[j][i] = sum;
                }
            }
        }
        inverse
    }

    /// Returns L⁻ᵀ: row j holds column j of L⁻¹, so that every sum runs along two rows.
    fn columns_of_inverse(&self) -> Matrix {
        let (lower, size) = (&self.0, self.0.columns);
        let mut columns = Matrix::zeros(size, size);
        for first in (0..size).step_by(BLOCK) {
            let block = &mut columns.values[first * size..(first + BLOCK).min(size) * size];
            for i in first..size {
                let sums = dots(&lower[i][first..i], rows(block, size, first..i));
                for (r, (column, sum)) in block.chunks_exact_mut(size).zip(sums).enumerate() {
                    column[i] = (f64::from(u8::from(first + r == i)) - sum) / lower[i][i];
                }
            }
        }
        columns
    }
}

/// A sparse symmetric positive definite matrix, stored by rows of the lower triangle, each from its
/// first non-zero column to the diagonal. Its factor keeps the zeros before that column (George
/// and Liu, "Computer solution of large sparse positive definite systems", 1981, ch. 4).
pub struct Envelope {
    /// First column of each row, and its entries from there on.
    rows: Vec<(usize, Vec<f64>)>,
}

impl Envelope {
    /// Creates a matrix from the first column of each row, at most that of the diagonal, and its
    /// entries from there to the diagonal.
    pub fn of(rows: Vec<(usize, Vec<f64>)>) -> Self {
        Self { rows }
    }

    /// Returns A⁻¹b; `None` if A is not positive definite.
    pub fn solve(mut self, rhs: &[f64]) -> Option<Vec<f64>> {
        let size = self.rows.len();
        for i in 0..size {
            let (above, below) = self.rows.split_at_mut(i);
            let (start, row) = &mut below[0];
            for j in *start..i {
                let (start_of_other, other) = &above[j];
                let first = (*start).max(*start_of_other);
                let sum = dot(&row[first - *start..j - *start], &other[first - start_of_other..j - start_of_other]);
                row[j - *start] = (row[j - *start] - sum) / other[j - start_of_other];
            }
            let (pivot, before) = row.split_last_mut()?;
            *pivot -= dot(before, before);
            *pivot = (*pivot > 0.0 && pivot.is_finite()).then(|| pivot.sqrt())?;
        }
        let mut solved = rhs.to_vec();
        for (i, (start, row)) in self.rows.iter().enumerate() {
            let (pivot, before) = row.split_last()?;
            solved[i] = (solved[i] - dot(before, &solved[*start..i])) / pivot;
        }
        for (i, (start, row)) in self.rows.iter().enumerate().rev() {
            let (pivot, before) = row.split_last()?;
            solved[i] /= pivot;
            let value = solved[i];
            add_scaled(&mut solved[*start..i], -value, before);
        }
        Some(solved)
    }
}

/// Factorises a square matrix. `root` returns the square root of a pivot from it and the diagonal
/// entry, or `None` to give up.
fn factorise(mut matrix: Matrix, root: impl Fn(f64, f64) -> Option<f64>) -> Option<Cholesky> {
    let size = matrix.columns;
    for tile in (0..size).step_by(TILE) {
        let (above, below) = matrix.values.split_at_mut(tile * size);
        let rows_of_tile = TILE.min(size - tile);
        for (j, other) in above.chunks_exact(size).enumerate() {
            below[..rows_of_tile * size].chunks_mut(BLOCK * size).for_each(|block| eliminate(block, j, other));
        }
        for first in (tile..tile + rows_of_tile).step_by(BLOCK) {
            let (above, below) = matrix.values.split_at_mut(first * size);
            let block = &mut below[..BLOCK.min(size - first) * size];
            above.chunks_exact(size).enumerate().skip(tile).for_each(|(j, other)| eliminate(block, j, other));
            for i in first..first + block.len() / size {
                let (above, below) = block.split_at_mut((i - first) * size);
                let row = &mut below[..size];
                for (other, j) in above.chunks_exact(size).zip(first..) {
                    row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
                }
                row[i] = root(row[i] - dot(&row[..i], &row[..i]), row[i])?;
                row[i + 1..].fill(0.0);
            }
        }
    }
    Some(Cholesky(matrix))
}

/// Computes column j of a block of rows of the factor from row j, `other`.
fn eliminate(block: &mut [f64], j: usize, other: &[f64]) {
    let size = other.len();
    let sums = dots(&other[..j], rows(block, size, 0..j));
    for (row, sum) in block.chunks_exact_mut(size).zip(sums) {
        row[j] = (row[j] - sum) / other[j];
    }
}

/// Returns part of each of the first rows; if there are fewer, the last one is repeated.
fn rows(values: &[f64], size: usize, part: Range<usize>) -> [&[f64]; BLOCK] {
    let last = values.len() / size - 1;
    std::array::from_fn(|row| &values[row.min(last) * size..][part.clone()])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns B·Bᵀ + I for a pseudo-random B.
    fn positive(size: usize) -> Matrix {
        let mut matrix = Matrix::zeros(size, size);
        let entry = |i: usize, j: usize| ((i * 7 + j * 13) % 11) as f64 - 5.0;
        for i in 0..size {
            for j in 0..size {
                matrix[i][j] = (0..size).map(|k| entry(i, k) * entry(j, k)).sum::<f64>() + f64::from(u8::from(i == j));
            }
        }
        matrix
    }

    #[test]
    fn the_factor_solves_inverts_and_tells_the_determinant() {
        for size in [1, 2, 4, 5, 19] {
            let matrix = positive(size);
            let factor = Cholesky::of(matrix.clone()).unwrap();
            let inverse = factor.inverse();
            let rhs: Vec<f64> = (0..size).map(|i| i as f64 - 1.5).collect();
            let solved = factor.solve(&rhs);
            for i in 0..size {
                assert!((dot(&matrix[i], &solved) - rhs[i]).abs() < 1e-9);
                for j in 0..size {
                    let expected = f64::from(u8::from(i == j));
                    assert!((dot(&matrix[i], &inverse[j]) - expected).abs() < 1e-9, "size {size}");
                }
            }
        }
        let mut two = Matrix::zeros(2, 2);
        two[0].copy_from_slice(&[4.0, 0.0]);
        two[1].copy_from_slice(&[1.0, 3.0]);
        assert!((Cholesky::of(two).unwrap().log_determinant() - libm::log(11.0)).abs() < 1e-15);
    }

    #[test]
    fn a_column_that_depends_on_earlier_ones_is_dropped_and_the_others_are_solved() {
        // The third column is the sum of the first two.
        let columns = [[2.0, 1.0, 3.0, 0.0], [1.0, 5.0, 6.0, 1.0], [3.0, 6.0, 9.0, 1.0], [0.0, 1.0, 1.0, 4.0]];
        let matrix: Vec<Vec<f64>> = columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).collect()).collect();
        let factor = Cholesky::of_semidefinite(&matrix);
        assert!(!factor.is_regular());
        let rhs = [1.0, -2.0, -1.0, 3.0];
        let solved = factor.solve(&rhs);
        assert!(solved[2] == 0.0, "{solved:?}");
        for i in 0..4 {
            assert!((dot(&matrix[i], &solved) - rhs[i]).abs() < 1e-9, "{solved:?}");
        }
        let kept: Vec<Vec<f64>> = [0, 1, 3].map(|i: usize| [0, 1, 3].map(|j: usize| matrix[i][j]).to_vec()).to_vec();
        let regular = Cholesky::of_semidefinite(&kept);
        assert!(regular.is_regular());
        assert!((factor.log_determinant() - regular.log_determinant()).abs() < 1e-12);
    }

    #[test]
    fn tiles_of_rows_do_not_change_the_digits_of_a_factor() {
        for size in [3, 16, 17, 50] {
            let mut lower = positive(size);
            let factor = Cholesky::of(lower.clone()).unwrap();
            for i in 0..size {
                for j in 0..i {
                    lower[i][j] = (lower[i][j] - dot(&lower[i][..j], &lower[j][..j])) / lower[j][j];
                }
                lower[i][i] = (lower[i][i] - dot(&lower[i][..i], &lower[i][..i])).sqrt();
                assert_eq!(factor.0[i][..=i], lower[i][..=i], "size {size}, row {i}");
            }
        }
    }

    #[test]
    fn a_matrix_with_zeros_before_each_row_is_solved() {
        let (size, starts) = (9, [0, 0, 2, 2, 4, 4, 4, 0, 0]);
        let mut matrix = Matrix::zeros(size, size);
        for i in 0..size {
            for j in starts[i]..=i {
                let entry = if i == j { 9.0 } else { ((i * 7 + j * 13) % 5) as f64 / 3.0 - 0.6 };
                (matrix[i][j], matrix[j][i]) = (entry, entry);
            }
        }
        let rhs: Vec<f64> = (0..size).map(|i| i as f64 - 1.5).collect();
        let rows = |matrix: &Matrix| (0..size).map(|i| (starts[i], matrix[i][starts[i]..=i].to_vec())).collect();
        let solved = Envelope::of(rows(&matrix)).solve(&rhs).unwrap();
        for i in 0..size {
            assert!((dot(&matrix[i], &solved) - rhs[i]).abs() < 1e-12);
        }
        matrix[6][6] = -1.0;
        assert!(Envelope::of(rows(&matrix)).solve(&rhs).is_none());
    }

    #[test]
    fn a_matrix_that_is_not_positive_has_no_factor() {
        let mut matrix = positive(3);
        matrix[2][2] = -1.0;
        assert!(Cholesky::of(matrix.clone()).is_none());
        matrix[2][2] = f64::NAN;
        assert!(Cholesky::of(matrix).is_none());
    }
}
