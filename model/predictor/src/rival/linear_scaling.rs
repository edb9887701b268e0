//! Linear scaling of the sampling rate: the back-of-the-envelope estimate.

use crate::rival::context::contexts;
use crate::rival::{Rival, RivalError, Roles, Term};
use crate::{Dataset, Features};

/// t(n) = t(n₁)·n/n₁, from the run with the largest data size n₁ on the same configuration (equal
/// in every feature except the data size).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinearScaling;

impl Rival for LinearScaling {
    fn name(&self) -> &'static str {
        "linear-scaling"
    }

    fn answer(&self, fit: &Dataset, asked: &Features, roles: &Roles) -> Result<Vec<Option<f64>>, RivalError> {
        let data = roles.data_size.as_ref().ok_or(RivalError::Role { role: "data size", option: "--data-size" })?;
        let (known, unknown) = (data.values(fit.features())?, data.values(asked)?);
        let mut answers = vec![None; asked.rows()];
        let modelled: Vec<&str> = Term::columns(data).collect();
        for context in contexts(fit.features(), asked, &modelled) {
            let largest = context.fit.iter().copied().max_by(|a, b| known[*a].total_cmp(&known[*b]));
            let Some(largest) = largest else { continue };
            for row in context.asked {
                answers[row] = Some(fit.secs()[largest] * unknown[row] / known[largest]);
            }
        }
        Ok(answers)
    }
}
