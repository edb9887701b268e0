//! Predictions on a grid of two features, at the cost of a few products per point.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use foreglow_shared::distinct;

use crate::dataset::Features;
use crate::ensemble::Ensemble;
use crate::ensemble::axis::Axis;
use crate::ensemble::blend::Blend;
use crate::ensemble::caution;
use crate::ensemble::margin::Margin;
use crate::ensemble::shape::{Extent, Shape};
use crate::regression::Regression;
use crate::regression::plane::{Factored, Line, Plane, Product};

/// Limit on the points of a cached grid: 2 MiB.
const MOST_KEPT: usize = 1 << 18;

/// Predicted ln t (seconds) at every point of a grid.
pub struct Surface {
    /// Parts of the grid, each with questions of one shape.
    pub regions: Vec<Region>,
}

/// A part of a grid.
pub struct Region {
    /// Rows of the bounding rectangle.
    pub rows: Range<usize>,
    /// Its columns.
    pub columns: Range<usize>,
    /// The columns of each row that belong to the region, counted within the rectangle; empty for
    /// some rows.
    pub spans: Vec<Range<usize>>,
    factored: Factored,
    blend: Arc<Blend>,
    /// Squared distance beyond the measured ranges: of each row, including the features that do not
    /// vary, and of each column.
    distances: (Vec<f64>, Vec<f64>),
    /// ln t of all rows, one after another, if cached.
    kept: Option<Vec<f64>>,
}

/// A question in which two features take all pairs of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// One row, with the features that are equal at all points of the grid.
    pub question: Features,
    /// The feature of the rows.
    pub down: Along,
    /// The feature of the columns.
    pub across: Along,
    /// For each value of `down`, the number of leading values of `across` to predict.
    pub widths: Vec<usize>,
}

/// One axis of a grid: a feature and its values, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Along {
    /// Name of the feature's column.
    pub name: &'static str,
    /// Its values, ascending.
    pub values: Vec<f64>,
}

/// The last grid, with its surface.
pub(super) struct Kept {
    grid: Grid,
    surface: Arc<Surface>,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("grid", &self.grid).finish_non_exhaustive()
    }
}

