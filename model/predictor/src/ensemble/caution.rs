//! Warnings about predictions that the runs support badly.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::dataset::{Features, Training, UNSEEN, Values};
use crate::ensemble::State;
use crate::ensemble::axis::Axis;
use crate::ensemble::canonical::{Group, Table};
use crate::ensemble::schema::Schema;
use crate::ensemble::shape::Extent;
use crate::prediction::show;
use crate::{Meaning, Warning};
use foreglow_numeric::{median, outliers, outlying_errors};

/// Share of a feature's range within which a measured row counts as near a question.
const NEAR: f64 = 0.25;
/// Difference of two times that noise explains, in its standard deviations.
const FLAT: f64 = 2.0;
/// Correlation from which two features count as varying together.
const TOGETHER: f64 = 0.9999;

/// Returns the reason if a question has no prediction: it changes a feature that never varied, or a
/// value has no logarithm.
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

/// Returns the warnings about a prediction.
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
    if let Some((a, b)) = together.iter().find(|pair| is_apart(extent, table, numeric, **pair)) {
        let names: Vec<&str> = schema.numeric().collect();
        warnings.push(Warning::VaryTogether { first: names[*a].to_owned(), second: names[*b].to_owned() });
    }
    if within && warnings.is_empty() && !is_near(extent, table, numeric, category) {
        warnings.push(Warning::EmptyCell);
    }
    warnings
}

/// Returns the reason if the time of more work is unknown: only the work varies in the runs, and
/// the time did not grow with it beyond the noise.
pub(super) fn flat(State { table, extent, meanings, noise, .. }: &State, numeric: &[f64]) -> Option<Warning> {
    let is_work = |column: &usize| meanings[*column] == Some(Meaning::Work) && extent.numeric[*column].varies();
    let column = (0..numeric.len()).find(is_work).filter(|_| extent.varying() == 1)?;
    let (smallest, largest) = (extent.numeric[column].smallest(), extent.numeric[column].largest());
    if numeric[column] <= largest {
        return None;
    }
    let Training { points, logs, .. } = &table.training;
    let log = |value: f64| Some(logs[points.numeric.iter().position(|row| row[column] == value)?]);
    let (least, most) = (log(smallest)?, log(largest)?);
    let secs = |log: f64| libm::exp(table.mean_log + log);
    (most - least < FLAT * noise * 2.0_f64.sqrt()).then(|| Warning::TimeDoesNotGrow {
        feature: table.schema.numeric().nth(column).unwrap_or_default().to_owned(),
        smallest,
        smallest_secs: secs(least),
        largest,
        largest_secs: secs(most),
    })
}

/// A run that disagrees with its repeats. The state stores this instead of the [`Warning`], because
/// the planner's wire format has no field names and cannot read the tag of a warning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Disagreement {
    at: String,
    secs: f64,
    expected_secs: f64,
}

impl From<Disagreement> for Warning {
    fn from(Disagreement { at, secs, expected_secs }: Disagreement) -> Self {
        Self::SamplesDisagree { at, runs: 1, secs, expected_secs }
    }
}

/// Returns the runs that disagree with their repeats.
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

/// Returns warnings about rows that all candidates together predict badly when fitted without them.
pub(super) fn disagreeing_rows(State { table, runs, .. }: &State, residuals: &[(usize, f64)]) -> Vec<Warning> {
    let errors: Vec<f64> = residuals.iter().map(|(_, error)| *error).collect();
    let warning = |place: usize| {
        let (row, error) = residuals[place];
        let points = &table.training.points;
        let at = describe(&table.schema, &points.numeric[row], &points.category[row]);
        let log = table.mean_log + table.training.logs[row];
        Warning::SamplesDisagree { at, runs: runs[row], secs: libm::exp(log), expected_secs: libm::exp(log - error) }
    };
    outlying_errors(&errors).into_iter().map(warning).collect()
}

/// Returns the name of a question's level, as given in the question.
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

pub(super) fn describe(schema: &Schema, numeric: &[f64], category: &[u32]) -> String {
    let numbers = schema.numeric().zip(numeric).map(|(name, x)| format!("{name} {}", show(name, *x)));
    let names = schema.category().zip(category).map(|((name, levels), code)| match levels.get(*code as usize) {
        Some(level) => format!("{name} {level}"),
        None => name.to_owned(),
    });
    numbers.chain(names).collect::<Vec<_>>().join(", ")
}

/// Whether a measured row has the same names and is near in every feature: between the question's
/// neighbours among the measured values, or within a quarter of the range.
fn is_near(extent: &Extent, table: &Table, numeric: &[f64], category: &[u32]) -> bool {
    let windows: Vec<RangeInclusive<f64>> =
        extent.numeric.iter().zip(numeric).map(|(axis, x)| window(axis, *x)).collect();
    let points = &table.training.points;
    (0..table.rows())
        .filter(|row| table.observed[*row] && points.category[*row] == category)
        .any(|row| points.numeric[row].iter().zip(&windows).all(|(x, window)| window.contains(x)))
}

/// Returns the interval of measured values near x, for an x inside the range.
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

/// Returns the pairs of features (by column) that never vary independently in the measured rows.
pub(super) fn together(extent: &Extent, table: &Table) -> Vec<(usize, usize)> {
    let varying: Vec<usize> = (0..extent.numeric.len()).filter(|column| extent.numeric[*column].varies()).collect();
    let pairs = varying.iter().enumerate().flat_map(|(i, b)| varying[..i].iter().map(move |a| (*a, *b)));
    pairs.filter(|pair| Line::of(extent, table, *pair).correlation.abs() >= TOGETHER).collect()
}

/// Linear relation of two features, each in standard deviations from its mean.
struct Line {
    correlation: f64,
    /// Mean and standard deviation of each, on the scale that candidates use.
    moments: [(f64, f64); 2],
}

impl Line {
    fn of(extent: &Extent, table: &Table, (a, b): (usize, usize)) -> Self {
        let rows = || table.training.points.numeric.iter().zip(&table.observed).filter(|(_, observed)| **observed);
        let count = rows().count() as f64;
        let columns = [a, b].map(|column| {
            let seen: Vec<f64> = rows().map(|(row, _)| extent.numeric[column].see(row[column])).collect();
            let mean = seen.iter().sum::<f64>() / count;
            let deviation = (seen.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count).sqrt();
            let scaled: Vec<f64> = seen.iter().map(|x| (x - mean) / deviation).collect();
            (scaled, (mean, deviation))
        });
        let [(a, first), (b, second)] = &columns;
        let correlation = a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / count;
        Self { correlation, moments: [*first, *second] }
    }
}

/// Whether a question breaks the relation of two features that vary together in the measured rows.
fn is_apart(extent: &Extent, table: &Table, numeric: &[f64], (a, b): (usize, usize)) -> bool {
    let Line { correlation, moments } = Line::of(extent, table, (a, b));
    let asked =
        |column: usize, (mean, deviation): (f64, f64)| (extent.numeric[column].see(numeric[column]) - mean) / deviation;
    (asked(b, moments[1]) - correlation.signum() * asked(a, moments[0])).abs() > NEAR
}
