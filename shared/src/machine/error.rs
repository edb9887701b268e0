//! Reasons why a catalog cannot be used.

use crate::TableError;

/// Why a catalog of machine types cannot be used. `Display` gives one sentence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The text has no usable machine type.
    #[error("it has no usable machine type; give at least one line below the header, with a price above 0")]
    Empty,
    /// The text is not a table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Columns are missing.
    #[error("the {} missing; a catalog has {}", columns_are(.missing), .required.join(", "))]
    Columns {
        /// The missing columns.
        missing: Vec<&'static str>,
        /// All columns that the format requires.
        required: &'static [&'static str],
    },
    /// A cell is not a valid value.
    #[error("line {line}: {column} of {machine} is {value:?}; give {must}")]
    Cell {
        /// Line, counted from 1.
        line: u64,
        /// The column.
        column: &'static str,
        /// The machine type.
        machine: String,
        /// The text of the cell.
        value: String,
        /// What the cell must hold.
        must: &'static str,
    },
    /// A price is 0.
    #[error(
        "line {line}: {column} of {machine} is 0; a machine that costs nothing would always win, so give its price or \
         leave the line out"
    )]
    PriceZero {
        /// Line, counted from 1.
        line: u64,
        /// The column.
        column: &'static str,
        /// The machine type.
        machine: String,
    },
    /// The prices are in two currencies.
    #[error("prices are in {first} and in {second}, which cannot be compared; give all prices in one currency")]
    TwoCurrencies {
        /// One currency.
        first: String,
        /// The other.
        second: String,
    },
    /// The currency is not an ISO 4217 code.
    #[error("line {line}: the currency is {value:?}; give a code of three capital letters, such as USD")]
    Currency {
        /// Line, counted from 1.
        line: u64,
        /// The text of the cell.
        value: String,
    },
    /// A machine type appears twice.
    #[error("{machine} of {provider} appears twice; keep one line of each machine type")]
    Twice {
        /// The machine type.
        machine: String,
        /// Its provider.
        provider: String,
    },
    /// A region that the catalog lacks.
    #[error("there is no machine type in the region {region}; the catalog has {}", quoted(.known))]
    Region {
        /// The region.
        region: String,
        /// Regions of the catalog.
        known: Vec<String>,
    },
    /// A name that the catalog lacks.
    #[error("there is no machine type {name} in the catalog; `foreglow machines` lists them")]
    Unknown {
        /// The name.
        name: String,
    },
}

/// Returns the names in quotes, because some have commas.
fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// Returns the subject and the verb of a sentence about columns.
fn columns_are(columns: &[&str]) -> String {
    match columns {
        [column] => format!("column {column} is"),
        columns => format!("columns {} are", columns.join(", ")),
    }
}
