//! The shape of a question: the ranges of the measured rows that it is inside and those that it is
//! beyond. Candidates are judged on held-out rows of the same shape.

use foreglow_shared::{sort, sort_by};
use serde::{Deserialize, Serialize};

use crate::dataset::UNSEEN;
use crate::ensemble::canonical::Table;

/// Relation of a question to the measured rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    /// Within every range, with a measured context (combination of names).
    Inside,
    /// The same, where the context has only this number of rows while others have many.
    FewOfContext(usize),
    /// Within every range; each name was measured, but not this combination.
    UnseenContext,
    /// Within every range; these categories (by index) have a name that was never measured.
    UnseenLevel(Vec<usize>),
    /// Beyond the ranges of these numeric features (by index).
    Beyond(Vec<(usize, Side)>),
}

/// End of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Side {
    Below,
    Above,
}

/// What determines the shape of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Extent {
    pub(crate) numeric: Vec<Axis>,
    /// Which categories vary.
    pub(crate) varying: Vec<bool>,
    /// Measured contexts, ascending, with their number of rows.
    contexts: Vec<(Vec<u32>, usize)>,
}

/// Number of rows up to which a context can have few.
const MOST_FEW: usize = 5;
/// Ratio to these few rows from which another context has many.
const MANY_TIMES: usize = 2;
/// Minimum number of contexts with many rows, so that some of them can be held out.
const LEAST_RICH: usize = 2;

/// The measured values of a numeric feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Axis {
    /// Distinct, ascending.
    pub(crate) levels: Vec<f64>,
    /// Whether candidates use the logarithm: all values are above 0.
    pub(crate) log: bool,
}

impl Axis {
    pub(crate) fn smallest(&self) -> f64 {
        self.levels.first().copied().unwrap_or_default()
    }

    pub(crate) fn largest(&self) -> f64 {
        self.levels.last().copied().unwrap_or_default()
    }

    pub(crate) fn varies(&self) -> bool {
        self.levels.len() > 1
    }

    /// Returns a value on the scale that candidates use.
    pub(crate) fn see(&self, x: f64) -> f64 {
        if self.log { libm::log(x) } else { x }
    }

    /// Returns the distance of a value beyond the range, in units of the range; 0 within it.
    pub(crate) fn distance(&self, x: f64) -> f64 {
        let (low, high) = (self.see(self.smallest()), self.see(self.largest()));
        let x = self.see(x);
        if self.varies() { (x - high).max(low - x).max(0.0) / (high - low) } else { 0.0 }
    }
}

impl Extent {
    pub(crate) fn of(table: &Table) -> Self {
        let points = &table.training.points;
        let observed = |row: &usize| table.observed[*row];
        let all: Vec<usize> = (0..table.rows()).collect();
        let axis = |column: usize| {
            let levels = table.levels(column, &all);
            let log = points.numeric.iter().all(|row| row[column] > 0.0);
            Axis { levels, log }
        };
        let numeric = (0..points.numeric[0].len()).map(axis).collect();
        let rows = || (0..table.rows()).filter(observed).map(|row| &points.category[row]);
        let first = rows().next().cloned().unwrap_or_default();
        let varying = (0..first.len()).map(|column| rows().any(|row| row[column] != first[column])).collect();
        let mut measured: Vec<&Vec<u32>> = rows().collect();
        sort(&mut measured);
        let contexts = measured.chunk_by(|a, b| a == b).map(|same| (same[0].clone(), same.len())).collect();
        Self { numeric, varying, contexts }
    }

    /// Returns the distance of each of `rows` beyond the ranges of other rows, in units of these
    /// ranges.
    pub(crate) fn distances(&self, table: &Table, beyond: &[usize], rows: &[usize]) -> Vec<f64> {
        let axis = |(column, axis): (usize, &Axis)| Axis { levels: table.levels(column, beyond), log: axis.log };
        let axes: Vec<Axis> = self.numeric.iter().enumerate().map(axis).collect();
        rows.iter().map(|row| distance(&axes, &table.training.points.numeric[*row])).collect()
    }

