//! How far held-out rows and questions are beyond the measured ranges.

use crate::ensemble::axis::{Axis, End};
use crate::ensemble::canonical::Table;
use crate::ensemble::folds::Fold;
use crate::ensemble::shape::{Extent, Shape};

/// How far a held-out row is beyond the rows to fit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Distances {
    /// Distance beyond the ranges of the rows to fit, in units of these ranges; the context's
    /// ranges if the shape is beyond the context.
    pub(crate) beyond: f64,
    /// Distance beyond the values of its context but within the ranges of the rows to fit, in units
    /// of these ranges.
    pub(crate) in_context: f64,
    /// Distance beyond the ranges of the rows to fit, in units of the table's ranges.
    pub(crate) of_table: f64,
}

impl Extent {
    /// Returns the distances of each row of a fold to test.
    pub(crate) fn distances(&self, table: &Table, shape: &Shape, fold: &Fold) -> Vec<Distances> {
        let points = &table.training.points;
        let axes = |rows: &[usize]| -> Vec<Axis> {
            let axis = |(column, axis): (usize, &Axis)| Axis { levels: table.levels(column, rows), log: axis.log };
            self.numeric.iter().enumerate().map(axis).collect()
        };
        let fitted = axes(&fold.fit);
        let of_context = |names: &Vec<u32>| {
            let is_of = |row: &usize| table.observed[*row] && points.category[*row] == *names;
            axes(&fold.fit.iter().copied().filter(is_of).collect::<Vec<usize>>())
        };
        // Describes each context once; there are few.
        let mut contexts: Vec<(&Vec<u32>, Vec<Axis>)> = Vec::new();
        let mut of = |names| {
            let place = contexts.iter().position(|(known, _)| *known == names).unwrap_or_else(|| {
                contexts.push((names, of_context(names)));
                contexts.len() - 1
            });
            contexts[place].1.clone()
        };
        let mut distances = |row: &usize| {
            let (x, names) = (&points.numeric[*row], &points.category[*row]);
            let of_table =
                length((0..x.len()).map(|column| self.numeric[column].share(fitted[column].away(x[column]))));
            let beyond = length((0..x.len()).map(|column| fitted[column].distance(x[column])));
            match shape {
                Shape::BeyondOfContext(End { column, .. }) => {
                    let own = of(names);
                    Distances { beyond: own[*column].distance(x[*column]), in_context: 0.0, of_table }
                }
                Shape::Inside | Shape::Few(..) => {
                    let own = of(names);
                    let away = |column: usize| own[column].away(fitted[column].clamp(x[column]));
                    let in_context = length((0..x.len()).map(|column| fitted[column].share(away(column))));
                    Distances { beyond, in_context, of_table }
                }
                _ => Distances { beyond, in_context: 0.0, of_table },
            }
        };
        fold.test.iter().map(&mut distances).collect()
    }

    /// Returns the distance of a question beyond the ranges, each feature in units of its range.
    pub(crate) fn distance(&self, shape: &Shape, numeric: &[f64], category: &[u32]) -> f64 {
        let square = |(column, x): (usize, &f64)| self.squared(shape, category, column, *x);
        numeric.iter().enumerate().map(square).sum::<f64>().sqrt()
    }

    /// Returns the squared distance of a question's value beyond the values of its context, in
    /// units of the table's range, or of the context's range if the shape is beyond the context.
    /// Without a context, it is the distance beyond the table's range.
    pub(crate) fn squared(&self, shape: &Shape, category: &[u32], column: usize, x: f64) -> f64 {
        let all = &self.numeric[column];
        let distance = match (shape, self.context(category)) {
            (Shape::BeyondOfContext(_), Some(context)) => context.cut(column).unwrap_or(all).distance(x),
            (Shape::Inside | Shape::Few(..), Some(context)) => all.share(context.axis(column).away(x)),
            _ => all.distance(x),
        };
        distance * distance
    }
}

impl Axis {
    /// Returns the distance of a value beyond the range, in units of the range; 0 within it.
    pub(crate) fn distance(&self, x: f64) -> f64 {
        self.share(self.away(x))
    }

    /// Returns the distance of a value beyond the range, on the scale that candidates use; 0
    /// without values.
    fn away(&self, x: f64) -> f64 {
        if self.levels.is_empty() {
            return 0.0;
        }
        let x = self.see(x);
        (x - self.see(self.largest())).max(self.see(self.smallest()) - x).max(0.0)
    }

    /// Returns a distance in units of the range; 0 if there is no range.
    fn share(&self, away: f64) -> f64 {
        if self.varies() { away / (self.see(self.largest()) - self.see(self.smallest())) } else { 0.0 }
    }

    /// Returns the value of the range that is nearest to x.
    fn clamp(&self, x: f64) -> f64 {
        x.max(self.smallest()).min(self.largest())
    }
}

