//! Features as the user writes them, such as `machines:inverse`.

use foreglow_exit::unusable;
use foreglow_model::Transform;

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
}

/// Returns the error for a missing column.
pub fn no_column(name: &str, header: &[String]) -> anyhow::Error {
    unusable(format!("there is no column {name:?}; the table has {}", header.join(", ")))
}
