//! `foreglow evaluate --input`: accuracy of Foreglow's predictor and its rivals on any table of
//! runs.

mod benchmark;
mod condition;
mod feature;
mod input;
mod plan;
mod roles;
mod samples;

use foreglow_model::{Dataset, Ensemble, Roles, Warning};

pub use self::benchmark::{MethodResult, benchmark};
pub use self::samples::on_samples;

use crate::progress::Progress;

/// Results of every predictor on a table.
pub struct Evaluation {
    /// Rows of the table.
    pub rows: usize,
    /// Split of the rows, in words.
    pub split: String,
    /// Notes on the split.
    pub notes: Vec<String>,
    /// Foreglow first, then its rivals by MAPE.
    pub results: Vec<MethodResult>,
}

/// A table and how to evaluate it.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluationArgs {
    #[command(flatten)]
    input: input::InputArgs,

    #[command(flatten)]
    split: plan::SplitArgs,

    #[command(flatten)]
    roles: roles::RoleArgs,
}

/// Returns a sentence for each contradiction among the runs; empty if the table cannot be fitted,
/// which the predictors report.
fn contradictions(runs: &Dataset, roles: &Roles) -> Vec<String> {
    let ensemble = Ensemble::fit_known(runs, &roles.meanings());
    let warnings = ensemble.map(|ensemble| ensemble.contradictions()).unwrap_or_default();
    Warning::sentences(&warnings)
}

impl EvaluationArgs {
    /// Evaluates every predictor on the table; `None` if no table is given.
    ///
    /// # Errors
    /// The table cannot be used.
    pub fn evaluate(&self) -> anyhow::Result<Option<Evaluation>> {
        let Some(input) = self.input.read(self.split.sides())? else { return Ok(None) };
        let roles = self.roles.roles(input.runs.features(), &input.inverse)?;
        let rows = input.runs.secs().len();
        let mut plan = self.split.plan(&input)?;
        plan.notes.extend(contradictions(&input.runs, &roles));
        drop(input);
        let progress = Progress::default();
        let results = benchmark(&plan.trials, &roles, |met, of| progress.trials(met, of));
        drop(progress);
        Ok(Some(Evaluation { rows, split: plan.split, notes: plan.notes, results }))
    }
}
