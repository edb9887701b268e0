//! Tables of runs with any features, numeric or categorical: the input of every predictor except
//! the published one.

mod points;

use serde::{Deserialize, Serialize};

pub(crate) use crate::dataset::points::{OUTLIER, Points, Training, UNSEEN};

/// Weight of a disturbed run.
const DISTURBED: f64 = 0.25;

/// Rows of features, column by column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Features {
    columns: Vec<Column>,
    rows: usize,
}

/// One feature of all rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name of the feature.
    pub name: String,
    /// One value per row.
    pub values: Values,
}

/// The values of one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Numbers, all finite.
    Numeric {
        /// One per row.
        values: Vec<f64>,
        /// Transform before learning; `None` leaves the choice to the predictor.
        transform: Option<Transform>,
    },
    /// Unordered names, such as machine types.
    Category {
        /// Distinct names.
        levels: Vec<String>,
        /// One index into `levels` per row.
        codes: Vec<u32>,
    },
}

/// Transform of a numeric feature x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transform {
    /// 1/x.
    Inverse,
    /// ln x.
    Log,
    /// x.
    Linear,
}

/// Runs with their features and completion times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dataset {
    features: Features,
    secs: Vec<f64>,
    censored: Vec<bool>,
    /// Weight of each run, in (0, 1].
    weights: Vec<f64>,
}

/// Why columns are not a valid table.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The table has no row.
    #[error("there is no row to learn from; give at least one")]
    Empty,
    /// The table has no feature.
    #[error("there is no feature to predict from; name at least one column")]
    NoFeature,
    /// Columns have different lengths.
    #[error("the column {name} has {rows} rows and the table has {expected}; give each row a value")]
    Length {
        /// The column.
        name: String,
        /// Its number of values.
        rows: usize,
        /// Number of rows of the table.
        expected: usize,
    },
    /// A feature is not finite.
    #[error("row {row} of the column {name} is {value}; give a finite number, or declare the column a category")]
    NotFinite {
        /// The column.
        name: String,
        /// The row, counted from 1.
        row: usize,
        /// Its value.
        value: f64,
    },
    /// A code has no name.
    #[error("row {row} of the column {name} has no name; give it one")]
    NoLevel {
        /// The column.
        name: String,
        /// The row, counted from 1.
        row: usize,
    },
    /// A question lacks a column of the training data.
    #[error("there is no column {name}, which the runs had; give each question a value of it")]
    NoColumn {
        /// The column.
        name: String,
    },
    /// A column has numbers here and names there, or the other way round.
    #[error("the column {name} has {} in the runs and {} here; give both the same kind",
        if *.numeric { "numbers" } else { "names" }, if *.numeric { "names" } else { "numbers" })]
    Kind {
        /// The column.
        name: String,
        /// Whether it has numbers in the training data.
        numeric: bool,
    },
    /// A time is invalid.
    #[error("row {row} has the time {secs} s; it must be a number of seconds above 0")]
    Time {
        /// The row, counted from 1.
        row: usize,
        /// Its value, seconds.
        secs: f64,
    },
}

impl Column {
    /// Creates a column of names.
    pub fn category(name: impl Into<String>, values: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut levels: Vec<String> = Vec::new();
        let mut index = std::collections::BTreeMap::new();
        let mut code = |value: &str| {
            *index.entry(value.to_owned()).or_insert_with(|| {
                levels.push(value.to_owned());
                u32::try_from(levels.len() - 1).expect("a table in memory has fewer than 2^32 rows")
            })
        };
        let codes = values.into_iter().map(|value| code(value.as_ref())).collect();
        Self { name: name.into(), values: Values::Category { levels, codes } }
    }

    /// Creates a column of numbers.
    pub fn numeric(name: impl Into<String>, values: Vec<f64>, transform: Option<Transform>) -> Self {
        Self { name: name.into(), values: Values::Numeric { values, transform } }
    }

    fn rows(&self) -> usize {
        match &self.values {
            Values::Numeric { values, .. } => values.len(),
            Values::Category { codes, .. } => codes.len(),
        }
    }