impl Ensemble {
    /// Returns [`Ensemble::surface`]; caches the last grid of up to 262,144 points.
    pub fn kept_surface(&self, grid: Grid) -> Option<Arc<Surface>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.as_ref().filter(|kept| kept.grid == grid) {
            return Some(Arc::clone(&known.surface));
        }
        let mut surface = self.surface(&grid)?;
        let is_small = grid.down.values.len() * grid.across.values.len() <= MOST_KEPT;
        if is_small {
            surface.regions.iter_mut().for_each(Region::keep);
        }
        let surface = Arc::new(surface);
        *kept = is_small.then(|| Kept { grid, surface: Arc::clone(&surface) });
        Some(surface)
    }

    /// Returns what [`Ensemble::predict`] gives on a grid. `None` if there is no prediction or a
    /// feature is missing.
    pub fn surface(&self, grid: &Grid) -> Option<Surface> {
        let Grid { question, down, across, widths } = grid;
        let table = &self.state.table;
        let extent = &self.state.extent;
        let aligned = table.schema.align(question).ok()?;
        let points = table.schema.points(&aligned);
        let (numeric, category) = (points.numeric.first()?, points.category.first()?);
        let place = |name: &str| table.schema.numeric().position(|column| column == name);
        let (down_place, across_place) = (place(down.name)?, place(across.name)?);
        let is_fixed = |column: &usize| *column != down_place && *column != across_place;
        let answers = |column: usize, values: &[f64]| {
            let axis = &extent.numeric[column];
            values.iter().all(|x| if axis.varies() { !axis.log || *x > 0.0 } else { *x == axis.smallest() })
        };
        let answerable = (0..numeric.len()).filter(is_fixed).all(|column| answers(column, &[numeric[column]]))
            && answers(down_place, &down.values)
            && answers(across_place, &across.values);
        if !answerable || extent.is_one_point() || caution::flat(&self.state, numeric).is_some() {
            return None;
        }
        let context = extent.context(category);
        let axes = |column: usize| {
            [Some(&extent.numeric[column]), context.and_then(|context| context.cut(column))].into_iter().flatten()
        };
        let mut regions = Vec::new();
        for rows in segments(axes(down_place), &down.values) {
            for columns in segments(axes(across_place), &across.values) {
                let plane = Plane {
                    numeric,
                    category,
                    down: Line { column: down_place, values: &down.values[rows.clone()] },
                    across: Line { column: across_place, values: &across.values[columns.clone()] },
                };
                let within = |width: &usize| width.saturating_sub(columns.start).min(columns.len());
                let widths: Vec<usize> = widths[rows.clone()].iter().map(within).collect();
                for (shape, spans) in parts(extent, &plane, &widths) {
                    let (blend, factored) = self.region(&plane, &shape);
                    let square = |column: usize, x: f64| extent.squared(&shape, category, column, x);
                    let fixed = (0..numeric.len()).filter(is_fixed);
                    let beyond: f64 = fixed.map(|column| square(column, numeric[column])).sum();
                    let down = plane.down.values.iter().map(|x| beyond + square(down_place, *x)).collect();
                    let across = plane.across.values.iter().map(|x| square(across_place, *x)).collect();
                    let (rows, columns, distances) = (rows.clone(), columns.clone(), (down, across));
                    regions.push(Region { rows, columns, spans, factored, blend, distances, kept: None });
                }
            }
        }
        Some(Surface { regions })
    }

    /// Returns the blend for questions of a shape, and its predictions on a grid.
    fn region(&self, plane: &Plane, shape: &Shape) -> (Arc<Blend>, Factored) {
        let mut fitted = self.lock();
        let blend = fitted.blend(&self.state, shape);
        let members = fitted.members(&blend);
        drop(fitted);
        let mut factored = Factored::zero(plane.down.values.len(), plane.across.values.len());
        factored.down.fill(self.state.table.mean_log);
        members.iter().for_each(|(member, weight)| member.add_to(&mut factored, plane, *weight));
        let fit = |numeric: &[f64], category: &[u32]| -> f64 {
            members.iter().map(|(member, weight)| weight * member.log(numeric, category)).sum()
        };
        // The nearness to a row whose runs agree is a product over the features.
        for (own, residual) in self.state.unexplained(plane.category, &fit) {
            let near = |column: usize, x: f64| self.state.extent.numeric[column].nearness(own[column], x);
            let along = |line: &Line| line.values.iter().map(|x| near(line.column, *x)).collect::<Vec<f64>>();
            let is_fixed = |column: &usize| *column != plane.down.column && *column != plane.across.column;
            let fixed = (0..own.len()).filter(is_fixed).map(|column| near(column, plane.numeric[column]));
            let scale = residual * fixed.product::<f64>();
            let left = along(&plane.down).into_iter().map(|near| scale * near).collect();
            factored.add_product(Product { left, right: along(&plane.across) });
        }
        (blend, factored)
    }
}

/// Returns the shapes of the questions of a plane on which each of two features stays on one side
/// of its measured ranges, and the columns of each row that have each shape, up to `widths`.
fn parts(extent: &Extent, plane: &Plane, widths: &[usize]) -> Vec<(Shape, Vec<Range<usize>>)> {
    let (down, across) = (plane.down.values, plane.across.values);
    let point = |row: usize, column: usize| plane.at(down[row], across[column]);
    let Some(first) = widths.iter().position(|width| *width > 0) else { return Vec::new() };
    if extent.has_one_shape(&point(first, 0), plane.category) {
        let all = widths.iter().map(|width| 0..*width).collect();
        return vec![(extent.shape(&point(first, 0), plane.category), all)];
    }
    let mut parts: Vec<(Shape, Vec<Range<usize>>)> = Vec::new();
    for (row, width) in widths.iter().enumerate() {
        let mut start = 0;
        while start < *width {
            // Along a row only one distance changes, monotonically, so binary search finds the
            // column at which the shape changes.
            let shape = extent.shape(&point(row, start), plane.category);
            let is_same = |column: usize| extent.shape(&point(row, column), plane.category) == shape;
            let (mut same, mut end) = (start, *width);
            while same + 1 < end {
                let middle = usize::midpoint(same, end);
                *if is_same(middle) { &mut same } else { &mut end } = middle;
            }
            let place = parts.iter().position(|(known, _)| *known == shape).unwrap_or(parts.len());
            if place == parts.len() {
                parts.push((shape, vec![0..0; down.len()]));
            }
            parts[place].1[row] = start..end;
            start = end;
        }
    }
    parts
}

