//! Selection of a technique by leave-one-out cross-validation.

use crate::Technique;
use crate::{Cancelled, Grid, Model, Table, Work};

/// Relative difference below which errors count as tied, because rounding explains it.
const SAME_SHARE: f64 = 1e-9;
/// Errors below this count as zero: a relative error of 10⁻¹², squared.
const ZERO: f64 = 1e-24;

/// Relative gain that a forest or a perceptron must achieve over a linear model, because its seed
/// alone changes its error by a few percent.
///
/// With two sampling rates, for example, a forest and a line have the same expected error, but only
/// the line extrapolates. Averaging over seeds would not resolve the tie: by chance a forest would
/// still win half of the time.
const GAIN_BY_LUCK: f64 = 0.05;

/// A selected technique.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection {
    /// The technique.
    pub technique: Technique,
    /// Its mean squared leave-one-out error, in the squared unit of the target.
    pub loo_mse: f64,
}

/// Selects the technique of the grid with the lowest mean squared leave-one-out error (the paper,
/// §5.4), and returns its fit on all rows. Above 64 rows, 64 folds are used instead. The table has
/// at least two rows.
///
/// If errors differ only by rounding, the first technique in the order of the grid wins, so that
/// neither the unit of the times nor the machine influences the choice. A technique that uses
/// random numbers is preferred to Lasso and Ridge only if its error is at least 5 % lower.
///
/// # Errors
/// [`Cancelled`]: the watcher cancelled the work.
pub fn select(table: &Table, grid: Grid, work: &mut Work<'_>) -> Result<(Selection, Model), Cancelled> {
    let mut candidates = Vec::new();
    for learner in grid.learners() {
        candidates.extend(learner.candidates(table, work)?);
    }
    // An error that overflowed is worse than any other.
    let error = |held_out: &[f64]| Some(mean_squared_error(&table.target, held_out)).filter(|mse| mse.is_finite());
    let errors: Vec<f64> =
        candidates.iter().map(|candidate| error(&candidate.held_out).unwrap_or(f64::INFINITY)).collect();
    let least = |seeded: bool| {
        let of = candidates.iter().zip(&errors).filter(|(candidate, _)| candidate.technique.is_seeded() == seeded);
        of.map(|(_, mse)| *mse).fold(f64::INFINITY, f64::min)
    };
    let (plain, seeded) = (least(false), least(true));
    let least = if seeded < plain * (1.0 - GAIN_BY_LUCK) - ZERO { seeded } else { plain };
    let chosen = errors.iter().position(|mse| *mse <= least * (1.0 + SAME_SHARE) + ZERO);
    let index = chosen.expect("the grid is not empty, and one of its errors is the least");
    let candidate = candidates.swap_remove(index);
    Ok((Selection { technique: candidate.technique, loo_mse: errors[index] }, candidate.model))
}

fn mean_squared_error(actual: &[f64], predicted: &[f64]) -> f64 {
    actual.iter().zip(predicted).map(|(a, p)| (a - p) * (a - p)).sum::<f64>() / actual.len() as f64
}