    fn check(&self, expected: usize) -> Result<(), DatasetError> {
        let name = || self.name.clone();
        if self.rows() != expected {
            return Err(DatasetError::Length { name: name(), rows: self.rows(), expected });
        }
        match &self.values {
            Values::Numeric { values, .. } => match values.iter().position(|value| !value.is_finite()) {
                Some(row) => Err(DatasetError::NotFinite { name: name(), row: row + 1, value: values[row] }),
                None => Ok(()),
            },
            Values::Category { levels, codes } => match codes.iter().position(|code| *code as usize >= levels.len()) {
                Some(row) => Err(DatasetError::NoLevel { name: name(), row: row + 1 }),
                None => Ok(()),
            },
        }
    }

    fn select(&self, rows: &[usize]) -> Self {
        let values = match &self.values {
            Values::Numeric { values, transform } => {
                Values::Numeric { values: rows.iter().map(|row| values[*row]).collect(), transform: *transform }
            }
            Values::Category { levels, codes } => {
                Values::Category { levels: levels.clone(), codes: rows.iter().map(|row| codes[*row]).collect() }
            }
        };
        Self { name: self.name.clone(), values }
    }
}

impl Features {
    /// Creates a table from columns of equal length.
    ///
    /// # Errors
    /// There is no column, columns have different lengths, or a number is not finite.
    pub fn new(columns: Vec<Column>) -> Result<Self, DatasetError> {
        let rows = columns.first().ok_or(DatasetError::NoFeature)?.rows();
        columns.iter().try_for_each(|column| column.check(rows))?;
        Ok(Self { columns, rows })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the columns, in the order in which they were given.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns some of the rows, in the order of the indices.
    ///
    /// # Panics
    /// An index is not below [`Features::rows`].
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { columns: self.columns.iter().map(|column| column.select(rows)).collect(), rows: rows.len() }
    }
}

impl Dataset {
    /// Creates a table of runs with their times in seconds; where `censored` is true, the time is a
    /// lower bound.
    ///
    /// # Errors
    /// There is no row, or a time is not finite and above 0.
    pub fn new(features: Features, secs: Vec<f64>, censored: Vec<bool>) -> Result<Self, DatasetError> {
        let expected = features.rows();
        if expected == 0 {
            return Err(DatasetError::Empty);
        }
        for (name, rows) in [("of times", secs.len()), ("of censoring", censored.len())] {
            if rows != expected {
                return Err(DatasetError::Length { name: name.into(), rows, expected });
            }
        }
        match secs.iter().position(|secs| !(secs.is_finite() && *secs > 0.0)) {
            Some(row) => Err(DatasetError::Time { row: row + 1, secs: secs[row] }),
            None => Ok(Self { weights: vec![1.0; secs.len()], features, secs, censored }),
        }
    }

    /// Marks disturbed runs: they get a lower weight, and count only if no other run has their
    /// setting.
    ///
    /// # Errors
    /// The number of values differs from the number of runs.
    pub fn with_disturbed(mut self, disturbed: &[bool]) -> Result<Self, DatasetError> {
        if disturbed.len() != self.secs.len() {
            let name = "of disturbances".into();
            return Err(DatasetError::Length { name, rows: disturbed.len(), expected: self.secs.len() });
        }
        self.weights = disturbed.iter().map(|disturbed| if *disturbed { DISTURBED } else { 1.0 }).collect();
        Ok(self)
    }

    /// Replaces the features of the runs by others of these.
    pub(crate) fn with_features(self, features: Features) -> Self {
        Self { features, ..self }
    }

    /// Returns the features of the runs.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Returns the weight of each run, in (0, 1].
    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Returns the completion time of each run, seconds.
    pub fn secs(&self) -> &[f64] {
        &self.secs
    }

    /// Returns whether the time of each run is only a lower bound.
    pub fn censored(&self) -> &[bool] {
        &self.censored
    }

    /// Returns the completed runs; `None` if all times are lower bounds.
    pub fn completed(&self) -> Option<Self> {
        let rows: Vec<usize> = (0..self.secs.len()).filter(|row| !self.censored[*row]).collect();
        (!rows.is_empty()).then(|| self.select(&rows))
    }

    /// Returns some of the runs, in the order of the indices.
    ///
    /// # Panics
    /// An index is not below the number of rows.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            features: self.features.select(rows),
            secs: rows.iter().map(|row| self.secs[*row]).collect(),
            censored: rows.iter().map(|row| self.censored[*row]).collect(),
            weights: rows.iter().map(|row| self.weights[*row]).collect(),
        }
    }
}
