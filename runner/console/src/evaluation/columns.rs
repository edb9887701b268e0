//! Columns built cell by cell.

use std::collections::BTreeMap;

use foreglow_model::{Column, Transform, Values};

use crate::evaluation::condition::number;
use crate::evaluation::feature::{Feature, Kind};

/// Builder of a feature column.
pub struct Growing {
    feature: Feature,
    cells: Cells,
}

enum Cells {
    Numbers(Vec<f64>),
    Names(Names),
}

#[derive(Default)]
struct Names {
    levels: Vec<String>,
    index: BTreeMap<String, u32>,
    codes: Vec<u32>,
}

impl Growing {
    /// Creates an empty column.
    pub fn new(feature: Feature) -> Self {
        let cells = match feature.kind {
            Kind::Names => Cells::Names(Names::default()),
            Kind::Automatic | Kind::Numbers(_) => Cells::Numbers(Vec::new()),
        };
        Self { feature, cells }
    }

    /// Adds the next cell. The first cell decides whether an automatic column holds numbers or
    /// names.
    ///
    /// # Errors
    /// The cell is invalid, or an automatic column has numbers and names; the message says why.
    pub fn push(&mut self, cell: &str) -> Result<(), String> {
        let column = &self.feature.column;
        if cell.is_empty() {
            return Err(format!(
                "the column {column} is empty; give it a value, or leave such rows out with --only '{column}!='"
            ));
        }
        let is_automatic = self.feature.kind == Kind::Automatic;
        if is_automatic && cell.contains(',') && cell.bytes().all(|byte| b"0123456789,.-".contains(&byte)) {
            return Err(format!(
                "the column {column} is {cell:?}; write it with a decimal point and without separators of thousands"
            ));
        }
        let is_first = matches!(&self.cells, Cells::Numbers(numbers) if numbers.is_empty());
        if is_automatic && is_first && cell.parse::<f64>().is_err() {
            self.cells = Cells::Names(Names::default());
        }
        let mixed = |what: &str| {
            format!(
                "the column {column} is {cell:?}, {what}; write --feature {column}:category if all its cells are names, \
                 correct the cell, or leave such rows out with --only '{column}!={cell}'"
            )
        };
        let numbers = match &mut self.cells {
            Cells::Names(_) if is_automatic && cell.parse::<f64>().is_ok() => {
                return Err(mixed("a number among names"));
            }
            Cells::Names(names) => return names.push(cell),
            Cells::Numbers(numbers) => numbers,
        };
        match (number(cell), self.feature.kind) {
            (Some(0.0), Kind::Numbers(Transform::Inverse)) => {
                return Err(format!("the column {column} is 0, which has no inverse"));
            }
            (Some(value), Kind::Numbers(Transform::Log)) if value <= 0.0 => {
                return Err(format!("the column {column} is {value}, which has no logarithm"));
            }
            (Some(value), _) => numbers.push(value),
            (None, Kind::Automatic) if cell.parse::<f64>().is_err() => return Err(mixed("a name among numbers")),
            (None, _) => return Err(format!("the column {column} is {cell:?}, which is not a finite number")),
        }
        Ok(())
    }

    /// Returns the finished column.
    pub fn finish(self) -> Column {
        let values = match self.cells {
            Cells::Numbers(values) => {
                let transform = if let Kind::Numbers(transform) = self.feature.kind { Some(transform) } else { None };
                Values::Numeric { values, transform }
            }
            Cells::Names(names) => Values::Category { levels: names.levels, codes: names.codes },
        };
        Column { name: self.feature.column, values }
    }
}

impl Names {
    /// Adds a name. Numbers are normalised, so that `8` and `8.0` are the same name.
    fn push(&mut self, cell: &str) -> Result<(), String> {
        let canonical = number(cell).map(|value| value.to_string());
        let name = canonical.as_deref().unwrap_or(cell);
        let code = match self.index.get(name) {
            Some(code) => *code,
            None => {
                let code = u32::try_from(self.levels.len()).map_err(|_| "there are more than 2^32 names".to_owned())?;
                self.index.insert(name.to_owned(), code);
                self.levels.push(name.to_owned());
                code
            }
        };
        self.codes.push(code);
        Ok(())
    }
}