/// Returns the length of a vector.
fn length(parts: impl Iterator<Item = f64>) -> f64 {
    parts.map(|part| part * part).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use crate::{Column, Dataset, Ensemble, Features, Meaning};

    /// Nodes or images, machine type and seconds.
    type Run = (f64, usize, f64);

    fn features(runs: &[Run]) -> Features {
        let asked = Column::numeric("x", runs.iter().map(|run| run.0).collect(), None);
        Features::new(vec![asked, Column::category("machine", runs.iter().map(|run| format!("m{}", run.1)))]).unwrap()
    }

    fn fit(runs: &[Run], known: &[(&str, Meaning)]) -> Ensemble {
        let secs = runs.iter().map(|run| run.2).collect();
        let dataset = Dataset::new(features(runs), secs, vec![false; runs.len()]).unwrap();
        Ensemble::fit_known(&dataset, known).unwrap()
    }

    /// ln(upper end / prediction) of the 90 % interval of each question about a machine type.
    fn half_widths(ensemble: &Ensemble, machine: usize, asked: &[f64]) -> Vec<f64> {
        let asked: Vec<Run> = asked.iter().map(|x| (*x, machine, 0.0)).collect();
        let predictions = ensemble.predict(&features(&asked)).unwrap();
        predictions.iter().map(|of| libm::log(of.spread.as_ref().unwrap().quantile(0.95))).collect()
    }

    /// Times of machine types 0, 1, … that have these node counts, 5 % of noise among them.
    fn cluster(nodes: &[&[f64]]) -> Vec<Run> {
        let run = |machine: usize| {
            move |(place, nodes): (usize, &f64)| {
                let noise = 1.0 + 0.05 * ((place * 5 + machine * 3) % 7) as f64 / 6.0;
                (*nodes, machine, (100 + 40 * machine) as f64 * (0.1 + 1.0 / nodes) * noise)
            }
        };
        nodes.iter().enumerate().flat_map(|(machine, of)| of.iter().enumerate().map(run(machine))).collect()
    }

    #[test]
    fn beyond_the_runs_of_its_machine_type_an_interval_widens() {
        // Too scattered for a range of their own.
        let few: &[&[f64]] = &[&[1.0, 32.0, 8.0], &[4.0, 16.0, 2.0], &[1.0, 12.0, 3.0], &[6.0, 32.0, 24.0]];
        let many: &[&[f64]] = &[
            &[1.0, 3.0, 8.0, 32.0, 4.0, 20.0],
            &[2.0, 6.0, 16.0, 3.0, 7.0, 12.0],
            &[1.0, 4.0, 24.0, 20.0, 5.0, 3.0],
            &[2.0, 8.0, 32.0, 5.0, 10.0, 28.0],
        ];
        for (nodes, is_ranked) in [(few, false), (many, true)] {
            let ensemble = fit(&cluster(nodes), &[]);
            let widths = half_widths(&ensemble, 1, &[4.0, 16.0, 16.001, 24.0, 32.0]);
            assert_eq!(widths[0], widths[1], "{is_ranked}: {widths:?}");
            assert!((widths[2] / widths[1] - 1.0).abs() < 1e-3, "{is_ranked}: {widths:?}");
            assert!(widths[3] > 1.02 * widths[2] && widths[4] > 1.02 * widths[3], "{is_ranked}: {widths:?}");
        }
    }

    #[test]
    fn an_interval_is_no_narrower_just_beyond_the_range_of_a_machine_type() {
        let all: &[f64] = &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];
        for shift in 0..5 {
            let mut runs = cluster(&[all, all, all, &all[..5], all, &all[..4]]);
            // Noise within the range, and almost no noise at its end.
            for (place, run) in runs.iter_mut().enumerate().filter(|(_, run)| run.0 < 4.0) {
                run.2 *= 1.0 + 0.3 * ((place * 7 + shift) % 5) as f64;
            }
            let widths = half_widths(&fit(&runs, &[]), 3, &[5.9, 6.0, 6.1, 8.0, 12.0, 16.0]);
            assert!(widths.windows(2).all(|pair| pair[1] > 0.999_999 * pair[0]), "{shift}: {widths:?}");
        }
    }

    #[test]
    fn contexts_that_grow_differently_widen_the_interval_with_the_distance() {
        let runs = |powers: &[f64]| -> Vec<Run> {
            let run = |machine: usize, size: f64, noise: f64| {
                (size, machine, 5.0 * libm::pow(size, powers[machine]) * (1.0 + 0.02 * noise))
            };
            let of = |machine: usize| {
                let sizes = [1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 12.0, 16.0];
                sizes
                    .into_iter()
                    .enumerate()
                    .map(move |(place, size)| run(machine, size, ((place + machine) % 3) as f64))
            };
            (0..powers.len()).flat_map(of).collect()
        };
        let growth = |powers: &[f64]| {
            let ensemble = fit(&runs(powers), &[("x", Meaning::Work)]);
            let widths = half_widths(&ensemble, 1, &[16.001, 256.0]);
            widths[1] / widths[0]
        };
        let (equal, different) = (growth(&[0.8; 6]), growth(&[0.4, 0.6, 0.75, 0.85, 1.0, 1.2]));
        assert!(different > 1.5 * equal, "{equal} and {different}");
    }
}
