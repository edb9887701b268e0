//! What a person should know before trusting a prediction.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::Warning;
use crate::dataset::{Features, UNSEEN, Values};
use crate::ensemble::State;
use crate::ensemble::canonical::{Group, Table};
use crate::ensemble::outliers::{median, outliers};
use crate::ensemble::schema::Schema;
use crate::ensemble::shape::{Axis, Extent};
use crate::prediction::show;

/// Share of a range that is near, in each feature: a measured row that near makes a question's neighbourhood a measured
/// one.
const NEAR: f64 = 0.25;
/// Two features whose correlation is at least this vary together.
const TOGETHER: f64 = 0.9999;

/// Why nothing can be said of a question: it changes what never varied, or its number has no logarithm.
pub(super) fn unknown(
    schema: &Schema,
    extent: &Extent,
    table: &Table,
    numeric: &[f64],
    category: &[u32],
    name: &dyn Fn(usize) -> String,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for ((feature, axis), asked) in schema.numeric().zip(&extent.numeric).zip(numeric) {
        let feature = feature.to_owned();
        if axis.log && *asked <= 0.0 {
            warnings.push(Warning::NotAboveZero { feature, asked: *asked });
        } else if !axis.varies() && *asked != axis.smallest() {
            let [asked, sampled] = [*asked, axis.smallest()].map(|value| show(&feature, value));
            warnings.push(Warning::EffectUnknown { feature, asked, sampled });
        }
    }
    for (column, (feature, levels)) in schema.category().enumerate() {
        let sampled = observed_code(table, column);
        if !extent.varying[column] && category[column] != sampled {
            let sampled = levels[sampled as usize].clone();
            warnings.push(Warning::EffectUnknown { feature: feature.to_owned(), asked: name(column), sampled });
        }
    }
    warnings
}

/// What makes a known prediction less sure.
pub(super) fn cautions(
    State { table, extent, together, .. }: &State,
    numeric: &[f64],
    category: &[u32],
    name: &dyn Fn(usize) -> String,
) -> Vec<Warning> {
    let schema = &table.schema;
    let mut warnings = Vec::new();
    for ((feature, axis), asked) in schema.numeric().zip(&extent.numeric).zip(numeric) {
        let (smallest, largest) = (axis.smallest(), axis.largest());
        if *asked < smallest || *asked > largest {
            let feature = feature.to_owned();
            warnings.push(Warning::OutsideSampledRange { feature, asked: *asked, smallest, largest });
        }
    }
    let within = warnings.is_empty();
    for (column, (feature, _)) in schema.category().enumerate() {
        if category[column] == UNSEEN {
            warnings.push(Warning::UnseenCategory { feature: feature.to_owned(), asked: name(column) });
        }
    }
    if let Some(Together { first, second, .. }) = together.iter().find(|pair| pair.is_left_by(numeric)) {
        warnings.push(Warning::VaryTogether { first: first.name.clone(), second: second.name.clone() });
    }
    if within && warnings.is_empty() && !is_near(extent, table, numeric, category) {
        warnings.push(Warning::EmptyCell);
    }
    warnings
}

/// A run that does not belong to its repeats. It is kept as this and not as the warning that it becomes, whose name stands
/// among its fields: a format without names, as the planner's wire has, could not read that again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Disagreement {
    at: String,
    secs: f64,
    expected_secs: f64,
}

impl From<Disagreement> for Warning {
    fn from(Disagreement { at, secs, expected_secs }: Disagreement) -> Self {
        Self::SamplesDisagree { at, secs, expected_secs }
    }
}

/// Repeats of which one does not belong to the others.
pub(super) fn disagreeing_repeats(schema: &Schema, groups: &[Group]) -> Vec<Disagreement> {
    let mut disagreeing = Vec::new();
    for group in groups {
        let logs: Vec<f64> = group.secs.iter().map(|secs| libm::log(*secs)).collect();
        for run in outliers(&logs) {
            let expected_secs = libm::exp(median(&logs));
            let at = describe(schema, &group.numeric, &group.category);
            disagreeing.push(Disagreement { at, secs: group.secs[run], expected_secs });
        }
    }
    disagreeing
}

/// Rows that the others, by all candidates, would not have.
pub(super) fn disagreeing_rows(table: &Table, residuals: &[(usize, f64)]) -> Vec<Warning> {
    let errors: Vec<f64> = residuals.iter().map(|(_, error)| *error).collect();
    let warning = |place: usize| {
        let (row, error) = residuals[place];
        let points = &table.training.points;
        let at = describe(&table.schema, &points.numeric[row], &points.category[row]);
        let log = table.mean_log + table.training.logs[row];
        Warning::SamplesDisagree { at, secs: libm::exp(log), expected_secs: libm::exp(log - error) }
    };
    outliers(&errors).into_iter().map(warning).collect()
}