impl Region {
    /// Writes ln t of one row of the region, counted within it, to `logs`, one per column.
    /// `scratch` has the same length.
    pub fn logs(&self, row: usize, logs: &mut [f64], scratch: &mut [f64]) {
        match &self.kept {
            Some(kept) => logs.copy_from_slice(&kept[row * logs.len()..][..logs.len()]),
            None => self.factored.row(row, logs, scratch),
        }
    }

    fn keep(&mut self) {
        let width = self.columns.len();
        let (mut kept, mut scratch) = (vec![0.0; self.rows.len() * width], vec![0.0; width]);
        for (row, logs) in kept.chunks_exact_mut(width).enumerate() {
            self.factored.row(row, logs, &mut scratch);
        }
        self.kept = Some(kept);
    }

    /// Returns the margin in ln t above a prediction that the time does not exceed with this
    /// probability, at least 1/2.
    pub fn margin(&self, probability: f64) -> Margin {
        self.blend.margin(probability)
    }

    /// Adds a margin to the logarithms of some columns of one row.
    pub fn add_margin(&self, margin: Margin, row: usize, columns: Range<usize>, logs: &mut [f64]) {
        let down = self.distances.0[row];
        logs.iter_mut().zip(&self.distances.1[columns]).for_each(|(log, across)| *log += margin.at(down + across));
    }
}

