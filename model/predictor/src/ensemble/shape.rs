//! The shape of a question: which ranges of the measured rows it is within or beyond. Candidates
//! are judged on held-out rows of the same shape.

use serde::{Deserialize, Serialize};

use foreglow_shared::{distinct, sort_by};

use crate::dataset::UNSEEN;
use crate::ensemble::axis::{Axis, End, Side};
use crate::ensemble::canonical::{MANY_ROWS, Table};
use crate::ensemble::context::Context;

/// Relation of a question to the measured rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    /// Within every range, with a measured context (combination of names).
    Inside,
    /// The same, if the names of these categories (by index) together have only this number of
    /// rows, while others have many. The context itself may have no row.
    Few(Vec<usize>, usize),
    /// Within every range of the table, but beyond that of its context.
    BeyondOfContext(End),
    /// Within every range; the combination of the names of these categories (by index) was never
    /// measured.
    Unseen(Vec<usize>),
    /// Beyond the ranges of these numeric features (by index).
    Beyond(Vec<(usize, Side)>),
}

/// What determines the shape of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Extent {
    pub(crate) numeric: Vec<Axis>,
    /// Which categories vary.
    pub(crate) varying: Vec<bool>,
    /// Measured contexts, ascending by name.
    contexts: Vec<Context>,
}

/// Number of rows up to which a context can have few.
const MOST_FEW: usize = 5;
/// Ratio to these few rows from which another context has many.
const MANY_TIMES: usize = 2;
/// Minimum number of contexts with many rows, so that some of them can be held out.
const LEAST_RICH: usize = 2;

