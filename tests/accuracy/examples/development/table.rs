//! A published table of runs, one row for each setting.

use std::path::Path;

use anyhow::Context as _;
use foreglow_model::{Column, Dataset, Ensemble, Features, FitError, Meaning, Setting, Settings, Values};

/// The share of the images that a simulated job processes: the time never decreases with it.
const SAMPLING_RATE: &str = "sampling rate";

/// Runs; the repeats of a setting are merged into their median.
#[derive(Clone)]
pub struct Table(pub Dataset);

/// The meaning of a file's columns.
pub struct Columns<'a> {
    pub secs: &'a str,
    /// Column that is 1 if the time is a lower bound; such rows are left out.
    pub stopped: Option<&'a str>,
    pub numeric: &'a [&'a str],
    pub category: &'a [&'a str],
}

impl Table {
    /// Reads a file of comma- or tab-separated values. `keep` gets a function that returns a row's
    /// value in a named column.
    ///
    /// # Errors
    /// The file cannot be read, lacks a column, or has a value that is not a number.
    pub fn read(
        path: &Path,
        columns: &Columns,
        keep: impl Fn(&dyn Fn(&str) -> String) -> bool,
    ) -> anyhow::Result<Self> {
        let tabs = path.extension().is_some_and(|extension| extension == "tsv");
        let file = || format!("{}", path.display());
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(if tabs { b'\t' } else { b',' })
            .trim(csv::Trim::All)
            .from_path(path)
            .with_context(file)?;
        let header = reader.headers()?.clone();
        let place = |name: &str| header.iter().position(|column| column == name);
        let wanted = columns.numeric.iter().chain(columns.category).chain([&columns.secs]).chain(&columns.stopped);
        for name in wanted {
            place(name).with_context(|| format!("{} has no column {name}", file()))?;
        }
        let mut rows = Vec::new();
        for row in reader.records() {
            let row = row.with_context(file)?;
            let cell = |name: &str| place(name).and_then(|place| row.get(place)).unwrap_or_default().to_owned();
            if keep(&cell) && columns.stopped.is_none_or(|name| cell(name) == "0") {
                rows.push(row);
            }
        }
        let cells = |name: &str| -> Vec<&str> {
            rows.iter().map(|row| place(name).and_then(|place| row.get(place)).unwrap_or_default()).collect()
        };
        let numbers = |name: &str| -> anyhow::Result<Vec<f64>> {
            cells(name).iter().map(|cell| cell.parse().with_context(|| format!("{}: {cell}", file()))).collect()
        };
        let numeric = columns.numeric.iter().map(|name| Ok(Column::numeric(*name, numbers(name)?, None)));
        let category = columns.category.iter().map(|name| Ok(Column::category(*name, cells(name))));
        let features = Features::new(numeric.chain(category).collect::<anyhow::Result<_>>()?)?;
        let runs = Dataset::new(features, numbers(columns.secs)?, vec![false; rows.len()])?;
        Ok(Self(Settings::of(&runs).medians().clone()))
    }

    /// Builds the table of one job's runs; `None` without runs.
    pub fn of_settings(settings: &[Setting], secs: Vec<f64>) -> Option<Self> {
        let column =
            |name: &str, value: fn(&Setting) -> f64| Column::numeric(name, settings.iter().map(value).collect(), None);
        let features = Features::new(vec![
            column("executors", |setting| f64::from(setting.executors)),
            column("cores", |setting| f64::from(setting.cores_per_executor)),
            column(SAMPLING_RATE, |setting| setting.sampling_rate),
        ]);
        let stopped = vec![false; settings.len()];
        features.and_then(|features| Dataset::new(features, secs, stopped)).ok().map(Self)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.0.secs().len()
    }

    /// Fits the default predictor.
    ///
    /// # Errors
    /// The predictor cannot be fitted.
    pub fn fit(&self) -> Result<Ensemble, FitError> {
        Ensemble::fit_known(&self.0, &[(SAMPLING_RATE, Meaning::Work)])
    }

    /// Returns a numeric column.
    ///
    /// # Panics
    /// The table has no numeric column with this name.
    pub fn numbers(&self, name: &str) -> &[f64] {
        let column = self.0.features().columns().iter().find(|column| column.name == name);
        match column.map(|column| &column.values) {
            Some(Values::Numeric { values, .. }) => values,
            _ => panic!("no column of numbers is called {name}"),
        }
    }

