//! Reads and writes samples as CSV; columns are the names of the JSON form, joined by dots.

use serde_json::{Map, Value};

use crate::table::{Table, TableError, TableRow, is_nothing, may_be_number};
use crate::{ReadError, Sample, SampleError, parse_line};

/// Columns that are text even if the value looks like a number. Cells of the other columns that are
/// JSON, such as numbers, are read as JSON.
const TEXT: &[&str] = &[
    "id",
    "workload.model",
    "workload.mode",
    "configuration.accelerator",
    "outcome",
    "reason",
    "engine",
    "runner_version",
    "host.cpu",
    "host.machine",
    "host.adapter",
    "started_at",
    "workload.data",
    "workload.data_fingerprint",
    "workload.data_format",
    "workload.network",
    "workload.network_fingerprint",
    "workload.optimizer",
    "workload.text.vectors",
    "workload.unit",
    "progress.unit",
    "predicted.planned_at",
];

/// Columns that every file must have.
const REQUIRED: &[&str] = &[
    "schema",
    "id",
    "workload.model",
    "workload.mode",
    "workload.image_px",
    "workload.images",
    "workload.epochs",
    "workload.batch_size",
    "configuration.executors",
    "configuration.cores_per_executor",
    "configuration.memory_per_executor_mib",
    "configuration.partition_size",
    "sampling_rate",
    "outcome",
    "engine",
    "runner_version",
    "started_at",
];

/// Reads CSV with a header. The delimiter may also be a semicolon or a tab, and numbers may have a
/// decimal comma.
///
/// # Errors
/// A missing column, or the line of the first row that is not a sample.
pub(crate) fn read_csv(text: &str) -> Result<Vec<Sample>, ReadError> {
    let table = match Table::parse_with_names(text, TEXT) {
        Err(TableError::Empty) => return Err(ReadError::Empty),
        Err(TableError::Row { line, reason }) => {
            return Err(ReadError::Line { line, error: SampleError::Form(reason) });
        }
        other => other?,
    };
    if let Some(missing) = REQUIRED.iter().find(|name| table.column(name).is_none()) {
        return Err(ReadError::Header(missing));
    }
    (0..table.header().len()).try_for_each(|column| table.check_numbers(column))?;
    let sample = |row: TableRow<'_>| {
        let object = nest(table.header().iter().map(String::as_str).zip(row.iter())).to_string();
        parse_line(&object).map_err(|error| ReadError::Line { line: row.line(), error })
    };
    table.rows().map(sample).collect()
}

/// Writes samples as CSV with a header. Columns are in the order of their first appearance; without
/// samples, they are those that every sample has.
///
/// Fields unknown to this version are written as JSON, or as plain text if that reads back
/// unchanged.
pub fn write_csv(samples: &[Sample]) -> String {
    let mut columns = CsvColumns::default();
    samples.iter().for_each(|sample| columns.add(sample));
    columns.header() + &columns.rows(samples)
}

/// The columns of a CSV of samples, for a table that is written in parts.
#[derive(Clone, Debug, Default)]
pub struct CsvColumns(Vec<String>);

impl CsvColumns {
    /// Adds the columns of a sample.
    pub fn add(&mut self, sample: &Sample) {
        for name in flatten_sample(sample).into_iter().map(|(name, _)| name) {
            if !self.0.contains(&name) {
                self.0.push(name);
            }
        }
    }

    /// Returns the number of columns.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the first line.
    pub fn header(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let names = if names.is_empty() { REQUIRED } else { &names };
        lines([names.iter().map(|name| (*name).to_owned())])
    }

    /// Returns the lines of samples, without their fields that are not columns.
    pub fn rows(&self, samples: &[Sample]) -> String {
        lines(samples.iter().map(|sample| {
            let row = flatten_sample(sample);
            self.0.iter().map(move |name| row.get(name).map_or_else(String::new, |value| cell(name, value)))
        }))
    }
}

fn lines<R: IntoIterator<Item = String>>(rows: impl IntoIterator<Item = R>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let invariant = "writing CSV to memory cannot fail, and each row has one cell a column";
    for row in rows {
        writer.write_record(row.into_iter().map(String::into_bytes)).expect(invariant);
    }
    String::from_utf8(writer.into_inner().expect(invariant)).expect("JSON strings are UTF-8")
}

/// Builds the nested JSON object of one row; empty cells become absent fields.
fn nest<'a>(cells: impl Iterator<Item = (&'a str, &'a str)>) -> Value {
    let mut root = Map::new();
    for (name, text) in cells.filter(|(_, text)| !text.is_empty()) {
        let mut object = &mut root;
        let mut names = name.split('.').peekable();
        while let Some(part) = names.next() {
            if names.peek().is_none() {
                object.insert(part.to_owned(), value_of(name, text));
                break;
            }
            let inner = object.entry(part).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(inner) = inner else { break };
            object = inner;
        }
    }
    root.entry("host").or_insert_with(|| Value::Object(Map::new()));
    Value::Object(root)
}

/// Converts a cell to JSON. Text that could be read as another value is written as a JSON string.
fn value_of(name: &str, text: &str) -> Value {
    let json = || serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    match TEXT.contains(&name) {
        true if !text.starts_with('"') => Value::String(text.to_owned()),
        _ => json(),
    }
}

fn flatten_sample(sample: &Sample) -> Map<String, Value> {
    let value = serde_json::to_value(sample).expect("a sample holds only strings, numbers and maps with string keys");
    let mut flat = Map::new();
    flatten("", value, &mut flat);
    flat
}

fn flatten(prefix: &str, value: Value, flat: &mut Map<String, Value>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (name, inner) in object {
                let path = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
                flatten(&path, inner, flat);
            }
        }
        other => {
            flat.insert(prefix.to_owned(), other);
        }
    }
}

fn cell(name: &str, value: &Value) -> String {
    match value {
        Value::Null if TEXT.contains(&name) => String::new(),
        Value::String(text) if reads_back(name, text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether the cell reads back as the same text: not as a number, an absent field, or trimmed.
fn reads_back(name: &str, text: &str) -> bool {
    let is_number = || !TEXT.contains(&name) && may_be_number(text);
    text.trim() == text && !is_nothing(text) && !is_number() && value_of(name, text) == *text
}