/// Splits the values, ascending, into those below, within and above each measured range; empty
/// segments are left out.
fn segments<'a>(axes: impl Iterator<Item = &'a Axis>, values: &[f64]) -> impl Iterator<Item = Range<usize>> {
    let ends = |axis: &Axis| {
        let (smallest, largest) = (axis.smallest(), axis.largest());
        [values.partition_point(|x| *x < smallest), values.partition_point(|x| *x <= largest)]
    };
    let starts = distinct(axes.flat_map(ends).chain([0, values.len()]));
    (1..starts.len()).map(move |end| starts[end - 1]..starts[end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Dataset, Meaning};

    /// A row of a table, or a question.
    #[derive(Clone, Copy)]
    struct Row {
        down: f64,
        across: f64,
        share: f64,
        machine: &'static str,
        /// Other features.
        others: [f64; 2],
    }

    fn features(rows: &[Row]) -> Features {
        let column = |name: &str, of: fn(&Row) -> f64| Column::numeric(name, rows.iter().map(of).collect(), None);
        Features::new(vec![
            column("share", |row| row.share),
            column("across", |row| row.across),
            Column::category("machine", rows.iter().map(|row| row.machine)),
            column("down", |row| row.down),
            column("memory", |row| row.others[0]),
            column("size", |row| row.others[1]),
        ])
        .unwrap()
    }

    fn fit(rows: &[Row]) -> Ensemble {
        Ensemble::fit(&dataset(rows, |_| 1.0)).unwrap()
    }

    /// Runs that take longer than the law by a factor.
    fn dataset(rows: &[Row], slower: impl Fn(&Row) -> f64) -> Dataset {
        let law = |(index, row): (usize, &Row)| {
            let slow = if row.machine == "a" { 1.0 } else { 1.7 };
            let work = slow * row.share * 300.0 / (row.down * row.across) + 2.0 / row.across + 0.3 * row.down;
            (work + 0.01 * (index * 7 % 5) as f64) * (1.0 + 0.1 / row.others[0]) + 0.02 * row.others[1]
        };
        let secs: Vec<f64> = rows.iter().enumerate().map(|(index, row)| slower(row) * law((index, row))).collect();
        Dataset::new(features(rows), secs, vec![false; rows.len()]).unwrap()
    }

    /// Compares every point of a grid with its own prediction; returns the number of regions.
    fn check(ensemble: &Ensemble, question: Row, (down, across): (&[f64], &[f64]), widths: &[usize]) -> usize {
        let along = |name: &'static str, values: &[f64]| Along { name, values: values.to_vec() };
        let (question_features, widths_of) = (features(&[question]), widths.to_vec());
        let grid = Grid {
            question: question_features,
            down: along("down", down),
            across: along("across", across),
            widths: widths_of,
        };
        let surface = ensemble.kept_surface(grid.clone()).unwrap();
        let again = ensemble.kept_surface(grid).unwrap();
        assert!(Arc::ptr_eq(&surface, &again), "the same question is answered twice");
        let mut points = 0;
        for region in &surface.regions {
            let mut logs = vec![0.0; region.columns.len()];
            for (index, row) in region.rows.clone().enumerate() {
                region.logs(index, &mut logs, &mut vec![0.0; region.columns.len()]);
                let mut anew = logs.clone();
                region.factored.row(index, &mut anew, &mut vec![0.0; region.columns.len()]);
                assert_eq!(anew, logs, "what is kept is what is predicted");
                let mut late = logs.clone();
                region.add_margin(region.margin(0.9), index, 0..late.len(), &mut late);
                for place in region.spans[index].clone() {
                    let column = region.columns.start + place;
                    let alone = features(&[Row { down: down[row], across: across[column], ..question }]);
                    let alone = &ensemble.predict(&alone).unwrap()[0];
                    let secs = alone.completion_time_secs.unwrap();
                    assert!((libm::exp(logs[place]) / secs - 1.0).abs() < 1e-10, "{row} {column}");
                    let ratio = alone.spread.as_ref().unwrap().quantile(0.9);
                    assert!((libm::exp(late[place]) / (secs * ratio) - 1.0).abs() < 1e-9, "{row} {column}");
                    points += 1;
                }
            }
        }
        assert_eq!(points, widths.iter().sum::<usize>());
        surface.regions.len()
    }

    const QUESTION: Row = Row { down: 1.0, across: 2.0, share: 0.1, machine: "b", others: [1.0, 1.0] };

    #[test]
    fn a_surface_has_the_margins_of_contexts_that_were_measured_in_part() {
        let mut rows = Vec::new();
        for down in [1.0, 2.0, 3.0, 4.0, 5.0, 9.0] {
            for across in [2.0, 8.0] {
                for share in [0.01, 0.1, 0.5] {
                    let row = |machine| Row { down, across, share, machine, ..QUESTION };
                    // One machine has a fully measured range, another one only scattered runs.
                    rows.extend((down < 4.0).then(|| row("b")).into_iter().chain([row("a")]));
                    rows.extend((down == 1.0 || down == 5.0).then(|| row("c")));
                }
            }
        }
        let ensemble = fit(&rows);
        let grid: (&[f64], &[f64]) = (&[1.0, 3.0, 4.0, 5.0, 7.0, 9.0], &[2.0, 5.0, 8.0]);
        for (share, machine) in [(0.1, "b"), (0.1, "c"), (1.0, "b"), (1.0, "c"), (0.1, "a")] {
            check(&ensemble, Row { share, machine, ..QUESTION }, grid, &[3; 6]);
        }
    }

    #[test]
    fn every_point_of_a_surface_is_what_is_predicted_of_it_alone() {
        let mut rows = Vec::new();
        for down in [1.0, 2.0, 5.0] {
            for across in [2.0, 4.0] {
                for share in [0.01, 0.1, 0.5] {
                    rows.extend(["a", "b"].map(|machine| Row { down, across, share, machine, ..QUESTION }));
                }
            }
        }
        let ensemble = fit(&rows);
        let grid: (&[f64], &[f64]) = (&[0.5, 1.0, 3.0, 5.0, 40.0], &[1.0, 2.0, 3.0, 8.0]);
        for (share, machine) in [(0.1, "b"), (1.0, "a"), (0.2, "new")] {
            let question = Row { share, machine, ..QUESTION };
            assert_eq!(check(&ensemble, question, grid, &[4; 5]), 9);
            assert_eq!(check(&ensemble, question, grid, &[4, 4, 0, 3, 0]), 6);
        }
    }

    #[test]
    fn beyond_the_range_of_a_context_each_point_has_a_region_too() {
        let mut rows = Vec::new();
        for (down, across) in [1.0, 2.0, 5.0, 9.0].into_iter().flat_map(|down| [2.0, 4.0, 6.0].map(|x| (down, x))) {
            for share in [0.01, 0.1] {
                rows.extend(["a", "c"].map(|machine| Row { down, across, share, machine, ..QUESTION }));
                if down < 5.0 && across < 6.0 {
                    rows.push(Row { down, across, share, machine: "b", ..QUESTION });
                }
            }
        }
        let ensemble = fit(&rows);
        let grid: (&[f64], &[f64]) = (&[0.5, 1.0, 2.0, 3.0, 5.0, 9.0, 40.0], &[1.0, 2.0, 4.0, 5.0, 6.0, 8.0]);
        let within = check(&ensemble, Row { machine: "a", ..QUESTION }, grid, &[6; 7]);
        let cut = check(&ensemble, QUESTION, grid, &[6, 6, 5, 6, 0, 4, 6]);
        assert!(within == 9 && cut > within, "{within} {cut}");
    }

    #[test]
    fn where_only_the_farthest_ranges_count_each_point_has_those_of_its_own() {
        let mut rows = Vec::new();
        for (index, down) in [1.0, 2.0, 5.0].into_iter().enumerate() {
            for across in [2.0, 4.0] {
                for share in [0.01, 0.1] {
                    let others = [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]][index];
                    rows.push(Row { down, across, share, others, ..QUESTION });
                    rows.push(Row { down, across, share, others: [2.0, 2.0], ..QUESTION });
                }
            }
        }
        let ensemble = fit(&rows);
        let grid: (&[f64], &[f64]) = (&[0.2, 0.9, 3.0, 6.0, 20.0, 400.0], &[1.0, 1.9, 3.0, 4.5, 8.0, 9.0, 90.0]);
        for share in [0.05, 0.3, 1.0] {
            let question = Row { share, ..QUESTION };
            assert!(check(&ensemble, question, grid, &[7; 6]) >= if share < 0.1 { 9 } else { 12 });
            assert!(check(&ensemble, question, grid, &[7, 6, 5, 4, 0, 2]) > 4);
        }
    }

    #[test]
    fn a_surface_has_the_times_that_separate_runs_agree_on() {
        let mut rows = Vec::new();
        for down in [1.0, 2.0, 5.0] {
            for across in [2.0, 4.0] {
                for share in [0.01, 0.1, 0.5] {
                    rows.extend(["a", "b"].map(|machine| Row { down, across, share, machine, ..QUESTION }));
                }
            }
        }
        let slow = [(2.0, 4.0), (5.0, 2.0)];
        let is_slow = |row: &Row| row.share == 0.5 && row.machine == "b" && slow.contains(&(row.down, row.across));
        rows.extend([rows.clone(), rows.clone()].concat().into_iter().filter(is_slow));
        let slower = |row: &Row| if is_slow(row) { 2.5 } else { 1.0 };
        let known = [("down", Meaning::Workers), ("across", Meaning::Workers), ("share", Meaning::Work)];
        let ensemble = Ensemble::fit_known(&dataset(&rows, slower), &known).unwrap();
        assert_eq!(ensemble.state.agreed.len(), 2);
        let grid: (&[f64], &[f64]) = (&[0.5, 1.0, 1.7, 2.0, 3.0, 5.0, 40.0], &[1.0, 2.0, 3.0, 4.0, 8.0]);
        for (share, machine) in [(0.1, "b"), (0.3, "b"), (0.5, "b"), (1.0, "b"), (0.5, "a"), (0.5, "new")] {
            check(&ensemble, Row { share, machine, ..QUESTION }, grid, &[5; 7]);
        }
    }
}
