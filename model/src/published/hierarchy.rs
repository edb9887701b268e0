//! The two-level hierarchy: what each feature does to the time alone, then the time from that.

use foreglow_shared::sort_by;
use serde::{Deserialize, Serialize};

use crate::learner::{Cancelled, Grid, Model, Selection, Table, Work, select};
use crate::published::scaled_time::scaled_times;

/// What level 2 learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level2 {
    /// Level 2-1: the level-1 outputs side by side.
    Vector,
    /// Level 2-2: their product.
    Product,
}

/// Level 1 and level 2 (the paper, §4.3), on any columns of numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hierarchy {
    /// From each column to the scaled time; `None` where no two rows differ in that column alone: its effect is then none.
    level1: Vec<Option<Model>>,
    combination: Level2,
    level2: Model,
    /// Unit of level 2's target: the longest time, so that the unit of the times changes no choice.
    longest: f64,
}

/// What was chosen at each place of a hierarchy.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// By column.
    pub(crate) level1: Vec<Option<Selection>>,
    pub(crate) level2: Selection,
}

impl Hierarchy {
    /// Fits two rows or more: `rows` has one list of features a row, transformed as the learners are to see them, `times`
    /// a time above 0 for each. The order of the rows changes nothing. It takes one step of `grid` a column and one more.
    ///
    /// # Errors
    /// The watcher said stop.
    pub(crate) fn fit(
        rows: &[Vec<f64>],
        times: &[f64],
        combination: Level2,
        grid: Grid,
        work: &mut Work<'_>,
    ) -> Result<(Self, Chosen), Cancelled> {
        let (rows, times) = in_order(rows, times);
        let columns = rows.first().map_or(0, Vec::len);
        let mut level1 = Vec::with_capacity(columns);
        let mut chosen = Vec::with_capacity(columns);
        for column in 0..columns {
            let end = work.done() + grid.steps();
            let table = scaled_times(&rows, &times, column);
            let selected = if table.rows() > 0 { Some(select(&table, grid, work)?) } else { None };
            work.move_to(end)?;
            let (selection, model) = selected.unzip();
            level1.push(model);
            chosen.push(selection);
        }
        let longest = times.iter().copied().fold(0.0, f64::max);
        let table = Table {
            features: rows.iter().map(|row| combine(&effects(&level1, row), combination)).collect(),
            target: times.iter().map(|time| time / longest).collect(),
        };
        let (selection, level2) = select(&table, grid, work)?;
        Ok((Self { level1, combination, level2, longest }, Chosen { level1: chosen, level2: selection }))
    }

    /// The output of level 1 for one column; `None` where it has no effect.
    pub(crate) fn effect(&self, column: usize, x: f64) -> Option<f64> {
        self.level1.get(column)?.as_ref().map(|model| model.at(&[x]))
    }

    /// The value at features, as many as there are columns; `None` where an effect of a product is not above 0, since a
    /// job takes no negative share of a time, and two such shares would multiply to a positive one.
    pub(crate) fn at(&self, features: &[f64]) -> Option<f64> {
        let effects = effects(&self.level1, features);
        if self.combination == Level2::Product && !effects.iter().all(|effect| *effect > 0.0) {
            return None;
        }
        Some(self.level2.at(&combine(&effects, self.combination)) * self.longest)
    }
}

/// Outputs of level 1, of the columns that have an effect.
fn effects(level1: &[Option<Model>], features: &[f64]) -> Vec<f64> {
    level1.iter().zip(features).filter_map(|(model, x)| Some(model.as_ref()?.at(&[*x]))).collect()
}

/// What level 2 sees; where there is no effect at all, a constant.
fn combine(effects: &[f64], combination: Level2) -> Vec<f64> {
    match combination {
        Level2::Vector if !effects.is_empty() => effects.to_vec(),
        Level2::Vector | Level2::Product => vec![effects.iter().product()],
    }
}

/// Rows by their features and then their times, so that their order changes no digit.
fn in_order(rows: &[Vec<f64>], times: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut pairs: Vec<(&Vec<f64>, f64)> = rows.iter().zip(times.iter().copied()).collect();
    sort_by(&mut pairs, |a, b| {
        let by_feature = a.0.iter().zip(b.0).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
        by_feature.unwrap_or_else(|| a.1.total_cmp(&b.1))
    });
    pairs.into_iter().map(|(row, time)| (row.clone(), time)).unzip()
}
