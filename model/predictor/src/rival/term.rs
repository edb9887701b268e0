//! Products of columns, such as batch·pixels², with which the user tells a rival what columns mean.

use std::fmt;
use std::str::FromStr;

use crate::rival::RivalError;
use crate::{Features, Values};

/// A product of numeric columns, with repetitions. Parsed from and displayed as
/// `batch*pixels*pixels`.
///
/// ```
/// let term: foreglow_predictor::Term = "batch * pixels*pixels".parse().unwrap();
/// assert_eq!(term.to_string(), "batch*pixels*pixels");
/// assert!("batch*".parse::<foreglow_predictor::Term>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    columns: Vec<String>,
}

/// Error for a product that lacks a factor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no column; write COLUMN, or a product such as COLUMN*COLUMN")]
pub struct TermError(String);

impl Term {
    /// Creates a product of one column.
    pub fn new(column: impl Into<String>) -> Self {
        Self { columns: vec![column.into()] }
    }

    /// Returns the columns, in the order in which they were named.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(String::as_str)
    }

    /// Returns the product in every row.
    ///
    /// # Errors
    /// A column is not a numeric feature, or the product is not above 0 in every row.
    pub(crate) fn values(&self, features: &Features) -> Result<Vec<f64>, RivalError> {
        let mut product = vec![1.0; features.rows()];
        for name in self.columns() {
            let column = features.columns().iter().find(|column| column.name == *name);
            let Some(Values::Numeric { values, .. }) = column.map(|column| &column.values) else {
                return Err(RivalError::NotNumeric(name.to_owned()));
            };
            product.iter_mut().zip(values).for_each(|(product, value)| *product *= value);
        }
        match product.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
            Some(value) => Err(RivalError::NotPositive { term: self.to_string(), value: *value }),
            None => Ok(product),
        }
    }
}

impl FromStr for Term {
    type Err = TermError;

    fn from_str(text: &str) -> Result<Self, TermError> {
        let columns: Vec<String> = text.split('*').map(|name| name.trim().to_owned()).collect();
        if columns.iter().any(String::is_empty) { Err(TermError(text.to_owned())) } else { Ok(Self { columns }) }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.columns.join("*"))
    }
}