/// The name of a question's level, as it was asked.
pub(super) fn name(questions: &Features, row: usize, category: usize) -> String {
    let mut names = questions.columns().iter().filter_map(|column| match &column.values {
        Values::Category { levels, codes } => Some(levels[codes[row] as usize].clone()),
        Values::Numeric { .. } => None,
    });
    names.nth(category).unwrap_or_default()
}

fn observed_code(table: &Table, column: usize) -> u32 {
    let rows = table.training.points.category.iter().zip(&table.observed);
    rows.filter(|(_, observed)| **observed).map(|(row, _)| row[column]).next().unwrap_or(UNSEEN)
}

fn describe(schema: &Schema, numeric: &[f64], category: &[u32]) -> String {
    let numbers = schema.numeric().zip(numeric).map(|(name, x)| format!("{name} {}", show(name, *x)));
    let names = schema.category().zip(category).map(|((name, levels), code)| match levels.get(*code as usize) {
        Some(level) => format!("{name} {level}"),
        None => name.to_owned(),
    });
    numbers.chain(names).collect::<Vec<_>>().join(", ")
}

/// Whether a measured row has these names and lies, in every feature, between the question's neighbours among the
/// measured values or within a quarter of the range.
fn is_near(extent: &Extent, table: &Table, numeric: &[f64], category: &[u32]) -> bool {
    let windows: Vec<RangeInclusive<f64>> =
        extent.numeric.iter().zip(numeric).map(|(axis, x)| window(axis, *x)).collect();
    let points = &table.training.points;
    (0..table.rows()).filter(|row| table.observed[*row] && points.category[*row] == category).any(|row| {
        points.numeric[row].iter().zip(&windows).all(|(x, window)| window.contains(x))
    })
}

/// The measured values, from the least to the greatest, that are near one within their range.
fn window(axis: &Axis, x: f64) -> RangeInclusive<f64> {
    let levels = &axis.levels;
    let place = levels.partition_point(|level| *level < x);
    let above = levels.get(place).map_or(x, |level| *level);
    let below = if above == x { x } else { levels[place.saturating_sub(1)] };
    let near = NEAR * (axis.see(axis.largest()) - axis.see(axis.smallest()));
    let (low, high) = (axis.see(x) - near, axis.see(x) + near);
    let least = levels.iter().copied().find(|level| *level >= below || axis.see(*level) >= low);
    let greatest = levels.iter().copied().rfind(|level| *level <= above || axis.see(*level) <= high);
    least.unwrap_or(below)..=greatest.unwrap_or(above)
}

/// Two features that the measured rows never vary apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Together {
    first: Standard,
    second: Standard,
    /// Whether the one falls as the other grows.
    opposed: bool,
}

/// A feature in standard deviations from its mean, both as candidates see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Standard {
    name: String,
    column: usize,
    log: bool,
    mean: f64,
    deviation: f64,
}

impl Together {
    /// Every such pair.
    pub(super) fn of(schema: &Schema, extent: &Extent, table: &Table) -> Vec<Self> {
        let numeric = &table.training.points.numeric;
        let rows: Vec<&Vec<f64>> = numeric.iter().zip(&table.observed).filter(|(_, o)| **o).map(|(row, _)| row).collect();
        let standard = |(column, name): (usize, &str)| {
            let axis = &extent.numeric[column];
            let seen: Vec<f64> = rows.iter().map(|row| axis.see(row[column])).collect();
            let mean = seen.iter().sum::<f64>() / seen.len() as f64;
            let deviation = (seen.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / seen.len() as f64).sqrt();
            let scaled = seen.iter().map(|x| (x - mean) / deviation).collect();
            (Standard { name: name.to_owned(), column, log: axis.log, mean, deviation }, scaled)
        };
        let varying = schema.numeric().enumerate().filter(|(column, _)| extent.numeric[*column].varies());
        let columns: Vec<(Standard, Vec<f64>)> = varying.map(standard).collect();
        let mut pairs = Vec::new();
        for (i, (second, b)) in columns.iter().enumerate() {
            for (first, a) in &columns[..i] {
                let correlation = a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / rows.len() as f64;
                if correlation.abs() >= TOGETHER {
                    pairs.push(Self { first: first.clone(), second: second.clone(), opposed: correlation < 0.0 });
                }
            }
        }
        pairs
    }

    /// Whether a question varies them apart.
    fn is_left_by(&self, numeric: &[f64]) -> bool {
        let [first, second] = [&self.first, &self.second].map(|feature| feature.of(numeric));
        (second - if self.opposed { -first } else { first }).abs() > NEAR
    }
}

impl Standard {
    fn of(&self, numeric: &[f64]) -> f64 {
        let x = numeric[self.column];
        ((if self.log { libm::log(x) } else { x }) - self.mean) / self.deviation
    }
}
