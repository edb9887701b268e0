//! Lasso: least squares with the L1 penalty.

use crate::Technique;
use crate::learner::table::{Linear, Moments, Table};
use crate::learner::{ALPHAS, Learner, cholesky::Cholesky};

/// A sweep that moves no weight by more than this share has converged.
const CONVERGED: f64 = 1e-16;
/// Room for rounding in the optimality conditions, as a share of the terms.
const ROUNDING: f64 = 1e-14;
/// Sweeps at most; only columns that all but depend on each other come near.
const MAX_SWEEPS: u32 = 1 << 14;

/// ‖y − Xw − b‖² / 2n + α‖w‖₁ (Tibshirani, "Regression shrinkage and selection via the lasso", J. R. Stat. Soc. B 58(1),
/// 1996), b without penalty.
pub(crate) struct Lasso;

impl Learner for Lasso {
    fn grid(&self) -> Vec<Technique> {
        ALPHAS.map(|alpha| Technique::Lasso { alpha }).to_vec()
    }

    /// By refits, each along the whole path of penalties.
    fn leave_one_out(&self, table: &Table) -> Vec<Vec<f64>> {
        let mut predictions = vec![Vec::with_capacity(table.rows()); ALPHAS.len()];
        for row in 0..table.rows() {
            let moments = table.moments(Some(row));
            for (list, weights) in predictions.iter_mut().zip(path(&moments, 0)) {
                list.push(moments.line(weights).at(&table.features[row]));
            }
        }
        predictions
    }
}

pub(crate) fn fit(table: &Table, alpha: f64) -> Linear {
    let moments = table.moments(None);
    let stronger = ALPHAS.iter().position(|other| *other > alpha).unwrap_or(ALPHAS.len());
    let start = path(&moments, stronger).into_iter().next().unwrap_or_else(|| vec![0.0; moments.moment.len()]);
    let weights = solve(&moments, alpha, start);
    moments.line(weights)
}

/// Weights for each penalty from `ALPHAS[from]` on, each search begun at the solution for the next stronger penalty.
/// Where features depend on each other, so that many weights fit equally well, this also follows the path to the ones
/// of the least L1 norm.
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

/// Coordinate descent on ½wᵀGw − cᵀw + nα‖w‖₁ (Friedman, Hastie and Tibshirani, "Regularization paths for generalized
/// linear models via coordinate descent", J. Stat. Softw. 33(1), 2010, §2.2), where G and c are the moments. It finds
/// which weights are zero and the signs of the others; the weights themselves then solve a linear system exactly.
fn solve(moments: &Moments, alpha: f64, mut weights: Vec<f64>) -> Vec<f64> {
    let penalty = moments.rows * alpha;
    for sweep in 1..=MAX_SWEEPS {
        let moved = descend(moments, penalty, &mut weights);
        if sweep.is_power_of_two()
            && let Some(exact) = polish(moments, penalty, &weights)
        {
            return exact;
        }
        let largest = weights.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        if moved <= CONVERGED * largest {
            break;
        }
    }
    weights
}

/// One sweep over the weights; how far the one that moved most did.
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

/// The weights of the same signs that meet the optimality conditions: G w = c − nα·sign(w) where w ≠ 0, and
/// |c − G w| ≤ nα elsewhere. `None` where there are none, so that the signs are not the right ones yet.
fn polish(moments: &Moments, penalty: f64, weights: &[f64]) -> Option<Vec<f64>> {
    let active: Vec<usize> = (0..weights.len()).filter(|j| weights[*j] != 0.0).collect();
    let system: Vec<Vec<f64>> = active.iter().map(|j| active.iter().map(|k| moments.gram[*j][*k]).collect()).collect();
    let factor = Cholesky::of(&system);
    if !factor.is_regular() {
        return None;
    }
    let rhs: Vec<f64> = active.iter().map(|j| moments.moment[*j] - penalty * weights[*j].signum()).collect();
    let mut exact = vec![0.0; weights.len()];
    for (j, weight) in active.iter().zip(factor.solve(&rhs)) {
        if weight == 0.0 || weight.signum() != weights[*j].signum() {
            return None;
        }
        exact[*j] = weight;
    }
    let optimal = |j: usize| {
        let terms: f64 = moments.gram[j].iter().zip(&exact).map(|(g, w)| (g * w).abs()).sum();
        gradient(moments, &exact, j).abs() <= penalty + ROUNDING * (terms + moments.moment[j].abs())
    };
    (0..weights.len()).filter(|j| exact[*j] == 0.0).all(optimal).then_some(exact)
}

/// cⱼ − (G w)ⱼ.
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
