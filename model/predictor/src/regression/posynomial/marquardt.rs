//! Penalised least squares on the logarithm of a sum of exponentials.

use foreglow_numeric::{Cholesky, Matrix, SparseRows, add_scaled, dot};

use crate::regression::posynomial::design::{Row, log_sum};
use crate::regression::posynomial::elimination::Elimination;
use crate::regression::posynomial::penalty::Penalty;

/// Initial and smallest damping.
const DAMPING: (f64, f64) = (1e-2, 1e-9);
/// Factor by which the damping decreases after a successful step and increases after a failed one.
const DAMPING_FACTOR: f64 = 5.0;
/// Limit on consecutive failed steps.
const FAILURES: u32 = 6;
/// Relative decrease of the objective below which the search ends.
const CONVERGED: f64 = 1e-6;

/// Distribution of the residuals.
#[derive(Clone, Copy)]
pub(crate) enum Noise<'a> {
    /// Independent, with the precision of each row, 1/variance.
    Independent(&'a [f64]),
    /// Correlated, with this inverse of their covariance, n × n (Aitken, "On least squares and
    /// linear combinations of observations", Proc. R. Soc. Edinburgh 55, 1936).
    Correlated(&'a Matrix),
}

/// Objective rᵀPr + Σ pulls, with r = y − ln Σₖ exp(φ·θₖ) and P the inverse covariance of the
/// noise.
///
/// The coefficients are K terms of p numbers each, one after another.
pub(crate) struct LeastSquares<'a> {
    pub(crate) rows: &'a [Row],
    /// y, n.
    pub(crate) logs: &'a [f64],
    pub(crate) penalty: &'a Penalty,
    pub(crate) noise: Noise<'a>,
    /// Order in which the coefficients of many names are eliminated.
    pub(crate) elimination: Option<&'a Elimination>,
}

/// Objective at a point, with the quantities from which its gradient is computed.
struct State {
    objective: f64,
    /// Pr, n.
    weighted: Vec<f64>,
    /// Share of each term in each row, n × K.
    shares: Vec<f64>,
}

/// Half the negative gradient and half the Hessian of the objective; only the lower triangle is
/// filled.
struct Normal {
    descent: Vec<f64>,
    curvature: Matrix,
}

