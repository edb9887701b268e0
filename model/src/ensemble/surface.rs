//! Predictions on a whole grid of two features, at a few products a point.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use crate::dataset::Features;
use crate::ensemble::Ensemble;
use crate::ensemble::blend::Blend;
use crate::ensemble::errors::Margin;
use crate::ensemble::shape::Axis;
use crate::regression::Regression;
use crate::regression::plane::{Factored, Line, Plane};

/// Features that vary, at most: with more, the shape of a question depends on all of them at once.
const MOST_VARYING: usize = 4;
/// Points whose logarithms are kept for the next time: 2 MiB of them.
const MOST_KEPT: usize = 1 << 18;

/// The logarithms of the times, seconds, at every point of a grid.
pub(crate) struct Surface {
    /// Parts of the grid whose questions are of one shape.
    pub(crate) regions: Vec<Region>,
}

/// A rectangle of a grid.
pub(crate) struct Region {
    pub(crate) rows: Range<usize>,
    pub(crate) columns: Range<usize>,
    factored: Factored,
    blend: Arc<Blend>,
    /// Squared distance beyond the measured ranges of each row, by itself and by what does not vary, and of each column.
    distances: (Vec<f64>, Vec<f64>),
    /// ln t of all rows, one after another, where they are kept.
    kept: Option<Vec<f64>>,
}

/// The surface that was asked for last, and what was asked.
pub(super) struct Kept {
    question: Features,
    down: (String, Vec<f64>),
    across: (String, Vec<f64>),
    surface: Arc<Surface>,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("question", &self.question).finish_non_exhaustive()
    }
}

/// One feature of a grid: its name and its values, ascending.
#[derive(Clone, Copy)]
pub(crate) struct Along<'a> {
    pub(crate) name: &'a str,
    pub(crate) values: &'a [f64],
}

impl Ensemble {
    /// As [`Ensemble::surface`]; one of up to 262,144 points is kept, so that the same question again is only looked up.
    pub(crate) fn kept_surface(&self, question: &Features, down: Along, across: Along) -> Option<Arc<Surface>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_along = |kept: &(String, Vec<f64>), along: Along| kept.0 == along.name && kept.1 == along.values;
        let is_same =
            |kept: &&Kept| kept.question == *question && is_along(&kept.down, down) && is_along(&kept.across, across);
        if let Some(known) = kept.as_ref().filter(is_same) {
            return Some(Arc::clone(&known.surface));
        }
        let mut surface = self.surface(question, down, across)?;
        let is_small = down.values.len() * across.values.len() <= MOST_KEPT;
        if is_small {
            surface.regions.iter_mut().for_each(Region::keep);
        }
        let surface = Arc::new(surface);
        let owned = |along: Along| (along.name.to_owned(), along.values.to_vec());
        *kept = is_small.then(|| Kept {
            question: question.clone(),
            down: owned(down),
            across: owned(across),
            surface: Arc::clone(&surface),
        });
        Some(surface)
    }

    /// What [`Ensemble::predict`] gives where two features of a question take all pairs of values. `None` where the runs
    /// cannot say, where a feature is not there, or where too many features vary for whole parts to be of one shape.
    pub(crate) fn surface(&self, question: &Features, down: Along, across: Along) -> Option<Surface> {
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
            && answers(down_place, down.values)
            && answers(across_place, across.values);
        let varying = extent.numeric.iter().filter(|axis| axis.varies()).count();
        if !answerable || varying > MOST_VARYING || extent.is_one_point() {
            return None;
        }
        let fixed = (0..numeric.len()).filter(is_fixed);
        let square = |axis: &Axis, x: f64| axis.distance(x) * axis.distance(x);
        let beyond: f64 = fixed.map(|column| square(&extent.numeric[column], numeric[column])).sum();
        let (down_axis, across_axis) = (&extent.numeric[down_place], &extent.numeric[across_place]);
        let mut regions = Vec::new();
        for rows in segments(down_axis, down.values) {
            for columns in segments(across_axis, across.values) {
                let plane = Plane {
                    numeric,
                    category,
                    down: Line { column: down_place, values: &down.values[rows.clone()] },
                    across: Line { column: across_place, values: &across.values[columns.clone()] },
                };
                let (blend, factored) = self.region(&plane);
                let down = plane.down.values.iter().map(|x| beyond + square(down_axis, *x)).collect();
                let across = plane.across.values.iter().map(|x| square(across_axis, *x)).collect();
                let distances = (down, across);
                regions.push(Region { rows: rows.clone(), columns, factored, blend, distances, kept: None });
            }
        }
        Some(Surface { regions })
    }

    /// The blend for a grid of questions of one shape, and what it predicts.
    fn region(&self, plane: &Plane) -> (Arc<Blend>, Factored) {
        let shape = self.state.extent.shape(&plane.at(plane.down.values[0], plane.across.values[0]), plane.category);
        let mut fitted = self.lock();
        let blend = fitted.blend(&self.state, &shape);
        let members = fitted.members(&blend);
        drop(fitted);
        let mut factored = Factored::zero(plane.down.values.len(), plane.across.values.len());
        factored.down.fill(self.state.table.mean_log);
        members.iter().for_each(|(member, weight)| member.add_to(&mut factored, plane, *weight));
        (blend, factored)
    }
}

