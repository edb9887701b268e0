//! Encodes features for a fit: standardised numbers, and names that vary.

use serde::{Deserialize, Serialize};

use foreglow_shared::distinct;

use crate::dataset::Points;
use crate::regression::{mean, spread};

/// Limit on the distance of a number from the mean of the rows, in units of the column. It keeps
/// all products finite.
const FARTHEST: f64 = 1e9;

/// The columns that vary in the fitted rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Encoding {
    pub(crate) numeric: Vec<Numeric>,
    pub(crate) category: Vec<Category>,
}

/// A column of numbers: (g − mean) / unit, where g is ln x if all values of the column are
/// positive, otherwise x.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Numeric {
    /// Index among the numbers of a point.
    pub(crate) column: usize,
    pub(crate) logarithmic: bool,
    mean: f64,
    unit: f64,
}

/// A column of names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Category {
    /// Index among the codes of a point.
    column: usize,
    /// Codes that occur in the rows, ascending.
    pub(crate) levels: Vec<u32>,
}

/// Unit of a logarithmic column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// The standard deviation of the rows, as for other columns.
    Spread,
    /// 1, so that a slope is an exponent.
    Log,
}

impl Encoding {
    /// Selects the columns of `points` that vary, in their order.
    pub(crate) fn of(points: &Points, unit: Unit) -> Self {
        let numbers = points.numeric.first().map_or(0, Vec::len);
        let names = points.category.first().map_or(0, Vec::len);
        Self {
            numeric: (0..numbers).filter_map(|column| Numeric::of(points, column, unit)).collect(),
            category: (0..names).filter_map(|column| Category::of(points, column)).collect(),
        }
    }

    /// Returns the number of names in all columns.
    pub(crate) fn names(&self) -> usize {
        self.category.iter().map(|column| column.levels.len()).sum()
    }

    /// Returns the index of a numeric column among those that vary.
    pub(crate) fn place(&self, column: usize) -> Option<usize> {
        self.numeric.iter().position(|numeric| numeric.column == column)
    }

    /// Returns the encoded numbers of a point, one per numeric column that varies, all finite.
    pub(crate) fn numbers(&self, numeric: &[f64]) -> impl Iterator<Item = f64> {
        self.numeric.iter().map(|column| column.encode(numeric[column.column]))
    }

    /// Returns the level of each name of a point, counted from 0 in its column; `None` for an
    /// unknown name.
    pub(crate) fn levels(&self, category: &[u32]) -> impl Iterator<Item = Option<usize>> {
        self.category.iter().map(|column| column.levels.binary_search(&category[column.column]).ok())
    }
}

impl Numeric {
    fn of(points: &Points, column: usize, unit: Unit) -> Option<Self> {
        let raw = || points.numeric.iter().map(move |row| row[column]);
        let logarithmic = raw().all(|x| x > 0.0);
        let seen: Vec<f64> = if logarithmic { raw().map(libm::log).collect() } else { raw().collect() };
        let deviation = spread(&seen);
        // The mean of equal numbers may differ from them by rounding, so constant columns are
        // detected by value.
        let varies = seen.iter().any(|value| *value != seen[0]) && deviation > 0.0 && deviation.is_finite();
        let unit = if logarithmic && unit == Unit::Log { 1.0 } else { deviation };
        varies.then(|| Self { column, logarithmic, mean: mean(&seen), unit })
    }

    pub(crate) fn encode(&self, x: f64) -> f64 {
        let seen = if self.logarithmic { libm::log(x.max(f64::MIN_POSITIVE)) } else { x };
        ((seen - self.mean) / self.unit).clamp(-FARTHEST, FARTHEST)
    }
}

impl Category {
    fn of(points: &Points, column: usize) -> Option<Self> {
        let levels = distinct(points.category.iter().map(|row| row[column]));
        (levels.len() > 1).then_some(Self { column, levels })
    }
}
