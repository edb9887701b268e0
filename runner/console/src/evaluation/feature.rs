//! Features as the user writes them, such as `machines:inverse`.

use foreglow_exit::unusable;
use foreglow_model::{Column, Transform};
use foreglow_shared::{TableRow, number};

/// Interpretation of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numeric if every cell is a number, otherwise categorical.
    Automatic,
    /// Numeric with a fixed transform.
    Numbers(Transform),
    /// Categorical.
    Names,
}

/// A feature and its interpretation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Name of the column.
    pub column: String,
    /// Interpretation.
    pub kind: Kind,
}

impl Feature {
    /// Parses `COLUMN` or `COLUMN:KIND`. A column whose whole name contains a colon takes
    /// precedence.
    ///
    /// # Errors
    /// The table has no such column, or the kind is unknown.
    pub fn resolve(text: &str, header: &[String]) -> anyhow::Result<Self> {
        let is_column = |name: &str| header.iter().any(|column| column == name);
        if is_column(text) {
            return Ok(Self { column: text.to_owned(), kind: Kind::Automatic });
        }
        let Some((column, kind)) = text.rsplit_once(':').filter(|(column, _)| is_column(column)) else {
            return Err(no_column(text.rsplit_once(':').map_or(text, |(column, _)| column), header));
        };
        let kind = match kind {
            "inverse" => Kind::Numbers(Transform::Inverse),
            "log" => Kind::Numbers(Transform::Log),
            "linear" => Kind::Numbers(Transform::Linear),
            "category" => Kind::Names,
            other => {
                let column = column.to_owned();
                return Err(unusable(format!(
                    "the column {column} has no transform {other:?}; write {column} or {column}:inverse, :log, :linear \
                     or :category"
                )));
            }
        };
        Ok(Self { column: column.to_owned(), kind })
    }

    /// Returns the values of some rows in the column `place`.
    ///
    /// # Errors
    /// The line of the first invalid cell and what is wrong: an automatic column must have only
    /// numbers or only names.
    pub fn column(&self, place: usize, rows: &[TableRow<'_>]) -> Result<Column, (u64, String)> {
        let cells = || rows.iter().map(|row| row.get(place).unwrap_or_default());
        let has_names = match self.kind {
            Kind::Names => true,
            Kind::Numbers(_) => false,
            Kind::Automatic => cells().next().is_some_and(|cell| number(cell).is_none()),
        };
        let mut numbers = Vec::new();
        for (row, cell) in rows.iter().zip(cells()) {
            let value = self.number(cell, has_names).map_err(|sentence| (row.line(), sentence))?;
            numbers.extend(value);
        }
        if has_names {
            // `8` and `8.0` are the same name.
            let name = |cell: &str| number(cell).map_or_else(|| cell.to_owned(), |value: f64| value.to_string());
            let names: Vec<String> = cells().map(name).collect();
            return Ok(Column::category(self.column.clone(), names.iter().map(String::as_str)));
        }
        let transform = if let Kind::Numbers(transform) = self.kind { Some(transform) } else { None };
        Ok(Column::numeric(self.column.clone(), numbers, transform))
    }

    /// Returns the number of a cell; `None` for a name.
    fn number(&self, cell: &str, has_names: bool) -> Result<Option<f64>, String> {
        let column = &self.column;
        let mixed = |what: &str| {
            Err(format!(
                "the column {column} is {cell:?}, {what}; write --feature {column}:category if all its cells are names, \
                 correct the cell, or leave such rows out with --only '{column}!={cell}'"
            ))
        };
        match (number(cell), self.kind) {
            (None, _) if cell.is_empty() => Err(format!(
                "the column {column} is empty; give it a value, or leave such rows out with --only '{column}!='"
            )),
            (_, Kind::Names) => Ok(None),
            (Some(_), Kind::Automatic) if has_names => mixed("a number among names"),
            (None, Kind::Automatic) if has_names => Ok(None),
            (None, Kind::Automatic) => mixed("a name among numbers"),
            (None, _) => Err(format!("the column {column} is {cell:?}, which is not a finite number")),
            (Some(0.0), Kind::Numbers(Transform::Inverse)) => {
                Err(format!("the column {column} is 0, which has no inverse"))
            }
            (Some(value), Kind::Numbers(Transform::Log)) if value <= 0.0 => {
                Err(format!("the column {column} is {value}, which has no logarithm"))
            }
            (value, _) => Ok(value),
        }
    }
}

/// Returns the error for a missing column.
pub fn no_column(name: &str, header: &[String]) -> anyhow::Error {
    unusable(format!("there is no column {name:?}; the table has {}", header.join(", ")))
}
