//! Rows of tables by the names of their columns.

use std::collections::BTreeMap;

use foreglow_shared::{Table, TableRow};

use crate::PublicError;

/// The columns of a table by name.
pub(crate) struct Columns<'a>(BTreeMap<&'a str, usize>);

impl<'a> Columns<'a> {
    pub(crate) fn new(table: &'a Table) -> Self {
        Self(table.header().iter().enumerate().map(|(index, name)| (name.as_str(), index)).collect())
    }

    pub(crate) fn text<'r>(&self, row: TableRow<'r>, name: &str) -> Result<&'r str, PublicError> {
        let index = self.0.get(name).ok_or_else(|| PublicError::Table(format!("the column {name} is missing")))?;
        Ok(row.get(*index).unwrap_or_default())
    }

    pub(crate) fn optional_number(&self, row: TableRow<'_>, name: &str) -> Result<Option<f64>, PublicError> {
        let text = self.text(row, name)?;
        if text.is_empty() {
            return Ok(None);
        }
        let number = foreglow_shared::number(text).filter(|number| *number > 0.0);
        number.map(Some).ok_or_else(|| PublicError::Table(format!("{name} is {text:?}, not a number above 0")))
    }

    pub(crate) fn number(&self, row: TableRow<'_>, name: &str) -> Result<f64, PublicError> {
        let number = self.optional_number(row, name)?;
        number.ok_or_else(|| PublicError::Table(format!("{name} is missing in a row")))
    }

    pub(crate) fn count(&self, row: TableRow<'_>, name: &str) -> Result<u32, PublicError> {
        self.number(row, name).map(|number| number as u32)
    }
}

/// Reads every row of a table.
pub(crate) fn read_rows<T>(
    text: &str,
    read: impl Fn(&Columns<'_>, TableRow<'_>) -> Result<T, PublicError>,
) -> Result<Vec<T>, PublicError> {
    let table = Table::parse(text).map_err(|error| PublicError::Table(error.to_string()))?;
    let columns = Columns::new(&table);
    table.rows().map(|row| read(&columns, row)).collect()
}
