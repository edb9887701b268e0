//! Sparse matrices whose rows have the same number of entries.

use crate::linalg::Matrix;
use crate::products::add_scaled;

/// A sparse matrix J whose rows have the same number of entries.
pub struct SparseRows {
    entries: usize,
    /// Column of each entry, row by row.
    columns: Vec<usize>,
    /// Value of each entry.
    values: Vec<f64>,
}

impl SparseRows {
    /// Creates a matrix from the number of entries of a row, above 0, and the column and the value
    /// of each, row by row. The columns of a row ascend.
    pub fn new(entries: usize, columns: Vec<usize>, values: Vec<f64>) -> Self {
        Self { entries, columns, values }
    }

    fn rows(&self) -> impl ExactSizeIterator<Item = (&[usize], &[f64])> {
        self.columns.chunks_exact(self.entries).zip(self.values.chunks_exact(self.entries))
    }

    /// Adds Jᵀw.
    pub fn add_weighted(&self, weights: &[f64], sum: &mut [f64]) {
        for ((columns, values), weight) in self.rows().zip(weights) {
            scatter(sum, *weight, columns, values);
        }
    }

    /// Adds the lower triangle of JᵀPJ, P diagonal.
    pub fn add_square(&self, diagonal: &[f64], matrix: &mut Matrix) {
        let has_all_columns = self.entries == matrix.columns();
        for ((columns, values), factor) in self.rows().zip(diagonal) {
            for (place, (column, value)) in columns.iter().zip(values).enumerate() {
                let (target, scaled) = (&mut matrix[*column], factor * value);
                match has_all_columns {
                    true => add_scaled(&mut target[..=place], scaled, &values[..=place]),
                    false => scatter(target, scaled, &columns[..=place], values),
                }
            }
        }
    }

    /// Adds the lower triangle of JᵀPJ, P symmetric.
    pub fn add_product(&self, symmetric: &Matrix, matrix: &mut Matrix) {
        let mut weighted = vec![0.0; matrix.columns()];
        for (i, (columns, values)) in self.rows().enumerate() {
            weighted.fill(0.0);
            self.add_weighted(&symmetric[i], &mut weighted);
            for (column, value) in columns.iter().zip(values) {
                add_scaled(&mut matrix[*column][..=*column], *value, &weighted);
            }
        }
    }
}

/// Adds factor · b to the entries of a row.
#[inline]
fn scatter(row: &mut [f64], factor: f64, columns: &[usize], values: &[f64]) {
    for (column, value) in columns.iter().zip(values) {
        row[*column] += factor * value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_dense_matrix() {
        for (entries, columns) in [(2, vec![0, 2, 1, 3, 0, 1]), (4, (0..3).flat_map(|_| 0..4).collect())] {
            let values: Vec<f64> = (0..columns.len()).map(|place| libm::cos(place as f64)).collect();
            let mut dense = vec![vec![0.0; 4]; 3];
            columns
                .iter()
                .zip(&values)
                .enumerate()
                .for_each(|(i, (column, value))| dense[i / entries][*column] = *value);
            let sparse = SparseRows::new(entries, columns, values);
            let weights = [0.5, -2.0, 3.0];
            let weight = Matrix::of(&[vec![2.0, 0.1, 0.2], vec![0.1, 3.0, 0.3], vec![0.2, 0.3, 4.0]]);
            let (mut sum, mut square, mut product) = (vec![1.0; 4], Matrix::zeros(4, 4), Matrix::zeros(4, 4));
            sparse.add_weighted(&weights, &mut sum);
            sparse.add_square(&weights, &mut square);
            sparse.add_product(&weight, &mut product);
            for a in 0..4 {
                let expected = 1.0 + (0..3).map(|i| weights[i] * dense[i][a]).sum::<f64>();
                assert!((sum[a] - expected).abs() < 1e-12);
                for b in 0..=a {
                    let expected: f64 = (0..3).map(|i| weights[i] * dense[i][a] * dense[i][b]).sum();
                    assert!((square[a][b] - expected).abs() < 1e-12);
                    let pairs = (0..3).flat_map(|i| (0..3).map(move |j| (i, j)));
                    let expected: f64 = pairs.map(|(i, j)| dense[i][a] * weight[i][j] * dense[j][b]).sum();
                    assert!((product[a][b] - expected).abs() < 1e-12);
                }
            }
        }
    }
}
