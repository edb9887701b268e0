//! The columns that an ensemble was fitted on, and the alignment of questions to them.

use serde::{Deserialize, Serialize};

use foreglow_shared::distinct;

use crate::dataset::{Column, DatasetError, Features, Points, UNSEEN, Values};

/// Names and kinds of the columns; levels of a category are sorted alphabetically.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Schema {
    /// In the order of the table.
    pub(crate) columns: Vec<Kind>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Numeric { name: String },
    Category { name: String, levels: Vec<String> },
}

impl Schema {
    pub(crate) fn of(features: &Features) -> Self {
        let kind = |column: &Column| match &column.values {
            Values::Numeric { .. } => Kind::Numeric { name: column.name.clone() },
            Values::Category { levels, codes } => {
                let used = distinct(codes.iter().map(|code| levels[*code as usize].clone()));
                Kind::Category { name: column.name.clone(), levels: used }
            }
        };
        Self { columns: features.columns().iter().map(kind).collect() }
    }

    /// Returns the names of the numeric columns, in the order of a point's numbers.
    pub(crate) fn numeric(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter_map(|column| match column {
            Kind::Numeric { name } => Some(name.as_str()),
            Kind::Category { .. } => None,
        })
    }

    /// Returns the names and levels of the categories, in the order of a point's codes.
    pub(crate) fn category(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.columns.iter().filter_map(|column| match column {
            Kind::Numeric { .. } => None,
            Kind::Category { name, levels } => Some((name.as_str(), levels.as_slice())),
        })
    }

    /// Returns questions with the columns of this schema, found by name.
    ///
    /// # Errors
    /// A column is missing or is of the other kind.
    pub(crate) fn align(&self, features: &Features) -> Result<Features, DatasetError> {
        let find = |kind: &Kind| {
            let (name, numeric) = match kind {
                Kind::Numeric { name } => (name, true),
                Kind::Category { name, .. } => (name, false),
            };
            let column = features.columns().iter().find(|column| column.name == *name);
            let column = column.ok_or_else(|| DatasetError::NoColumn { name: name.clone() })?;
            match &column.values {
                Values::Numeric { .. } if numeric => Ok(column.clone()),
                Values::Category { .. } if !numeric => Ok(column.clone()),
                _ => Err(DatasetError::Kind { name: name.clone(), numeric }),
            }
        };
        Features::new(self.columns.iter().map(find).collect::<Result<_, _>>()?)
    }

    /// Returns rows with this schema's codes; an unknown name is [`UNSEEN`]. Negative zero becomes
    /// zero.
    pub(crate) fn points(&self, features: &Features) -> Points {
        let mut points = Points::of(features);
        points.numeric.iter_mut().flatten().for_each(|x| *x += 0.0);
        let names = features.columns().iter().filter_map(|column| match &column.values {
            Values::Category { levels, .. } => Some(levels),
            Values::Numeric { .. } => None,
        });
        for (column, (names, (_, own))) in names.zip(self.category()).enumerate() {
            let code = |name: &String| own.binary_search(name).map_or(UNSEEN, |level| level as u32);
            let codes: Vec<u32> = names.iter().map(code).collect();
            points.category.iter_mut().for_each(|row| row[column] = codes[row[column] as usize]);
        }
        points
    }
}