    /// Returns a categorical column.
    ///
    /// # Panics
    /// The table has no categorical column with this name.
    pub fn names(&self, name: &str) -> Vec<&str> {
        let column = self.0.features().columns().iter().find(|column| column.name == name);
        match column.map(|column| &column.values) {
            Some(Values::Category { levels, codes }) => {
                codes.iter().map(|code| levels[*code as usize].as_str()).collect()
            }
            _ => panic!("no column of names is called {name}"),
        }
    }

    /// Returns the distinct numbers of a column, ascending.
    pub fn levels(&self, name: &str) -> Vec<f64> {
        let mut levels = self.numbers(name).to_vec();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        levels
    }

    /// Returns the rows for which `keep` is true; `None` if no row is left.
    pub fn keep(&self, keep: impl Fn(usize) -> bool) -> Option<Self> {
        let rows: Vec<usize> = (0..self.len()).filter(|row| keep(*row)).collect();
        self.select(&rows)
    }

    /// Returns the given rows; `None` without rows.
    pub fn select(&self, rows: &[usize]) -> Option<Self> {
        (!rows.is_empty()).then(|| Self(self.0.select(rows)))
    }

    /// Appends the rows of a table with the same columns.
    ///
    /// # Errors
    /// The columns differ.
    pub fn and(&self, others: &Self) -> anyhow::Result<Self> {
        let pair = |(own, other): (&Column, &Column)| {
            let values = |column: &Column| match &column.values {
                Values::Numeric { values, .. } => values.clone(),
                Values::Category { .. } => Vec::new(),
            };
            match &own.values {
                Values::Numeric { .. } => Column::numeric(&own.name, [values(own), values(other)].concat(), None),
                Values::Category { .. } => {
                    Column::category(&own.name, [self.names(&own.name), others.names(&own.name)].concat())
                }
            }
        };
        let (own, other) = (self.0.features().columns(), others.0.features().columns());
        let features = Features::new(own.iter().zip(other).map(pair).collect())?;
        let rows = self.len() + others.len();
        Ok(Self(Dataset::new(features, [self.0.secs(), others.0.secs()].concat(), vec![false; rows])?))
    }

    /// Keeps one numeric column, and merges all others into one categorical column.
    ///
    /// # Errors
    /// The columns do not form a valid table.
    pub fn with_context(&self, number: &str, context: &str) -> anyhow::Result<Self> {
        let others: Vec<&[f64]> = self
            .0
            .features()
            .columns()
            .iter()
            .filter(|column| column.name != number)
            .map(|column| self.numbers(&column.name))
            .collect();
        let name = |row: usize| format!("{:?}", others.iter().map(|column| column[row]).collect::<Vec<f64>>());
        let numbers = Column::numeric(number, self.numbers(number).to_vec(), None);
        let names = Column::category(context, (0..self.len()).map(name));
        let features = Features::new(vec![numbers, names])?;
        Ok(Self(Dataset::new(features, self.0.secs().to_vec(), vec![false; self.len()])?))
    }

    /// Concatenates tables with the same columns; a new column holds each table's name.
    ///
    /// # Errors
    /// The tables do not form a valid table.
    pub fn joined(column: &str, tables: &[(&str, &Self)]) -> anyhow::Result<Self> {
        let named = |(name, table): &(&str, &Self)| {
            let names = Column::category(column, vec![*name; table.len()]);
            let features = Features::new([table.0.features().columns(), &[names]].concat())?;
            anyhow::Ok(Self(Dataset::new(features, table.0.secs().to_vec(), vec![false; table.len()])?))
        };
        let mut tables = tables.iter().map(named);
        let first = tables.next().context("there is no table")??;
        tables.try_fold(first, |sum, table| sum.and(&table?))
    }

    /// Returns every combination of values of some categorical columns, with its rows, in
    /// alphabetical order.
    pub fn contexts(&self, columns: &[&str]) -> Vec<(String, Vec<usize>)> {
        let names: Vec<Vec<&str>> = columns.iter().map(|column| self.names(column)).collect();
        let mut contexts = std::collections::BTreeMap::<String, Vec<usize>>::new();
        for row in 0..self.len() {
            let name: Vec<&str> = names.iter().map(|names| names[row]).collect();
            contexts.entry(name.join(" ")).or_default().push(row);
        }
        contexts.into_iter().collect()
    }
}