impl Extent {
    pub(crate) fn of(table: &Table) -> Self {
        let points = &table.training.points;
        let all: Vec<usize> = (0..table.rows()).collect();
        let axis = |column: usize| {
            let levels = table.levels(column, &all);
            let log = points.numeric.iter().all(|row| row[column] > 0.0);
            Axis { levels, log }
        };
        let numeric: Vec<Axis> = (0..points.numeric[0].len()).map(axis).collect();
        let mut measured: Vec<usize> = all.into_iter().filter(|row| table.observed[*row]).collect();
        let names = |row: &usize| &points.category[*row];
        let first = measured.first().map(names).cloned().unwrap_or_default();
        let varies = |column: usize| measured.iter().any(|row| names(row)[column] != first[column]);
        let varying = (0..first.len()).map(varies).collect();
        sort_by(&mut measured, |a, b| names(a).cmp(names(b)));
        let contexts = measured.chunk_by(|a, b| names(a) == names(b));
        let contexts = Context::all(table, &numeric, contexts);
        Self { numeric, varying, contexts }
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
            sort_by(&mut sides, Ord::cmp);
            return Shape::Beyond(sides);
        }
        let varying = || (0..category.len()).filter(|column| self.varying[*column]);
        if let Some(column) = varying().find(|column| category[*column] == UNSEEN) {
            return Shape::Unseen(vec![column]);
        }
        let context = self.context(category);
        if let Some(end) =
            context.and_then(|context| context.exceeded(numeric, &self.numeric)).map(|end| self.usual(end))
            && self.exceeding(end).count() >= LEAST_RICH
        {
            return Shape::BeyondOfContext(end);
        }
        let all: Vec<usize> = (0..category.len()).collect();
        // A name before the context: what is unknown about a name is common to all its contexts.
        // If most names have few rows, held-out rows of any hold-out have such a name.
        let is_exception = |column: &usize| 2 * self.count_rich(&[*column], MOST_FEW) >= self.count_rich(&[*column], 0);
        let names = varying().filter(|_| all.len() > 1);
        let mut few: Vec<(usize, Vec<usize>)> = names
            .map(|column| (self.rows(&[column], category), vec![column]))
            .filter(|(rows, columns)| *rows <= MOST_FEW && is_exception(&columns[0]))
            .collect();
        sort_by(&mut few, Ord::cmp);
        few.extend(context.map(|context| (context.rows, all.clone())));
        for (rows, columns) in few {
            if rows <= MOST_FEW && self.count_rich(&columns, rows) >= LEAST_RICH {
                return Shape::Few(columns, rows);
            }
        }
        if context.is_some() {
            return Shape::Inside;
        }
        let pairs = varying()
            .flat_map(|first| varying().filter(move |second| first < *second).map(move |second| vec![first, second]));
        Shape::Unseen(pairs.into_iter().find(|pair| self.rows(pair, category) == 0).unwrap_or(all))
    }

    /// Whether all questions on the same sides of every range have the same shape, because no
    /// exceeded range is ignored.
    pub(crate) fn has_one_shape(&self, numeric: &[f64], category: &[u32]) -> bool {
        let beyond = self.numeric.iter().zip(numeric).filter(|(axis, x)| axis.distance(**x) > 0.0);
        let cuts = self.context(category).map_or(0, |context| context.cuts().count());
        beyond.count() <= self.most_beyond() && cuts <= 1
    }

    /// Returns the combinations of names of some categories that have many rows compared with
    /// `few`, ascending.
    pub(crate) fn rich(&self, columns: &[usize], few: usize) -> Vec<Vec<u32>> {
        let all = distinct(self.contexts.iter().map(|context| names(&context.names, columns)));
        let place = |context: &Context| all.binary_search(&names(&context.names, columns)).unwrap_or(0);
        let mut rows = vec![0; all.len()];
        self.contexts.iter().for_each(|context| rows[place(context)] += context.rows);
        all.into_iter().zip(rows).filter(|(_, rows)| *rows >= MANY_TIMES * few).map(|(names, _)| names).collect()
    }

    fn count_rich(&self, columns: &[usize], few: usize) -> usize {
        if columns.len() < self.varying.len() {
            return self.rich(columns, few).len();
        }
        self.contexts.iter().filter(|context| context.rows >= MANY_TIMES * few).count()
    }

    /// Returns the number of rows with the names of a question in some categories.
    fn rows(&self, columns: &[usize], category: &[u32]) -> usize {
        let has_names = |context: &&Context| columns.iter().all(|column| context.names[*column] == category[*column]);
        self.contexts.iter().filter(has_names).map(|context| context.rows).sum()
    }

    /// Returns the number of features that vary.
    pub(crate) fn varying(&self) -> usize {
        let numeric = self.numeric.iter().filter(|axis| axis.varies()).count();
        numeric + self.varying.iter().filter(|varies| **varies).count()
    }

    /// Returns the number of distinct names in all categories.
    pub(crate) fn names(&self) -> usize {
        let distinct = |column: usize| {
            let codes = distinct(self.contexts.iter().map(|context| context.names[column]));
            codes.len()
        };
        (0..self.varying.len()).map(distinct).sum()
    }

    /// Returns a measured context.
    pub(crate) fn context(&self, category: &[u32]) -> Option<&Context> {
        let place = self.contexts.binary_search_by(|context| context.names.as_slice().cmp(category));
        place.ok().map(|place| &self.contexts[place])
    }

    /// Returns the end at which candidates are judged. With many rows, it is the middle one of the
    /// ends of all contexts on this side, because each end needs a fit of its own.
    fn usual(&self, end: End) -> End {
        if self.contexts.iter().map(|context| context.rows).sum::<usize>() < MANY_ROWS {
            return end;
        }
        let all = &self.numeric[end.column];
        let mut levels: Vec<usize> =
            self.contexts.iter().filter_map(|context| context.end(end.column, end.side, all)).collect();
        sort_by(&mut levels, Ord::cmp);
        End { level: levels.get(levels.len() / 2).copied().unwrap_or(end.level), ..end }
    }

    /// Returns the contexts that exceed an end of another.
    pub(crate) fn exceeding(&self, end: End) -> impl Iterator<Item = &Context> {
        let value = self.value(end);
        self.contexts.iter().filter(move |context| context.exceeds(end, value))
    }

    /// Returns the last value before an end.
    pub(crate) fn value(&self, end: End) -> f64 {
        self.numeric[end.column].levels[end.level]
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

/// Returns the names of some categories of a row.
pub(crate) fn names(category: &[u32], columns: &[usize]) -> Vec<u32> {
    columns.iter().map(|column| category[*column]).collect()
}