impl LeastSquares<'_> {
    /// Returns the minimum for a single term, where the problem is linear: ridge regression in
    /// closed form.
    pub(crate) fn single(&self) -> Vec<f64> {
        let zeros = vec![0.0; self.penalty.coefficients()];
        let normal = self.normal(&zeros, &self.state(&zeros));
        Cholesky::of(normal.curvature).map_or(zeros, |factor| factor.solve(&normal.descent))
    }

    /// Minimises from `terms` in at most `steps` steps; returns the objective and the coefficients.
    ///
    /// Levenberg–Marquardt (Levenberg, Q. Appl. Math. 2(2), 1944; Marquardt, "An algorithm for
    /// least-squares estimation of nonlinear parameters", J. SIAM 11(2), 1963) with damping
    /// proportional to the curvature.
    pub(crate) fn descend(&self, mut terms: Vec<f64>, steps: u32) -> (f64, Vec<f64>) {
        let mut state = self.state(&terms);
        let mut damping = DAMPING.0;
        for _ in 0..steps {
            let normal = self.normal(&terms, &state);
            let Some((moved, reached)) = self.step(&terms, &state, &normal, &mut damping) else { break };
            let decrease = state.objective - reached.objective;
            (terms, state) = (moved, reached);
            damping = (damping / DAMPING_FACTOR).max(DAMPING.1);
            if decrease < CONVERGED * state.objective.max(1.0) {
                break;
            }
        }
        (state.objective, terms)
    }

    /// Returns half the Hessian of the objective, in the Gauss–Newton approximation; only the lower
    /// triangle is filled.
    pub(crate) fn curvature(&self, terms: &[f64]) -> Matrix {
        self.normal(terms, &self.state(terms)).curvature
    }

    /// Returns the first step that lowers the objective, with increasing damping.
    fn step(&self, terms: &[f64], state: &State, normal: &Normal, damping: &mut f64) -> Option<(Vec<f64>, State)> {
        for _ in 0..FAILURES {
            if let Some(mut moved) = self.solve(normal, *damping) {
                add_scaled(&mut moved, 1.0, terms);
                let reached = self.state(&moved);
                if reached.objective < state.objective {
                    return Some((moved, reached));
                }
            }
            *damping = *damping * DAMPING_FACTOR + 1e-6;
        }
        None
    }

    /// Solves the normal equations with a damped diagonal; `None` if they are not positive
    /// definite.
    fn solve(&self, Normal { descent, curvature }: &Normal, damping: f64) -> Option<Vec<f64>> {
        if let Some(elimination) = self.elimination {
            return elimination.solve(curvature, descent, damping);
        }
        let mut damped = curvature.clone();
        for i in 0..damped.columns() {
            damped[i][i] *= 1.0 + damping;
        }
        Some(Cholesky::of(damped)?.solve(descent))
    }

    fn state(&self, terms: &[f64]) -> State {
        let width = self.penalty.coefficients();
        let mut shares = Vec::with_capacity(self.rows.len() * terms.len() / width);
        let mut residuals = Vec::with_capacity(self.rows.len());
        for (row, log) in self.rows.iter().zip(self.logs) {
            let first = shares.len();
            shares.extend(terms.chunks_exact(width).map(|term| row.dot(term)));
            residuals.push(log - log_sum(&mut shares[first..]));
        }
        let weighted: Vec<f64> = match self.noise {
            Noise::Independent(precisions) => {
                residuals.iter().zip(precisions).map(|(r, precision)| r * precision).collect()
            }
            Noise::Correlated(inverse) => (0..residuals.len()).map(|i| dot(&inverse[i], &residuals)).collect(),
        };
        let mut objective = dot(&residuals, &weighted);
        self.each_pull(terms, |_, precision, away| objective += precision * away * away);
        State { objective, weighted, shares }
    }

    /// Computes the Gauss–Newton approximation, without the second derivatives of the residuals.
    fn normal(&self, terms: &[f64], state: &State) -> Normal {
        let jacobian = jacobian(self.rows, &state.shares, self.penalty.coefficients());
        let mut descent = vec![0.0; terms.len()];
        jacobian.add_weighted(&state.weighted, &mut descent);
        let mut curvature = Matrix::zeros(terms.len(), terms.len());
        match self.noise {
            Noise::Independent(precisions) => jacobian.add_square(precisions, &mut curvature),
            Noise::Correlated(inverse) => jacobian.add_product(inverse, &mut curvature),
        }
        self.each_pull(terms, |i, precision, away| {
            curvature[i][i] += precision;
            descent[i] -= precision * away;
        });
        Normal { descent, curvature }
    }

    /// Calls `each` with the index of a coefficient, the precision of a pull, and the coefficient's
    /// distance from its centre.
    fn each_pull(&self, terms: &[f64], mut each: impl FnMut(usize, f64, f64)) {
        let width = self.penalty.coefficients();
        for (i, value) in terms.iter().enumerate() {
            for pull in self.penalty.pulls(i / width, i % width, *value) {
                each(i, pull.precision, value - pull.centre);
            }
        }
    }
}

/// Returns the derivatives of each row's ln Σ exp by each coefficient, shareₖ · φ, n × Kp. All
/// names of training rows are known, so each row has the same number of entries.
fn jacobian(rows: &[Row], shares: &[f64], width: usize) -> SparseRows {
    let terms = shares.len() / rows.len();
    let entries = terms * rows[0].columns.len();
    let (mut columns, mut values) =
        (Vec::with_capacity(rows.len() * entries), Vec::with_capacity(rows.len() * entries));
    for (row, shares) in rows.iter().zip(shares.chunks_exact(terms)) {
        for (term, share) in shares.iter().enumerate() {
            columns.extend(row.columns.iter().map(|column| term * width + column));
            values.extend(row.values.iter().map(|value| share * value));
        }
    }
    SparseRows::new(entries, columns, values)
}
