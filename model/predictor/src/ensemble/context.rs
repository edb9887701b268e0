//! The measured rows of a context (combination of names), and how far they range.

use serde::{Deserialize, Serialize};

use crate::ensemble::axis::{Axis, End, Side};
use crate::ensemble::canonical::Table;

/// A context must have at least this share of the table's values between its own ends. With fewer,
/// its runs are scattered, and their ends are not the end of a measured range. This share and the
/// next one were chosen on Scout and on random runs of TrimTuner's recurrent network.
const LEAST_SHARE: f64 = 0.5;
/// The same share over all contexts together.
const LEAST_SHARE_OF_ALL: f64 = 0.75;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Context {
    pub(crate) names: Vec<u32>,
    pub(crate) rows: usize,
    /// The values of each numeric feature.
    axes: Vec<Axis>,
    /// Features, by index, whose range in this context is fully measured and ends within the
    /// table's.
    cut: Vec<usize>,
}

impl Context {
    /// Describes contexts; `rows` has those of each, `all` the axes of the whole table.
    pub(crate) fn all<'a>(table: &Table, all: &[Axis], rows: impl Iterator<Item = &'a [usize]>) -> Vec<Self> {
        let axes = |rows: &[usize]| {
            let axis = |(column, all): (usize, &Axis)| Axis { levels: table.levels(column, rows), log: all.log };
            all.iter().enumerate().map(axis).collect()
        };
        let names = |rows: &[usize]| table.training.points.category[rows[0]].clone();
        let context = |rows| Self { names: names(rows), rows: rows.len(), axes: axes(rows), cut: Vec::new() };
        let mut contexts: Vec<Self> = rows.map(context).collect();
        for (column, all) in all.iter().enumerate() {
            let axes = contexts.iter().map(|context| &context.axes[column]);
            let counts = axes.filter(|axis| axis.varies()).map(|axis| (axis.levels.len(), axis.between(all)));
            let (levels, between) = counts.fold((0, 0), |sums, counts| (sums.0 + counts.0, sums.1 + counts.1));
            if (levels as f64) < LEAST_SHARE_OF_ALL * between as f64 {
                continue;
            }
            for context in &mut contexts {
                let axis = &context.axes[column];
                let ends = axis.smallest() > all.smallest() || axis.largest() < all.largest();
                if ends && axis.varies() && axis.levels.len() as f64 >= LEAST_SHARE * axis.between(all) as f64 {
                    context.cut.push(column);
                }
            }
        }
        contexts
    }

    /// Returns the end that the question exceeds by the largest distance, in units of the range;
    /// `all` are the axes of the whole table.
    pub(crate) fn exceeded(&self, numeric: &[f64], all: &[Axis]) -> Option<End> {
        let mut farthest: Option<(f64, End)> = None;
        for (column, axis) in self.cuts() {
            let x = numeric[column];
            let distance = axis.distance(x);
            if distance > farthest.map_or(0.0, |(most, _)| most) {
                let side = if x > axis.largest() { Side::Above } else { Side::Below };
                let level = all[column].place(axis.last(side));
                farthest = Some((distance, End { column, side, level }));
            }
        }
        farthest.map(|(_, end)| end)
    }

    /// Returns the features whose range ends within the table's.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = (usize, &Axis)> {
        self.cut.iter().map(|column| (*column, &self.axes[*column]))
    }

    /// Returns the values of a feature whose range ends within the table's.
    pub(crate) fn cut(&self, column: usize) -> Option<&Axis> {
        self.cut.contains(&column).then(|| &self.axes[column])
    }

    /// Returns the values of a feature.
    pub(crate) fn axis(&self, column: usize) -> &Axis {
        &self.axes[column]
    }

    /// Returns where a range ends within the table's on a side, by index among the table's values.
    pub(crate) fn end(&self, column: usize, side: Side, all: &Axis) -> Option<usize> {
        let last = self.cut(column)?.last(side);
        (last != all.last(side)).then(|| all.place(last))
    }

    /// Returns the last value before an end, if there are at least two before it.
    pub(crate) fn last(&self, End { column, side, .. }: End) -> Option<f64> {
        let axis = &self.axes[column];
        (axis.levels.len() > 2).then(|| axis.last(side))
    }

    /// Whether the context has a value beyond an end, and at least two up to it.
    pub(crate) fn exceeds(&self, end: End, value: f64) -> bool {
        let axis = &self.axes[end.column];
        let beyond = axis.levels.iter().filter(|x| end.side.is_beyond(**x, value)).count();
        beyond > 0 && axis.levels.len() - beyond > 1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::ensemble::axis::Side;
    use crate::ensemble::shape::Shape;
    use crate::{Column, Dataset, Ensemble, Features};

    const NODES: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];

    /// Machine types of which every second one is measured up to a node count that differs between
    /// them, and the others on all.
    fn fit(types: usize) -> Ensemble {
        let count = |machine: usize| if machine.is_multiple_of(2) { NODES.len() } else { 3 + machine / 2 % 3 };
        let rows: Vec<(usize, f64)> =
            (0..types).flat_map(|machine| NODES[..count(machine)].iter().map(move |nodes| (machine, *nodes))).collect();
        let features = Features::new(vec![
            Column::numeric("nodes", rows.iter().map(|row| row.1).collect(), None),
            Column::category("machine", rows.iter().map(|row| format!("m{}", row.0))),
        ]);
        let secs = rows.iter().map(|(machine, nodes)| (100 + machine) as f64 * (0.1 + 1.0 / nodes)).collect();
        Ensemble::fit(&Dataset::new(features.unwrap(), secs, vec![false; rows.len()]).unwrap()).unwrap()
    }

    /// The shapes of the question about the most nodes on each machine type.
    fn shapes(ensemble: &Ensemble) -> BTreeSet<Shape> {
        let extent = &ensemble.state.extent;
        let categories = &ensemble.state.table.training.points.category;
        categories.iter().map(|category| extent.shape(&[16.0], category)).collect()
    }

    #[test]
    fn each_end_has_its_shape_and_with_many_rows_one_end_stands_for_all() {
        let few = shapes(&fit(12));
        let many = shapes(&fit(64));
        let ends = |shapes: &BTreeSet<Shape>| -> Vec<(usize, Side)> {
            let end = |shape: &Shape| match shape {
                Shape::BeyondOfContext(end) => Some((end.level, end.side)),
                _ => None,
            };
            shapes.iter().filter_map(end).collect()
        };
        assert_eq!(ends(&few), [(2, Side::Above), (3, Side::Above), (4, Side::Above)]);
        assert_eq!(ends(&many), [(3, Side::Above)], "the middle one");
        assert!(few.contains(&Shape::Inside) && many.contains(&Shape::Inside));
    }
}
