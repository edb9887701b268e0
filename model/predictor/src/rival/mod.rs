//! Rivals: other methods to predict completion times, for comparison with Foreglow's predictor.
//!
//! To add one, write a file with its [`Rival`] and add it to [`RIVALS`].

mod context;
mod end_to_end;
mod ernest;
mod linear_scaling;
mod log_additive;
mod own_terms;
mod term;
mod trees;
mod two_level;

pub(crate) use crate::rival::context::contexts;
use crate::rival::end_to_end::EndToEnd;
use crate::rival::ernest::Ernest;
use crate::rival::linear_scaling::LinearScaling;
use crate::rival::log_additive::LogAdditiveRival;
use crate::rival::own_terms::OwnTerms;
pub use crate::rival::term::{Term, TermError};
use crate::rival::trees::{GradientBoosting, RandomForest};
use crate::rival::two_level::TwoLevel;
use crate::{Dataset, Features, Meaning};

/// Every rival.
pub const RIVALS: &[&dyn Rival] = &[
    &Ernest { per_context: false, relative: false },
    &Ernest { per_context: false, relative: true },
    &Ernest { per_context: true, relative: false },
    &Ernest { per_context: true, relative: true },
    &OwnTerms,
    &EndToEnd,
    &LinearScaling,
    &LogAdditiveRival,
    &TwoLevel,
    &RandomForest,
    &GradientBoosting,
];

/// A method to predict completion times from a table of runs.
pub trait Rival: Sync {
    /// Returns its name in tables and in JSON.
    fn name(&self) -> &'static str;

    /// Fits runs and predicts the time of each asked row, seconds; `None` if there is no
    /// prediction, for example for a context without runs.
    ///
    /// All runs are completed, and both tables have the same columns.
    ///
    /// # Errors
    /// The rival cannot use such a table at all.
    fn answer(&self, fit: &Dataset, asked: &Features, roles: &Roles) -> Result<Vec<Option<f64>>, RivalError>;
}

/// Meaning of columns, for rivals whose formula needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Number of machines that share the work.
    pub machines: Option<Term>,
    /// Size of the data, or the share of it that was processed (the sampling rate).
    pub data_size: Option<Term>,
    /// Images per step.
    pub batch_size: Option<Term>,
    /// Number of steps.
    pub iterations: Option<Term>,
    /// Terms of a non-negative regression.
    pub terms: Vec<Term>,
}

/// Words in the name of a column that counts GPUs.
const GPU_COLUMNS: [&str; 2] = ["gpu", "accelerator"];
/// Words in the name of a column that counts the cores or threads of one machine.
const CORE_COLUMNS: [&str; 4] = ["core", "thread", "cpu", "processor"];

impl Roles {
    /// Returns the meaning of each column that is named as work or as workers. If a column has
    /// several roles, the first counts. Machines with a batch size train replicas of a network, and
    /// so do GPUs. Cores alone are those of one machine.
    pub fn meanings(&self) -> Vec<(&str, Meaning)> {
        let work = self.data_size.iter().chain(&self.iterations).flat_map(Term::columns);
        let workers = || self.machines.iter().flat_map(Term::columns);
        let is_alone = workers().count() == 1;
        let of_workers = |column: &str| {
            let is_named = |words: &[&str]| words.iter().any(|word| column.to_lowercase().contains(word));
            if is_alone && is_named(&CORE_COLUMNS) {
                Meaning::Cores
            } else if is_named(&GPU_COLUMNS) || self.batch_size.is_some() {
                Meaning::Replicas
            } else {
                Meaning::Workers
            }
        };
        work.map(|column| (column, Meaning::Work)).chain(workers().map(|column| (column, of_workers(column)))).collect()
    }
}

/// Why a rival has no prediction.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RivalError {
    /// A column that the formula needs is not named.
    #[error("no column of the {role} is named ({option})")]
    Role {
        /// What the column would contain.
        role: &'static str,
        /// The option that specifies it.
        option: &'static str,
    },
    /// A named column is not numeric.
    #[error("the column {0} is not a numeric feature")]
    NotNumeric(String),
    /// A value is not above 0, but the formula divides by it or takes its logarithm.
    #[error("{term} is {value} in a row and must be above 0")]
    NotPositive {
        /// The product of columns.
        term: String,
        /// Its value.
        value: f64,
    },
    /// No column distinguishes contexts.
    #[error("all rows are of one context, so that it is the same as {0}")]
    OneContext(&'static str),
    /// There is no run to fit.
    #[error("no completed run is left to learn from")]
    NoRun,
}
