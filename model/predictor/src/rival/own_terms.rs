//! Non-negative regression on terms that the user names: Ernest for any job, fitted for each
//! context.

use crate::rival::context::contexts;
use crate::rival::ernest::answer_by_context;
use crate::rival::{Rival, RivalError, Roles, Term};
use crate::{Dataset, Features};

/// t = θ₀ + Σ θᵢ·termᵢ with θ ≥ 0, fitted for each context: runs that agree in every feature that
/// no term contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnTerms;

impl Rival for OwnTerms {
    fn name(&self) -> &'static str {
        "own-terms"
    }

    fn answer(&self, fit: &Dataset, asked: &Features, roles: &Roles) -> Result<Vec<Option<f64>>, RivalError> {
        if roles.terms.is_empty() {
            return Err(RivalError::Role { role: "terms", option: "--term" });
        }
        let named: Vec<&str> = roles.terms.iter().flat_map(Term::columns).collect();
        let (fit_rows, asked_rows) = (rows(fit.features(), &roles.terms)?, rows(asked, &roles.terms)?);
        let contexts = contexts(fit.features(), asked, &named);
        Ok(answer_by_context(&contexts, &fit_rows, fit.secs(), &asked_rows, false))
    }
}

fn rows(features: &Features, terms: &[Term]) -> Result<Vec<Vec<f64>>, RivalError> {
    let mut rows = vec![vec![1.0]; features.rows()];
    for term in terms {
        rows.iter_mut().zip(term.values(features)?).for_each(|(row, value)| row.push(value));
    }
    Ok(rows)
}
