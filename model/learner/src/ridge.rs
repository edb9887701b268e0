//! Ridge regression: least squares with an L2 penalty.

use foreglow_numeric::Cholesky;

use crate::Technique;
use crate::table::{Fold, Linear, MAX_FOLDS, Moments, Table};
use crate::{ALPHAS, Cancelled, Candidate, Learner, Model, Work};

/// Limit of the closed form: for a row with 1 − leverage below it, the division amplifies rounding
/// errors, and the model is refitted without the row.
const CLOSED_FORM_FROM: f64 = 1e-5;

/// Minimises ‖y − Xw − b‖² + α‖w‖² without a penalty on b (Hoerl and Kennard, "Ridge regression",
/// Technometrics 12(1), 1970).
pub(crate) struct Ridge;

impl Learner for Ridge {
    fn steps(&self) -> u64 {
        1
    }

    fn candidates(&self, table: &Table, work: &mut Work<'_>) -> Result<Vec<Candidate>, Cancelled> {
        work.step()?;
        let moments = table.moments(None);
        let candidate = |alpha| Candidate {
            technique: Technique::Ridge { alpha },
            held_out: if table.rows() <= MAX_FOLDS {
                leave_one_out(table, &moments, alpha)
            } else {
                table.held_out(|fold| without(table, fold, alpha))
            },
            model: Model::Linear(solve(&moments, alpha)),
        };
        Ok(ALPHAS.map(candidate).into())
    }
}

#[cfg(test)]
pub(crate) fn fit(table: &Table, alpha: f64) -> Linear {
    solve(&table.moments(None), alpha)
}

/// Fits with the penalty that has the smallest leave-one-out error; the first of equals.
pub fn fit_best(table: &Table, alphas: impl Iterator<Item = f64>) -> Linear {
    let moments = table.moments(None);
    let error = |alpha: f64| -> f64 {
        let predictions = leave_one_out(table, &moments, alpha);
        predictions
            .iter()
            .zip(&table.target)
            .map(|(predicted, actual)| (actual - predicted) * (actual - predicted))
            .sum()
    };
    let best = alphas.map(|alpha| (error(alpha), alpha)).min_by(|a, b| a.0.total_cmp(&b.0));
    solve(&moments, best.map_or(0.0, |(_, alpha)| alpha))
}

fn factor(moments: &Moments, alpha: f64) -> Cholesky {
    let mut matrix = moments.gram.clone();
    for (j, row) in matrix.iter_mut().enumerate() {
        row[j] += alpha;
    }
    Cholesky::of_semidefinite(&matrix)
}

fn solve(moments: &Moments, alpha: f64) -> Linear {
    moments.line(factor(moments, alpha).solve(&moments.moment))
}

/// Returns leave-one-out predictions by the closed form eᵢ / (1 − hᵢᵢ), with hᵢᵢ = 1/n + xᵢᵀ(XᵀX +
/// αI)⁻¹xᵢ on centred features; the intercept has no penalty and adds 1/n (Allen, "The relationship
/// between variable selection and data augmentation and a method for prediction", Technometrics
/// 16(1), 1974).
fn leave_one_out(table: &Table, moments: &Moments, alpha: f64) -> Vec<f64> {
    let factor = factor(moments, alpha);
    let line = moments.line(factor.solve(&moments.moment));
    let predict = |row: usize| {
        let features = &table.features[row];
        let centred: Vec<f64> = features.iter().zip(&moments.means).map(|(x, mean)| x - mean).collect();
        let leverage = 1.0 / moments.rows + factor.forward(&centred).iter().map(|z| z * z).sum::<f64>();
        if factor.is_regular() && 1.0 - leverage > CLOSED_FORM_FROM {
            let actual = table.target[row];
            actual - (actual - line.at(features)) / (1.0 - leverage)
        } else {
            without(table, Fold { index: row, of: table.rows() }, alpha)[0]
        }
    };
    (0..table.rows()).map(predict).collect()
}

/// Returns the predictions for a fold's rows by a fit without them.
fn without(table: &Table, fold: Fold, alpha: f64) -> Vec<f64> {
    let line = solve(&table.moments(Some(fold)), alpha);
    (0..table.rows()).filter(|row| fold.has(*row)).map(|row| line.at(&table.features[row])).collect()
}
