//! Canonical form of the rows, so that their order, exact copies and the unit of the times change
//! no digit.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use foreglow_shared::sort_by;

use crate::dataset::{Dataset, Points, Training};
use crate::ensemble::schema::Schema;
use crate::permutation::hash;

/// Limit on the distinct rows of a fit: the time of a Gaussian process is cubic in them.
pub(crate) const MAX_ROWS: usize = 1_000;
/// Number of rows from which fewer folds are fitted.
pub(crate) const MANY_ROWS: usize = 300;
/// Rounding of the logarithms of times: multiples of 2⁻²⁴ (a relative 6e-8, far below the noise of
/// any clock) about their mean, so that times k times as long give the same bits.
const STEPS_PER_UNIT: f64 = 16_777_216.0;

/// Distinct rows in canonical order, with the median time of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) schema: Schema,
    /// Features, and logarithms of seconds less `mean_log`.
    pub(crate) training: Training,
    pub(crate) mean_log: f64,
    /// Whether the time of each row was measured; false for lower bounds.
    pub(crate) observed: Vec<bool>,
}

/// Runs that are equal in every feature.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) numeric: Vec<f64>,
    pub(crate) category: Vec<u32>,
    /// Seconds of the completed runs, ascending.
    pub(crate) secs: Vec<f64>,
    /// Runs that were stopped later than most of these completed.
    pub(crate) stopped: usize,
    /// The largest weight of the completed runs; without one, of all.
    pub(crate) weight: f64,
    /// The largest lower bound, seconds; 0 without one.
    pub(crate) bound_secs: f64,
    /// All runs, by index.
    pub(crate) rows: Vec<usize>,
}

impl Group {
    /// Returns the logarithm of the median. Stopped runs count as longer than any completed one;
    /// `None` if they are the majority.
    pub(crate) fn log_median(&self) -> Option<f64> {
        let runs = self.secs.len() + self.stopped;
        let lower = self.secs.get(runs.checked_sub(1)? / 2)?;
        let upper = self.secs.get(runs / 2).unwrap_or(lower);
        Some(libm::log(lower / 2.0 + upper / 2.0))
    }

    /// Whether separate runs agree that the median is off by an error, in ln t: at least two are
    /// closer to the median than to what was expected. Equal times may be copies of one run, and
    /// count once.
    pub(crate) fn agrees(&self, error: f64) -> bool {
        let mut near = self.secs.clone();
        near.dedup();
        near.retain(|secs| self.log_median().is_some_and(|log| 2.0 * (libm::log(*secs) - log).abs() < error.abs()));
        near.len() > 1
    }

    /// Returns the logarithm of the lower bound.
    pub(crate) fn log_bound(&self) -> f64 {
        libm::log(self.bound_secs)
    }
}

/// Groups equal rows, sorted by numbers and then names.
pub(crate) fn groups(schema: &Schema, dataset: &Dataset) -> Vec<Group> {
    let Points { numeric, category } = schema.points(dataset.features());
    let mut order: Vec<usize> = (0..numeric.len()).collect();
    let features = |a: usize, b: usize| compare(&numeric[a], &numeric[b]).then_with(|| category[a].cmp(&category[b]));
    sort_by(&mut order, |a, b| features(*a, *b).then(a.cmp(b)));
    let group = |all: &[usize]| {
        let (stopped, completed): (Vec<usize>, Vec<usize>) = all.iter().partition(|row| dataset.censored()[**row]);
        // Disturbed runs do not count if another run of the same setting was not disturbed.
        let counted = if completed.is_empty() { &stopped } else { &completed };
        let weight = counted.iter().map(|row| dataset.weights()[*row]).fold(0.0, f64::max);
        let times = |rows: &[usize]| -> Vec<f64> {
            let rows = rows.iter().filter(|row| dataset.weights()[**row] >= weight);
            let mut secs: Vec<f64> = rows.map(|row| dataset.secs()[*row]).collect();
            secs.sort_unstable_by(f64::total_cmp);
            secs
        };
        let (secs, bounds) = (times(&completed), times(&stopped));
        // A bound that most completed runs satisfy does not matter for them.
        let satisfied = secs.get(secs.len() / 2).copied().unwrap_or_default();
        Group {
            numeric: numeric[all[0]].clone(),
            category: category[all[0]].clone(),
            secs,
            stopped: bounds.iter().filter(|bound| **bound > satisfied).count(),
            weight,
            bound_secs: bounds.last().copied().unwrap_or_default(),
            rows: all.to_vec(),
        }
    };
    order.chunk_by(|a, b| features(*a, *b) == Ordering::Equal).map(group).collect()
}

