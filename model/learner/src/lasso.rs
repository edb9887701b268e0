//! Lasso: least squares with an L1 penalty.

use foreglow_numeric::Cholesky;

use crate::Technique;
use crate::table::{Fold, Linear, Moments, Table};
use crate::{ALPHAS, Cancelled, Candidate, Learner, Model, Work};

/// Convergence: no weight moved by more than this share of the largest one.
const CONVERGED: f64 = 1e-16;
/// Tolerance of the optimality conditions, as a share of their terms.
const ROUNDING: f64 = 1e-14;
/// Limit on sweeps; only almost collinear columns come near it.
const MAX_SWEEPS: u32 = 1 << 14;

/// Minimises ‖y − Xw − b‖² / 2n + α‖w‖₁ without a penalty on b (Tibshirani, "Regression shrinkage
/// and selection via the lasso", J. R. Stat. Soc. B 58(1), 1996).
pub struct Lasso;

impl Learner for Lasso {
    fn steps(&self) -> u64 {
        1
    }

    /// Refits for every fold along the whole path of penalties.
    fn candidates(&self, table: &Table, work: &mut Work<'_>) -> Result<Vec<Candidate>, Cancelled> {
        let mut held_out = vec![vec![0.0; table.rows()]; ALPHAS.len()];
        for fold in Fold::all(table.rows()) {
            let moments = table.moments(Some(fold));
            for (list, weights) in held_out.iter_mut().zip(path(&moments, 0)) {
                let line = moments.line(weights);
                (0..table.rows())
                    .filter(|row| fold.has(*row))
                    .for_each(|row| list[row] = line.at(&table.features[row]));
            }
        }
        work.step()?;
        let candidate = |(alpha, held_out)| {
            let model = Model::Linear(fit(table, alpha));
            Candidate { technique: Technique::Lasso { alpha }, held_out, model }
        };
        Ok(ALPHAS.into_iter().zip(held_out).map(candidate).collect())
    }
}

/// Fits with the penalty weight `alpha`, α.
pub fn fit(table: &Table, alpha: f64) -> Linear {
    let moments = table.moments(None);
    let stronger = ALPHAS.iter().position(|other| *other > alpha).unwrap_or(ALPHAS.len());
    let start = path(&moments, stronger).into_iter().next().unwrap_or_else(|| vec![0.0; moments.moment.len()]);
    let weights = solve(&moments, alpha, start);
    moments.line(weights)
}

/// Returns the weights for each penalty from `ALPHAS[from]` on, each search starting from the
/// solution for the next stronger penalty. With collinear features, many weights fit equally well;
/// this order of searches leads to those with the smallest L1 norm.
fn path(moments: &Moments, from: usize) -> Vec<Vec<f64>> {
    let mut weights = vec![0.0; moments.moment.len()];
    let mut path: Vec<Vec<f64>> = Vec::new();
    for alpha in ALPHAS[from..].iter().rev() {
        weights = solve(moments, *alpha, weights);
        path.push(weights.clone());
    }
    path.reverse();
    path
}

/// Minimises ½wᵀGw − cᵀw + nα‖w‖₁ by coordinate descent, where G and c are the moments (Friedman,
/// Hastie and Tibshirani, "Regularization paths for generalized linear models via coordinate
/// descent", J. Stat. Softw. 33(1), 2010, §2.2). Each sweep is followed by a step to the minimum
/// for the current signs, because sweeps alone converge slowly on almost collinear columns.
fn solve(moments: &Moments, alpha: f64, mut weights: Vec<f64>) -> Vec<f64> {
    let penalty = moments.rows * alpha;
    for _ in 0..MAX_SWEEPS {
        let moved = descend(moments, penalty, &mut weights);
        let largest = weights.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        if leap(moments, penalty, &mut weights) || moved <= CONVERGED * largest {
            break;
        }
    }
    weights
}

/// Performs one sweep over the weights and returns the largest change.
fn descend(moments: &Moments, penalty: f64, weights: &mut [f64]) -> f64 {
    let mut moved: f64 = 0.0;
    for j in 0..weights.len() {
        let curvature = moments.gram[j][j];
        let weight = if curvature > 0.0 {
            let pull = gradient(moments, weights, j) + curvature * weights[j];
            soft_threshold(pull, penalty) / curvature
        } else {
            0.0
        };
        moved = moved.max((weight - weights[j]).abs());
        weights[j] = weight;
    }
    moved
}

/// Moves the non-zero weights to the minimum for their signs, G w = c − nα·sign(w), or towards it
/// until one of them becomes zero (Lee, Battle, Raina and Ng, "Efficient sparse coding algorithms",
/// NIPS 2006, §3). The objective never increases. Returns whether the optimality conditions hold.
fn leap(moments: &Moments, penalty: f64, weights: &mut [f64]) -> bool {
    let active: Vec<usize> = (0..weights.len()).filter(|j| weights[*j] != 0.0).collect();
    let system: Vec<Vec<f64>> = active.iter().map(|j| active.iter().map(|k| moments.gram[*j][*k]).collect()).collect();
    let factor = Cholesky::of_semidefinite(&system);
    if !factor.is_regular() {
        return false;
    }
    let rhs: Vec<f64> = active.iter().map(|j| moments.moment[*j] - penalty * weights[*j].signum()).collect();
    let goal = factor.solve(&rhs);
    let crossing = |(j, goal): (&usize, &f64)| {
        let crosses = *goal == 0.0 || goal.signum() != weights[*j].signum();
        crosses.then(|| (*j, weights[*j] / (weights[*j] - goal)))
    };
    let first = active.iter().zip(&goal).filter_map(crossing).min_by(|a, b| a.1.total_cmp(&b.1));
    let Some((zero, share)) = first else {
        for (j, goal) in active.iter().zip(goal) {
            weights[*j] = goal;
        }
        return (0..weights.len()).filter(|j| weights[*j] == 0.0).all(|j| stays_zero(moments, penalty, weights, j));
    };
    for (j, goal) in active.iter().zip(goal) {
        weights[*j] += share * (goal - weights[*j]);
    }
    weights[zero] = 0.0;
    false
}

/// Whether zero is optimal for a weight: |c − G w| ≤ nα, up to rounding.
fn stays_zero(moments: &Moments, penalty: f64, weights: &[f64], j: usize) -> bool {
    let terms: f64 = moments.gram[j].iter().zip(weights).map(|(g, w)| (g * w).abs()).sum();
    gradient(moments, weights, j).abs() <= penalty + ROUNDING * (terms + moments.moment[j].abs())
}

/// Returns cⱼ − (G w)ⱼ, the negative gradient of the squared error.
fn gradient(moments: &Moments, weights: &[f64], j: usize) -> f64 {
    moments.moment[j] - moments.gram[j].iter().zip(weights).map(|(g, w)| g * w).sum::<f64>()
}

fn soft_threshold(pull: f64, penalty: f64) -> f64 {
    if pull > penalty {
        pull - penalty
    } else if pull < -penalty {
        pull + penalty
    } else {
        0.0
    }
}
