//! The published two-level hierarchy, for any table.

use std::ops::ControlFlow;

use foreglow_learner::{Grid, Hierarchy, Level2, Work};

use crate::rival::context::contexts;
use crate::rival::{Rival, RivalError, Roles, Term};
use crate::{Dataset, Features, Transform, Values};

/// Level 1 for each number alone and level 2-2 for their product (the paper, §4.3), with Lasso and
/// Ridge, fitted for each combination of names. The number of machines is inverted, as the paper
/// inverts executors and cores; other numbers have the transform of their column, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TwoLevel;

impl Rival for TwoLevel {
    fn name(&self) -> &'static str {
        "two-level"
    }

    fn answer(&self, fit: &Dataset, asked: &Features, roles: &Roles) -> Result<Vec<Option<f64>>, RivalError> {
        let machines: Vec<&str> = roles.machines.iter().flat_map(Term::columns).collect();
        let (fit_rows, asked_rows) = (numbers(fit.features(), &machines), numbers(asked, &machines));
        if fit_rows.iter().chain(&asked_rows).flatten().any(|number| !number.is_finite()) {
            return Err(RivalError::NotPositive {
                term: "a number seen as its inverse or logarithm".into(),
                value: 0.0,
            });
        }
        let numeric = fit.features().columns().iter().filter(|column| matches!(column.values, Values::Numeric { .. }));
        let names: Vec<&str> = numeric.map(|column| column.name.as_str()).collect();
        let mut answers = vec![None; asked.rows()];
        for context in contexts(fit.features(), asked, &names).iter().filter(|context| context.fit.len() > 1) {
            let rows: Vec<Vec<f64>> = context.fit.iter().map(|row| fit_rows[*row].clone()).collect();
            let times: Vec<f64> = context.fit.iter().map(|row| fit.secs()[*row]).collect();
            let watch = &mut |_, _| ControlFlow::Continue(());
            let fitted = Hierarchy::fit(&rows, &times, Level2::Product, Grid::Linear, &mut Work::new(0, watch));
            let Ok((hierarchy, _)) = fitted else { continue };
            for row in &context.asked {
                answers[*row] = hierarchy.at(&asked_rows[*row]).filter(|secs| secs.is_finite() && *secs > 0.0);
            }
        }
        Ok(answers)
    }
}

/// Returns the transformed numbers of each row.
fn numbers(features: &Features, machines: &[&str]) -> Vec<Vec<f64>> {
    let mut rows = vec![Vec::new(); features.rows()];
    for column in features.columns() {
        let Values::Numeric { values, transform } = &column.values else { continue };
        let inverse = machines.contains(&column.name.as_str()) || *transform == Some(Transform::Inverse);
        let see = |x: f64| match transform {
            _ if inverse => 1.0 / x,
            Some(Transform::Log) => libm::log(x),
            _ => x,
        };
        rows.iter_mut().zip(values).for_each(|(row, x)| row.push(see(*x)));
    }
    rows
}
