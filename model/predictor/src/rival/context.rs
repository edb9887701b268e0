//! Contexts: runs that agree in every feature that a rival does not model.

use std::collections::BTreeMap;

use crate::{Features, Values};

/// A feature's value in one row, for comparison by equality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value<'a> {
    Number(u64),
    Name(&'a str),
}

/// Rows of two tables with the same context.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Context {
    /// Rows to fit.
    pub(crate) fit: Vec<usize>,
    /// Rows to predict.
    pub(crate) asked: Vec<usize>,
}

/// Groups the rows of two tables with the same columns into contexts: rows that agree in every
/// column except those of `apart_from`, which the rival models.
pub(crate) fn contexts(fit: &Features, asked: &Features, apart_from: &[&str]) -> Vec<Context> {
    let mut contexts: BTreeMap<Vec<Value<'_>>, Context> = BTreeMap::new();
    for row in 0..fit.rows() {
        contexts.entry(key(fit, row, apart_from)).or_default().fit.push(row);
    }
    for row in 0..asked.rows() {
        contexts.entry(key(asked, row, apart_from)).or_default().asked.push(row);
    }
    contexts.into_values().collect()
}

fn key<'a>(features: &'a Features, row: usize, apart_from: &[&str]) -> Vec<Value<'a>> {
    let columns = features.columns().iter().filter(|column| !apart_from.contains(&column.name.as_str()));
    let value = |values: &'a Values| match values {
        // 0.0 and −0.0 are equal.
        Values::Numeric { values, .. } => Value::Number((values[row] + 0.0).to_bits()),
        Values::Category { levels, codes } => Value::Name(&levels[codes[row] as usize]),
    };
    columns.map(|column| value(&column.values)).collect()
}
