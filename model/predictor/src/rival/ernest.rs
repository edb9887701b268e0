//! Ernest: time as a non-negative sum of the costs of a parallel job.
//!
//! Source: Venkataraman, Yang, Franklin, Recht and Stoica, "Ernest: Efficient Performance
//! Prediction for Large-Scale Advanced Analytics", NSDI 2016, §3.2: t = θ₀ + θ₁·n/m + θ₂·log m +
//! θ₃·m with θ ≥ 0, for a data size n on m machines.

use crate::rival::context::{Context, contexts};
use crate::rival::{Rival, RivalError, Roles, Term};
use crate::{Dataset, Features};
use foreglow_numeric::nnls;

/// Ernest and its variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ernest {
    /// Whether each context (runs that agree in every feature except machines and data size) has
    /// its own fit. The published method is one fit of one application.
    pub(crate) per_context: bool,
    /// Whether relative errors are minimised; the published method minimises absolute errors.
    pub(crate) relative: bool,
}

impl Rival for Ernest {
    fn name(&self) -> &'static str {
        match (self.per_context, self.relative) {
            (false, false) => "ernest",
            (false, true) => "ernest-relative",
            (true, false) => "ernest-per-context",
            (true, true) => "ernest-per-context-relative",
        }
    }

    fn answer(&self, fit: &Dataset, asked: &Features, roles: &Roles) -> Result<Vec<Option<f64>>, RivalError> {
        let machines = roles.machines.as_ref().ok_or(RivalError::Role { role: "machines", option: "--machines" })?;
        let (fit_rows, asked_rows) = (
            rows(fit.features(), machines, roles.data_size.as_ref())?,
            rows(asked, machines, roles.data_size.as_ref())?,
        );
        let contexts = if self.per_context {
            let modelled: Vec<&str> =
                machines.columns().chain(roles.data_size.iter().flat_map(Term::columns)).collect();
            let contexts = contexts(fit.features(), asked, &modelled);
            if contexts.len() == 1 {
                return Err(RivalError::OneContext("ernest"));
            }
            contexts
        } else {
            vec![Context { fit: (0..fit_rows.len()).collect(), asked: (0..asked_rows.len()).collect() }]
        };
        Ok(answer_by_context(&contexts, &fit_rows, fit.secs(), &asked_rows, self.relative))
    }
}

/// Returns [1, n/m, ln m, m] for every row; n is 1 if no data size is named.
fn rows(features: &Features, machines: &Term, data_size: Option<&Term>) -> Result<Vec<Vec<f64>>, RivalError> {
    let machines = machines.values(features)?;
    let data = data_size.map_or_else(|| Ok(vec![1.0; machines.len()]), |term| term.values(features))?;
    Ok(machines.iter().zip(data).map(|(m, n)| vec![1.0, n / m, libm::log(*m), *m]).collect())
}

/// Predicts by a non-negative fit for each context; `None` for rows of a context without runs.
pub(crate) fn answer_by_context(
    contexts: &[Context],
    fit: &[Vec<f64>],
    secs: &[f64],
    asked: &[Vec<f64>],
    relative: bool,
) -> Vec<Option<f64>> {
    let mut answers = vec![None; asked.len()];
    for Context { fit: known, asked: unknown } in contexts.iter().filter(|context| !context.fit.is_empty()) {
        let weight = |row: usize| if relative { 1.0 / secs[row] } else { 1.0 };
        let rows: Vec<Vec<f64>> =
            known.iter().map(|row| fit[*row].iter().map(|value| value * weight(*row)).collect()).collect();
        let target: Vec<f64> = known.iter().map(|row| secs[*row] * weight(*row)).collect();
        let weights = nnls(&rows, &target);
        for row in unknown {
            answers[*row] = Some(asked[*row].iter().zip(&weights).map(|(value, weight)| value * weight).sum());
        }
    }
    answers
}
