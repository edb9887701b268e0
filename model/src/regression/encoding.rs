//! Features as a fit sees them: numbers of a common scale, and names that vary.

use foreglow_shared::sort;
use serde::{Deserialize, Serialize};

use crate::dataset::Points;
use crate::regression::{mean, spread};

/// Farthest that a number may lie from the mean of the rows, in units of the column: what lies beyond is no longer
/// told apart, and stays finite in every product that follows.
const FARTHEST: f64 = 1e9;

/// The columns that vary in the rows of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Encoding {
    pub(crate) numeric: Vec<Numeric>,
    pub(crate) category: Vec<Category>,
}

/// A column of numbers: (g − mean) / unit, where g is ln x for a column that is positive throughout and x for another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Numeric {
    /// Its place among the numbers of a point.
    pub(crate) column: usize,
    pub(crate) logarithmic: bool,
    mean: f64,
    unit: f64,
}

/// A column of names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Category {
    /// Its place among the codes of a point.
    column: usize,
    /// The codes of the rows, ascending.
    pub(crate) levels: Vec<u32>,
}

/// In what a column of logarithms is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Standard deviations of the rows, as the other columns.
    Spread,
    /// The logarithm itself, so that a slope is an exponent.
    Log,
}

impl Encoding {
    /// The columns of `points` that vary, in their order.
    pub(crate) fn of(points: &Points, unit: Unit) -> Self {
        let numbers = points.numeric.first().map_or(0, Vec::len);
        let names = points.category.first().map_or(0, Vec::len);
        Self {
            numeric: (0..numbers).filter_map(|column| Numeric::of(points, column, unit)).collect(),
            category: (0..names).filter_map(|column| Category::of(points, column)).collect(),
        }
    }

    /// Names in all columns together.
    pub(crate) fn names(&self) -> usize {
        self.category.iter().map(|column| column.levels.len()).sum()
    }

    /// The place of a numeric column among those that vary.
    pub(crate) fn place(&self, column: usize) -> Option<usize> {
        self.numeric.iter().position(|numeric| numeric.column == column)
    }

    /// The numbers of a point, one a numeric column that varies, all finite.
    pub(crate) fn numbers(&self, numeric: &[f64]) -> impl Iterator<Item = f64> {
        self.numeric.iter().map(|column| column.encode(numeric[column.column]))
    }

    /// The level of each name of a point, counted from 0 in its column; `None` for a name that no row has.
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
        // The mean of equal numbers need not equal them to the last digit, so a constant column is told by its values.
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
        let mut levels: Vec<u32> = points.category.iter().map(|row| row[column]).collect();
        sort(&mut levels);
        levels.dedup();
        (levels.len() > 1).then_some(Self { column, levels })
    }
}