    /// Returns the shape of a question. Features on a logarithmic scale must be above 0.
    ///
    /// With many features only the ones farthest beyond their range count, because each shape is
    /// fitted separately and their number would grow as 3 to the number of features.
    pub(crate) fn shape(&self, numeric: &[f64], category: &[u32]) -> Shape {
        let mut beyond: Vec<(f64, usize, Side)> = Vec::new();
        for (column, (axis, x)) in self.numeric.iter().zip(numeric).enumerate() {
            let distance = axis.distance(*x);
            if distance > 0.0 {
                let side = if *x > axis.largest() { Side::Above } else { Side::Below };
                beyond.push((distance, column, side));
            }
        }
        if !beyond.is_empty() {
            sort_by(&mut beyond, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            beyond.truncate(self.most_beyond());
            let mut sides: Vec<(usize, Side)> = beyond.into_iter().map(|(_, column, side)| (column, side)).collect();
            sort(&mut sides);
            return Shape::Beyond(sides);
        }
        let unseen: Vec<usize> =
            (0..category.len()).filter(|column| category[*column] == UNSEEN && self.varying[*column]).collect();
        if !unseen.is_empty() {
            return Shape::UnseenLevel(unseen);
        }
        match self.rows_of(category) {
            0 => Shape::UnseenContext,
            few @ ..=MOST_FEW if self.rich(few).count() >= LEAST_RICH => Shape::FewOfContext(few),
            _ => Shape::Inside,
        }
    }

    /// Whether the question is beyond more ranges than its shape considers.
    pub(crate) fn leaves_out(&self, numeric: &[f64]) -> bool {
        let beyond = self.numeric.iter().zip(numeric).filter(|(axis, x)| axis.distance(**x) > 0.0);
        beyond.count() > self.most_beyond()
    }

    /// Returns the contexts that have many rows compared with one that has `few`.
    pub(crate) fn rich(&self, few: usize) -> impl Iterator<Item = &[u32]> {
        self.contexts.iter().filter(move |(_, rows)| *rows >= MANY_TIMES * few).map(|(names, _)| names.as_slice())
    }

    /// Returns the distance of a question beyond the ranges, in units of each.
    pub(crate) fn distance(&self, numeric: &[f64]) -> f64 {
        distance(&self.numeric, numeric)
    }

    /// Returns the number of features that vary.
    pub(crate) fn varying(&self) -> usize {
        let numeric = self.numeric.iter().filter(|axis| axis.varies()).count();
        numeric + self.varying.iter().filter(|varies| **varies).count()
    }

    /// Returns the number of distinct names in all categories.
    pub(crate) fn names(&self) -> usize {
        let distinct = |column: usize| {
            let mut codes: Vec<u32> = self.contexts.iter().map(|(names, _)| names[column]).collect();
            sort(&mut codes);
            codes.dedup();
            codes.len()
        };
        (0..self.varying.len()).map(distinct).sum()
    }

    /// Returns the number of measured rows of a context.
    fn rows_of(&self, category: &[u32]) -> usize {
        let place = self.contexts.binary_search_by(|(names, _)| names.as_slice().cmp(category));
        place.map_or(0, |place| self.contexts[place].1)
    }

    /// Whether all measured rows are at one point, so that only their time can be learnt.
    pub(crate) fn is_one_point(&self) -> bool {
        !self.numeric.iter().any(Axis::varies) && !self.varying.contains(&true)
    }

    fn most_beyond(&self) -> usize {
        match self.numeric.iter().filter(|axis| axis.varies()).count() {
            count @ ..=4 => count,
            5..=8 => 2,
            _ => 1,
        }
    }
}

fn distance(axes: &[Axis], numeric: &[f64]) -> f64 {
    let squares = axes.iter().zip(numeric).map(|(axis, x)| axis.distance(*x) * axis.distance(*x));
    squares.sum::<f64>().sqrt()
}