impl Region {
    /// ln t of one row of the region, counted within it, into `logs`, one a column; `scratch` is as long.
    pub(crate) fn logs(&self, row: usize, logs: &mut [f64], scratch: &mut [f64]) {
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

    /// How far above a prediction the time lies, in ln t, that is not exceeded with this probability, of at least 1/2.
    pub(crate) fn margin(&self, probability: f64) -> Margin {
        self.blend.margin(probability)
    }

    /// Adds a margin to the logarithms of some columns of one row.
    pub(crate) fn add_margin(&self, margin: Margin, row: usize, columns: Range<usize>, logs: &mut [f64]) {
        let down = self.distances.0[row];
        logs.iter_mut().zip(&self.distances.1[columns]).for_each(|(log, across)| *log += margin.at(down + across));
    }
}

/// The values, ascending, below a measured range, within it and above it, where there are any.
fn segments(axis: &Axis, values: &[f64]) -> impl Iterator<Item = Range<usize>> {
    let low = values.partition_point(|x| *x < axis.smallest());
    let high = values.partition_point(|x| *x <= axis.largest());
    [0..low, low..high, high..values.len()].into_iter().filter(|segment| !segment.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Dataset};

    fn features(rows: &[(f64, f64, f64, &str)]) -> Features {
        let number = |of: fn(&(f64, f64, f64, &str)) -> f64| rows.iter().map(of).collect();
        Features::new(vec![
            Column::numeric("share", number(|row| row.2), None),
            Column::numeric("across", number(|row| row.1), None),
            Column::category("machine", rows.iter().map(|row| row.3)),
            Column::numeric("down", number(|row| row.0), None),
        ])
        .unwrap()
    }

    #[test]
    fn every_point_of_a_surface_is_what_is_predicted_of_it_alone() {
        let mut rows = Vec::new();
        for down in [1.0, 2.0, 5.0] {
            for across in [2.0, 4.0] {
                for share in [0.01, 0.1, 0.5] {
                    rows.extend(["a", "b"].map(|machine| (down, across, share, machine)));
                }
            }
        }
        let law = |(index, row): (usize, &(f64, f64, f64, &str))| {
            let slow = if row.3 == "a" { 1.0 } else { 1.7 };
            slow * row.2 * 300.0 / (row.0 * row.1) + 2.0 / row.1 + 0.3 * row.0 + 0.01 * (index * 7 % 5) as f64
        };
        let secs: Vec<f64> = rows.iter().enumerate().map(law).collect();
        let ensemble = Ensemble::fit(&Dataset::new(features(&rows), secs, vec![false; rows.len()]).unwrap()).unwrap();
        let (down, across) = ([0.5, 1.0, 3.0, 5.0, 40.0], [1.0, 2.0, 3.0, 8.0]);
        for (share, machine) in [(0.1, "b"), (1.0, "a"), (0.2, "new")] {
            let question = features(&[(1.0, 2.0, share, machine)]);
            let lines = [Along { name: "down", values: &down }, Along { name: "across", values: &across }];
            let surface = ensemble.kept_surface(&question, lines[0], lines[1]).unwrap();
            let again = ensemble.kept_surface(&question, lines[0], lines[1]).unwrap();
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
                    for (place, column) in region.columns.clone().enumerate() {
                        let alone = features(&[(down[row], across[column], share, machine)]);
                        let alone = &ensemble.predict(&alone).unwrap()[0];
                        let secs = alone.completion_time_secs.unwrap();
                        assert!((libm::exp(logs[place]) / secs - 1.0).abs() < 1e-11, "{row} {column}");
                        let ratio = alone.spread.as_ref().unwrap().quantile(0.9);
                        assert!((libm::exp(late[place]) / (secs * ratio) - 1.0).abs() < 1e-9, "{row} {column}");
                        points += 1;
                    }
                }
            }
            assert_eq!(points, down.len() * across.len());
        }
    }
}
