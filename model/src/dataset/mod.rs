//! Tables of runs with any features, numeric or categorical: what every predictor but the published
//! one learns from.

mod points;

use serde::{Deserialize, Serialize};

pub(crate) use crate::dataset::points::{OUTLIER, Points, Training, UNSEEN};

/// Weight of a run that was disturbed.
const DISTURBED: f64 = 0.25;

/// Rows of features, column by column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Features {
    columns: Vec<Column>,
    rows: usize,
}

/// One feature of every row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// What a person calls it.
    pub name: String,
    /// One value a row.
    pub values: Values,
}

/// The values of one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Numbers, all finite.
    Numeric {
        /// One a row.
        values: Vec<f64>,
        /// How a learner should see them; `None` leaves the choice to the predictor.
        transform: Option<Transform>,
    },
    /// Names without an order, such as a machine type.
    Category {
        /// Every name once.
        levels: Vec<String>,
        /// One index into `levels` a row.
        codes: Vec<u32>,
    },
}

/// How a learner sees a number x.
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

/// Runs: their features and how long each took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dataset {
    features: Features,
    secs: Vec<f64>,
    censored: Vec<bool>,
    /// Weight of each run, in (0, 1].
    weights: Vec<f64>,
}

/// Why columns make no table.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// No row.
    #[error("there is no row to learn from; give at least one")]
    Empty,
    /// No feature.
    #[error("there is no feature to predict from; name at least one column")]
    NoFeature,
    /// Columns of different lengths.
    #[error("the column {name} has {rows} rows and the table has {expected}; give each row a value")]
    Length {
        /// The column.
        name: String,
        /// Its values.
        rows: usize,
        /// Rows of the table.
        expected: usize,
    },
    /// A feature that is not finite.
    #[error("row {row} of the column {name} is {value}; give a finite number, or declare the column a category")]
    NotFinite {
        /// The column.
        name: String,
        /// The row, counted from 1.
        row: usize,
        /// What it holds.
        value: f64,
    },
    /// A code without a name.
    #[error("row {row} of the column {name} has no name; give it one")]
    NoLevel {
        /// The column.
        name: String,
        /// The row, counted from 1.
        row: usize,
    },
    /// A question without one of the columns that were learnt from.
    #[error("there is no column {name}, which the runs had; give each question a value of it")]
    NoColumn {
        /// The column.
        name: String,
    },
    /// A column of numbers that was one of names, or the other way round.
    #[error("the column {name} has {} in the runs and {} here; give both the same kind",
        if *.numeric { "numbers" } else { "names" }, if *.numeric { "names" } else { "numbers" })]
    Kind {
        /// The column.
        name: String,
        /// Whether it had numbers in the runs.
        numeric: bool,
    },
    /// A time that is none.
    #[error("row {row} has the time {secs} s; it must be a number of seconds above 0")]
    Time {
        /// The row, counted from 1.
        row: usize,
        /// What it holds.
        secs: f64,
    },
}

impl Column {
    /// A column of names.
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

    /// A column of numbers.
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
    /// A table of columns that have as many rows each.
    ///
    /// # Errors
    /// No column, columns of different lengths, or a number that is not finite.
    pub fn new(columns: Vec<Column>) -> Result<Self, DatasetError> {
        let rows = columns.first().ok_or(DatasetError::NoFeature)?.rows();
        columns.iter().try_for_each(|column| column.check(rows))?;
        Ok(Self { columns, rows })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns, in the order in which they were given.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Some of the rows, in the order of the indices.
    ///
    /// # Panics
    /// An index is not below [`Features::rows`].
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { columns: self.columns.iter().map(|column| column.select(rows)).collect(), rows: rows.len() }
    }
}

impl Dataset {
    /// Runs with their times in seconds; where `censored` is true the time is a lower bound.
    ///
    /// # Errors
    /// No row, or a time that is not finite and above 0.
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

    /// The same runs, of which some are known to have been disturbed: they count only where no
    /// other run has their setting, and less.
    ///
    /// # Errors
    /// There is not one value for each run.
    pub fn with_disturbed(mut self, disturbed: &[bool]) -> Result<Self, DatasetError> {
        if disturbed.len() != self.secs.len() {
            let name = "of disturbances".into();
            return Err(DatasetError::Length { name, rows: disturbed.len(), expected: self.secs.len() });
        }
        self.weights = disturbed.iter().map(|disturbed| if *disturbed { DISTURBED } else { 1.0 }).collect();
        Ok(self)
    }

    /// What each run was.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Weight of each run, in (0, 1].
    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// How long each run took, seconds.
    pub fn secs(&self) -> &[f64] {
        &self.secs
    }

    /// Whether the time of each run is only a lower bound.
    pub fn censored(&self) -> &[bool] {
        &self.censored
    }

    /// The runs whose times are no lower bounds; `None` where there is none.
    pub fn completed(&self) -> Option<Self> {
        let rows: Vec<usize> = (0..self.secs.len()).filter(|row| !self.censored[*row]).collect();
        (!rows.is_empty()).then(|| self.select(&rows))
    }

    /// Some of the runs, in the order of the indices.
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
