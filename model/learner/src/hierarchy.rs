//! The two-level hierarchy: level 1 learns the effect of each feature, level 2 combines them.

use serde::{Deserialize, Serialize};

use crate::scaled_time::scaled_times;
use crate::{Cancelled, Grid, Model, Selection, Table, Work, select};

/// Input of level 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level2 {
    /// Level 2-1: the vector of level-1 outputs.
    Vector,
    /// Level 2-2: the product of level-1 outputs.
    Product,
}

/// Level 1 and level 2 (the paper, §4.3), for any numeric columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hierarchy {
    /// By column, a model of the scaled time; `None`, for no effect, if no two rows differ in that
    /// column only.
    level1: Vec<Option<Model>>,
    combination: Level2,
    level2: Model,
    /// The longest time. Level 2's target is divided by it, so that the unit of the times does not
    /// influence the selection.
    longest: f64,
}

/// The techniques chosen in a hierarchy.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Level 1, by column.
    pub level1: Vec<Option<Selection>>,
    /// Level 2.
    pub level2: Selection,
}

impl Hierarchy {
    /// Fits at least two rows: `rows` holds each row's transformed features, `times` a time above 0
    /// per row. The order of the rows does not matter. Takes `grid.steps()` steps per column and
    /// once more for level 2.
    ///
    /// # Errors
    /// [`Cancelled`]: the watcher cancelled the work.
    pub fn fit(
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

    /// Returns the output of level 1 for a column; `None` if the column has no effect.
    pub fn effect(&self, column: usize, x: f64) -> Option<f64> {
        self.level1.get(column)?.as_ref().map(|model| model.at(&[x]))
    }

    /// Returns the time at one value per column, in the unit of the training times. `None` if an
    /// effect is not above 0 and level 2 takes the product: negative shares of a time are
    /// meaningless, and two of them would multiply to a positive one.
    pub fn at(&self, features: &[f64]) -> Option<f64> {
        let effects = effects(&self.level1, features);
        if self.combination == Level2::Product && !effects.iter().all(|effect| *effect > 0.0) {
            return None;
        }
        Some(self.level2.at(&combine(&effects, self.combination)) * self.longest)
    }
}

/// Returns the level-1 outputs of the columns that have an effect.
fn effects(level1: &[Option<Model>], features: &[f64]) -> Vec<f64> {
    level1.iter().zip(features).filter_map(|(model, x)| Some(model.as_ref()?.at(&[*x]))).collect()
}

/// Returns the input of level 2; a constant if no column has an effect.
fn combine(effects: &[f64], combination: Level2) -> Vec<f64> {
    match combination {
        Level2::Vector if !effects.is_empty() => effects.to_vec(),
        Level2::Vector | Level2::Product => vec![effects.iter().product()],
    }
}

/// Sorts rows by features and then times, so that their order does not change the result.
fn in_order(rows: &[Vec<f64>], times: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut pairs: Vec<(&Vec<f64>, f64)> = rows.iter().zip(times.iter().copied()).collect();
    pairs.sort_by(|a, b| {
        let by_feature = a.0.iter().zip(b.0).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
        by_feature.unwrap_or_else(|| a.1.total_cmp(&b.1))
    });
    pairs.into_iter().map(|(row, time)| (row.clone(), time)).unzip()
}
