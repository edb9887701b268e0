//! What a person should know before trusting a prediction.

use serde::{Deserialize, Serialize};

use crate::Warning;
use crate::dataset::{Features, UNSEEN, Values};
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
    schema: &Schema,
    extent: &Extent,
    table: &Table,
    numeric: &[f64],
    category: &[u32],
    name: &dyn Fn(usize) -> String,
) -> Vec<Warning> {
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
    if let Some((a, b)) = together(extent, table, numeric) {
        let names: Vec<&str> = schema.numeric().collect();
        warnings.push(Warning::VaryTogether { first: names[a].to_owned(), second: names[b].to_owned() });
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
    let windows: Vec<(f64, f64)> = extent.numeric.iter().zip(numeric).map(|(axis, x)| window(axis, *x)).collect();
    let points = &table.training.points;
    (0..table.rows()).filter(|row| table.observed[*row] && points.category[*row] == category).any(|row| {
        let values = points.numeric[row].iter().zip(&extent.numeric).zip(&windows);
        values.into_iter().all(|((x, axis), (low, high))| (*low..=*high).contains(&axis.see(*x)))
    })
}

fn window(axis: &Axis, x: f64) -> (f64, f64) {
    let place = axis.levels.partition_point(|level| *level < x);
    let above = axis.levels.get(place).map_or(x, |level| *level);
    let below = if above == x { x } else { axis.levels[place.saturating_sub(1)] };
    let near = NEAR * (axis.see(axis.largest()) - axis.see(axis.smallest()));
    (axis.see(below).min(axis.see(x) - near), axis.see(above).max(axis.see(x) + near))
}

/// Two features that the measured rows never vary apart, where the question does.
fn together(extent: &Extent, table: &Table, numeric: &[f64]) -> Option<(usize, usize)> {
    let varying: Vec<usize> = (0..numeric.len()).filter(|column| extent.numeric[*column].varies()).collect();
    let rows: Vec<&Vec<f64>> =
        table.training.points.numeric.iter().zip(&table.observed).filter(|(_, o)| **o).map(|(row, _)| row).collect();
    let standard = |column: usize| {
        let axis = &extent.numeric[column];
        let seen: Vec<f64> = rows.iter().map(|row| axis.see(row[column])).collect();
        let mean = seen.iter().sum::<f64>() / seen.len() as f64;
        let deviation = (seen.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / seen.len() as f64).sqrt();
        let scaled: Vec<f64> = seen.iter().map(|x| (x - mean) / deviation).collect();
        (scaled, (axis.see(numeric[column]) - mean) / deviation)
    };
    let columns: Vec<(Vec<f64>, f64)> = varying.iter().map(|column| standard(*column)).collect();
    for (i, (a, asked_a)) in columns.iter().enumerate() {
        for (j, (b, asked_b)) in columns.iter().enumerate().take(i) {
            let correlation = a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / rows.len() as f64;
            let apart = (asked_a - correlation.signum() * asked_b).abs();
            if correlation.abs() >= TOGETHER && apart > NEAR {
                return Some((varying[j], varying[i]));
            }
        }
    }
    None
}
