//! Cholesky factorisation of small symmetric systems.

/// Relative size of a pivot below which its column counts as linearly dependent on earlier ones.
const DEPENDENT: f64 = 1e-13;

/// Factor L with A = LLᵀ of a symmetric, positive semi-definite matrix (Golub and Van Loan, "Matrix
/// Computations", 4th ed., §4.2.5). Columns that depend on earlier ones are dropped: their unknowns
/// are 0.
pub struct Cholesky {
    lower: Vec<Vec<f64>>,
    dropped: Vec<bool>,
}

impl Cholesky {
    /// Factorises a square matrix, whose lower triangle is read.
    pub fn of(matrix: &[Vec<f64>]) -> Self {
        let size = matrix.len();
        let mut lower = vec![vec![0.0; size]; size];
        let mut dropped = vec![false; size];
        for j in 0..size {
            let pivot = matrix[j][j] - lower[j][..j].iter().map(|l| l * l).sum::<f64>();
            if pivot <= DEPENDENT * matrix[j][j] {
                dropped[j] = true;
                continue;
            }
            lower[j][j] = pivot.sqrt();
            for i in j + 1..size {
                let dot: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
                lower[i][j] = (matrix[i][j] - dot) / lower[j][j];
            }
        }
        Self { lower, dropped }
    }

    /// Whether no column was dropped.
    pub fn is_regular(&self) -> bool {
        !self.dropped.contains(&true)
    }

    /// Returns the logarithm of the determinant of A, without the columns that were dropped.
    pub fn log_determinant(&self) -> f64 {
        let kept = (0..self.lower.len()).filter(|j| !self.dropped[*j]);
        2.0 * kept.map(|j| libm::log(self.lower[j][j])).sum::<f64>()
    }

    /// Returns L⁻¹b.
    pub fn forward(&self, rhs: &[f64]) -> Vec<f64> {
        let mut solved = vec![0.0; rhs.len()];
        for j in (0..rhs.len()).filter(|j| !self.dropped[*j]) {
            let dot: f64 = (0..j).map(|k| self.lower[j][k] * solved[k]).sum();
            solved[j] = (rhs[j] - dot) / self.lower[j][j];
        }
        solved
    }

    /// Returns A⁻¹b.
    pub fn solve(&self, rhs: &[f64]) -> Vec<f64> {
        let mut solved = self.forward(rhs);
        for j in (0..rhs.len()).rev() {
            if self.dropped[j] {
                continue;
            }
            let dot: f64 = (j + 1..rhs.len()).map(|k| self.lower[k][j] * solved[k]).sum();
            solved[j] = (solved[j] - dot) / self.lower[j][j];
        }
        solved
    }
}