/// Keeps at most [`MAX_ROWS`] groups, in their order: of every combination of names about as many,
/// and of these half at the ends of a numeric feature's range, because extrapolation depends on
/// them, and half inside. The choice is pseudo-random.
pub(crate) fn subsample(groups: Vec<Group>) -> Vec<Group> {
    if groups.len() <= MAX_ROWS {
        return groups;
    }
    let columns = groups[0].numeric.len();
    let end = |column: usize, pick: fn(f64, f64) -> f64| {
        groups.iter().map(|group| group.numeric[column]).reduce(pick).unwrap_or_default()
    };
    let ends: Vec<(f64, f64)> = (0..columns).map(|j| (end(j, f64::min), end(j, f64::max))).collect();
    let at_end = |group: &Group| group.numeric.iter().zip(&ends).any(|(x, (low, high))| x == low || x == high);
    let mut order: Vec<(bool, u64, usize)> =
        groups.iter().enumerate().map(|(row, group)| (!at_end(group), hash(row), row)).collect();
    let context = |of: &(bool, u64, usize)| &groups[of.2].category;
    sort_by(&mut order, |a, b| context(a).cmp(context(b)).then(a.cmp(b)));
    // The place of a row in its context, where ends and others alternate.
    let mut ranked: Vec<(usize, u64, usize)> = Vec::with_capacity(order.len());
    for rows in order.chunk_by(|a, b| context(a) == context(b)) {
        let inside = rows.partition_point(|(is_inside, ..)| !is_inside);
        let place = |at: usize| if at < inside { 2 * at } else { 2 * (at - inside) + 1 };
        ranked.extend(rows.iter().enumerate().map(|(at, (_, hash, row))| (place(at), *hash, *row)));
    }
    sort_by(&mut ranked, Ord::cmp);
    let mut kept = vec![false; groups.len()];
    ranked[..MAX_ROWS].iter().for_each(|(.., row)| kept[*row] = true);
    groups.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(group, _)| group).collect()
}

impl Table {
    /// Creates a table of features and the logarithms of their seconds.
    pub(crate) fn new(schema: Schema, points: Points, logs: &[f64], observed: Vec<bool>) -> Self {
        let mean_log = logs.iter().sum::<f64>() / logs.len() as f64;
        let logs = logs.iter().map(|log| libm::round((log - mean_log) * STEPS_PER_UNIT) / STEPS_PER_UNIT).collect();
        Self { schema, training: Training::new(points, logs), mean_log, observed }
    }

    /// Returns the number of distinct rows.
    pub(crate) fn rows(&self) -> usize {
        self.training.logs.len()
    }

    /// Returns the standard deviation of ln t.
    pub(crate) fn deviation(&self) -> f64 {
        let squares: f64 = self.training.logs.iter().map(|log| log * log).sum();
        (squares / self.rows() as f64).sqrt()
    }

    /// Returns the distinct measured values of a numeric feature in some rows, ascending.
    pub(crate) fn levels(&self, column: usize, rows: &[usize]) -> Vec<f64> {
        let observed = rows.iter().filter(|row| self.observed[**row]);
        let mut levels: Vec<f64> = observed.map(|row| self.training.points.numeric[*row][column]).collect();
        levels.sort_unstable_by(f64::total_cmp);
        levels.dedup();
        levels
    }
}

/// Compares finite numbers lexicographically.
fn compare(a: &[f64], b: &[f64]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_rows_every_combination_of_names_keeps_its_share() {
        let group = |context: u32, x: f64| Group {
            numeric: vec![x],
            category: vec![context],
            secs: vec![1.0],
            stopped: 0,
            weight: 1.0,
            bound_secs: 0.0,
            rows: Vec::new(),
        };
        // One has many rows, the others four each, two of them at the ends.
        let few = (1..=300).flat_map(|context| [0.0, 1.0, 2.0, 3.0].map(|x| group(context, x)));
        let many = (0..800).map(|place| group(0, 3.0 * f64::from(place) / 799.0));
        let kept = subsample(many.chain(few).collect());
        let of = |context: u32| kept.iter().filter(move |group| group.category == [context]);
        assert_eq!(kept.len(), MAX_ROWS);
        assert!((0..=300).all(|context| of(context).count() >= 2));
        assert!((1..=300).all(|context| of(context).any(|group| [0.0, 3.0].contains(&group.numeric[0]))));
        assert_eq!(of(0).filter(|group| [0.0, 3.0].contains(&group.numeric[0])).count(), 2);
    }
}
