//! Dense symmetric positive systems.
//!
//! Sums are written lane by lane, so that the compiler may use vector instructions of any width and every machine gives
//! the same bytes.

use std::ops::{Index, IndexMut};

/// Partial sums of a dot product.
const LANES: usize = 8;

/// Σ aᵢbᵢ, in eight interleaved partial sums.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    let [a, b, c, d, e, f, g, h] = lanes;
    (((a + e) + (b + f)) + ((c + g) + (d + h))) + rest
}

/// a += factor · b.
pub(crate) fn add_scaled(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

/// A matrix, row after row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zeros(rows: usize, columns: usize) -> Self {
        Self { columns, values: vec![0.0; rows * columns] }
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Every number 0.
    pub(crate) fn clear(&mut self) {
        self.values.fill(0.0);
    }
}

impl Index<usize> for Matrix {
    type Output = [f64];

    fn index(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}

impl IndexMut<usize> for Matrix {
    fn index_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.columns..(row + 1) * self.columns]
    }
}

/// The lower triangle L of A = LLᵀ (Golub and Van Loan, "Matrix Computations", 4th ed., §4.2.5).
pub(crate) struct Factor(Matrix);

impl Factor {
    /// The factor of a square matrix, of which the lower triangle is read; `None` where it is not positive definite.
    pub(crate) fn of(mut matrix: Matrix) -> Option<Self> {
        let size = matrix.columns;
        for i in 0..size {
            let (above, rest) = matrix.values.split_at_mut(i * size);
            let row = &mut rest[..size];
            for (j, other) in above.chunks_exact(size).enumerate() {
                row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
            }
            let pivot = row[i] - dot(&row[..i], &row[..i]);
            if !(pivot > 0.0 && pivot.is_finite()) {
                return None;
            }
            row[i] = pivot.sqrt();
            row[i + 1..].fill(0.0);
        }
        Some(Self(matrix))
    }

    /// ln |A|.
    pub(crate) fn log_determinant(&self) -> f64 {
        (0..self.0.columns).map(|i| 2.0 * libm::log(self.0[i][i])).sum()
    }

    /// A⁻¹b.
    pub(crate) fn solve(&self, rhs: &[f64]) -> Vec<f64> {
        let lower = &self.0;
        let mut solved = rhs.to_vec();
        for i in 0..solved.len() {
            solved[i] = (solved[i] - dot(&lower[i][..i], &solved[..i])) / lower[i][i];
        }
        for i in (0..solved.len()).rev() {
            let (before, rest) = solved.split_at_mut(i);
            rest[0] /= lower[i][i];
            add_scaled(before, -rest[0], &lower[i][..i]);
        }
        solved
    }

    /// A⁻¹ = L⁻ᵀL⁻¹, both triangles.
    pub(crate) fn inverse(&self) -> Matrix {
        let (lower, size) = (&self.0, self.0.columns);
        // Row j holds column j of L⁻¹, so that every sum runs along two rows.
        let mut transposed = Matrix::zeros(size, size);
        for j in 0..size {
            let column = &mut transposed[j];
            column[j] = 1.0 / lower[j][j];
            for i in j + 1..size {
                column[i] = -dot(&lower[i][j..i], &column[j..i]) / lower[i][i];
            }
        }
        let mut inverse = Matrix::zeros(size, size);
        for i in 0..size {
            for j in 0..=i {
                let entry = dot(&transposed[i][i..], &transposed[j][i..]);
                inverse[i][j] = entry;
                inverse[j][i] = entry;
            }
        }
        inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B·Bᵀ + I, of numbers without a pattern.
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
        for size in [1, 2, 5, 19] {
            let matrix = positive(size);
            let factor = Factor::of(matrix.clone()).unwrap();
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
        assert!((Factor::of(two).unwrap().log_determinant() - libm::log(11.0)).abs() < 1e-15);
    }

    #[test]
    fn a_matrix_that_is_not_positive_has_no_factor() {
        let mut matrix = positive(3);
        matrix[2][2] = -1.0;
        assert!(Factor::of(matrix.clone()).is_none());
        matrix[2][2] = f64::NAN;
        assert!(Factor::of(matrix).is_none());
    }
}
