//! Which technique learns at a place.

use crate::Technique;
use crate::learner::{Cancelled, Grid, Model, Table, Work};

/// Errors that differ by less than this share are a tie: the difference is rounding.
const SAME_SHARE: f64 = 1e-9;
/// Errors below this (a millionth of a millionth of the longest time, squared) are all zero.
const ZERO: f64 = 1e-24;

/// A forest's or a perceptron's error is a draw: another seed moves it by some percent. What it gains on a line counts
/// from here on. Two sampling rates, for one, leave a forest and a line the same two means to find, but a line goes on.
/// The mean error of several seeds would not settle it: the errors expected of the two are equal there, and of forests
/// judged by 20 seeds half still won, by 0.4 % at most (by 4.7 % with one seed).
const GAIN_BY_LUCK: f64 = 0.05;

/// A technique that was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Selection {
    pub(crate) technique: Technique,
    /// Its mean squared leave-one-out error, in the square of the target's unit.
    pub(crate) loo_mse: f64,
}

/// The technique of the grid with the lowest mean squared leave-one-out error (the paper, §5.4), and what it learns from
/// all rows. Above 64 rows folds are left out rather than single rows.
///
/// Of techniques whose errors differ by rounding alone, the first in the grid's order wins, so that neither the unit of
/// the times nor the machine decides; and a technique that starts from random numbers wins against Lasso and Ridge only
/// with an error that is lower by a twentieth. The table has two rows or more.
///
/// # Errors
/// The watcher said stop.
pub(crate) fn select(table: &Table, grid: Grid, work: &mut Work<'_>) -> Result<(Selection, Model), Cancelled> {
    let mut candidates = Vec::new();
    for learner in grid.learners() {
        candidates.extend(learner.candidates(table, work)?);
    }
    // What overflowed on the way is worse than anything.
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
