//! Roles of columns in the rivals' formulas.

use foreglow_model::{Features, Roles, Term};

use crate::evaluation::plan::is_feature;

/// Roles of columns
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Roles of columns in the rivals' formulas (COLUMN, or a product COLUMN*COLUMN)")]
pub struct RoleArgs {
    /// Number of machines, for Ernest [default: the only :inverse feature]
    #[arg(long, value_name = "COLUMN", requires = "input")]
    machines: Option<Term>,

    /// Size of the data, or the share of it that was processed, for Ernest and linear scaling
    #[arg(long, value_name = "COLUMN", requires = "input")]
    data_size: Option<Term>,

    /// Images per step, for the end-to-end regression
    #[arg(long, value_name = "COLUMN", requires = "input")]
    batch_size: Option<Term>,

    /// Number of steps, for the end-to-end regression
    #[arg(long, value_name = "COLUMN", requires = "input")]
    iterations: Option<Term>,

    /// Term of a custom non-negative regression; may be repeated
    #[arg(long = "term", value_name = "COLUMN", requires = "input")]
    terms: Vec<Term>,
}

impl RoleArgs {
    /// Returns the roles; `inverse` lists the columns given as inverse.
    ///
    /// # Errors
    /// A named column is not a feature.
    pub fn roles(&self, features: &Features, inverse: &[String]) -> anyhow::Result<Roles> {
        let given = [
            ("--machines", &self.machines),
            ("--data-size", &self.data_size),
            ("--batch-size", &self.batch_size),
            ("--iterations", &self.iterations),
        ];
        let named = given.into_iter().filter_map(|(option, term)| Some((option, term.as_ref()?)));
        for (option, term) in named.chain(self.terms.iter().map(|term| ("--term", term))) {
            term.columns().try_for_each(|name| is_feature(name, features, option))?;
        }
        let machines = match (&self.machines, inverse) {
            (None, [only]) => Some(Term::new(only)),
            (machines, _) => machines.clone(),
        };
        Ok(Roles {
            machines,
            data_size: self.data_size.clone(),
            batch_size: self.batch_size.clone(),
            iterations: self.iterations.clone(),
            terms: self.terms.clone(),
        })
    }
}
