//! Ridge: least squares with the L2 penalty.

use crate::Technique;
use crate::learner::cholesky::Cholesky;
use crate::learner::table::{Fold, Linear, MAX_FOLDS, Moments, Table};
use crate::learner::{ALPHAS, Cancelled, Candidate, Learner, Model, Work};

/// Where a row takes up all but this share of its own fit, the closed form divides rounding by rounding, and the row is
/// left out in fact.
const CLOSED_FORM_FROM: f64 = 1e-5;

/// ‖y − Xw − b‖² + α‖w‖² (Hoerl and Kennard, "Ridge regression", Technometrics 12(1), 1970), b without penalty.
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

/// The line of whichever of the penalties predicts left-out rows best, the first of equals.
pub(crate) fn fit_best(table: &Table, alphas: impl Iterator<Item = f64>) -> Linear {
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
    Cholesky::of(&matrix)
}

fn solve(moments: &Moments, alpha: f64) -> Linear {
    moments.line(factor(moments, alpha).solve(&moments.moment))
}

/// By the closed form eᵢ / (1 − hᵢᵢ), with hᵢᵢ = 1/n + xᵢᵀ(XᵀX + αI)⁻¹xᵢ on centred features: the intercept bears no
/// penalty, so that it takes 1/n of every row (Allen, "The relationship between variable selection and data augmentation
/// and a method for prediction", Technometrics 16(1), 1974).
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

/// What a fit without a fold predicts for the rows of that fold.
fn without(table: &Table, fold: Fold, alpha: f64) -> Vec<f64> {
    let line = solve(&table.moments(Some(fold)), alpha);
    (0..table.rows()).filter(|row| fold.has(*row)).map(|row| line.at(&table.features[row])).collect()
}
