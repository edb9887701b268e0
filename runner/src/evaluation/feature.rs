//! Features as a person names them: `machines:inverse`.

use foreglow_model::Transform;

use crate::exit::unusable;

/// How a column is to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers where every cell is one, names otherwise.
    Automatic,
    /// Numbers, seen through a transform.
    Numbers(Transform),
    /// Names.
    Names,
}

/// A feature and how it is to be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The column's name.
    pub column: String,
    /// Its kind.
    pub kind: Kind,
}

impl Feature {
    /// Reads `COLUMN` or `COLUMN:KIND`; a column whose name has a colon is found whole.
    ///
    /// # Errors
    /// The table has no such column, or there is no such kind.
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

/// The sentence for a column that is not there.
pub fn no_column(name: &str, header: &[String]) -> anyhow::Error {
    unusable(format!("there is no column {name:?}; the table has {}", header.join(", ")))
}
