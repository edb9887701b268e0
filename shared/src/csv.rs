//! Reads and writes samples as CSV; columns are the names of the JSON form, joined by dots.

use serde_json::{Map, Value};

use crate::separated::{delimiter, fault, line_of, with_point};
use crate::unreadable::unreadable;
use crate::{ReadError, Sample, SampleError};

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
];

/// Columns that are text unless the cell is a JSON string, as which earlier versions wrote texts
/// that look like numbers.
const QUOTED_TEXT: &[&str] = &[
    "workload.data",
    "workload.data_fingerprint",
    "workload.data_format",
    "workload.network",
    "workload.network_fingerprint",
    "workload.optimizer",
    "workload.text.vectors",
    "workload.unit",
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

/// Delimiter of the files that [`write_csv`] writes.
const WRITTEN: u8 = b',';

/// Reads CSV with a header. The delimiter may also be a semicolon or a tab, and numbers may have a
/// decimal comma.
///
/// # Errors
/// A missing column, or the line of the first row that is not a sample.
pub(crate) fn read_csv(text: &str) -> Result<Vec<Sample>, ReadError> {
    let delimiter = delimiter(text);
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(text.as_bytes());
    let form = |error: &csv::Error| ReadError::Line {
        line: line_of(text, error.position()),
        error: SampleError::Form(fault(error)),
    };
    let headers = reader.headers().map_err(|error| form(&error))?.clone();
    if headers.iter().all(str::is_empty) {
        return Err(ReadError::Empty);
    }
    if let Some(missing) = REQUIRED.iter().find(|name| !headers.iter().any(|h| h == **name)) {
        return Err(ReadError::Header(missing));
    }
    let mut samples = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| form(&error))?;
        let line = line_of(text, row.position());
        let object = nest(headers.iter().zip(row.iter()), delimiter).to_string();
        // Deserializes from text, like JSON Lines: deserializing from a `Value` would compile the
        // code a second time into the page.
        let sample: Sample = serde_json::from_str(&object)
            .map_err(|error| ReadError::Line { line, error: unreadable(&object, &error) })?;
        sample.check().map_err(|error| ReadError::Line { line, error })?;
        samples.push(sample);
    }
    Ok(samples)
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
    let mut writer = csv::WriterBuilder::new().delimiter(WRITTEN).from_writer(Vec::new());
    let invariant = "writing CSV to memory cannot fail, and each row has one cell a column";
    for row in rows {
        writer.write_record(row.into_iter().map(String::into_bytes)).expect(invariant);
    }
    String::from_utf8(writer.into_inner().expect(invariant)).expect("JSON strings are UTF-8")
}

/// Builds the nested JSON object of one row; empty cells become absent fields.
fn nest<'a>(cells: impl Iterator<Item = (&'a str, &'a str)>, delimiter: u8) -> Value {
    let mut root = Map::new();
    for (name, text) in cells.filter(|(_, text)| !text.is_empty()) {
        let mut object = &mut root;
        let mut names = name.split('.').peekable();
        while let Some(part) = names.next() {
            if names.peek().is_none() {
                object.insert(part.to_owned(), value_of(name, text, delimiter));
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

/// Converts a cell to JSON.
fn value_of(name: &str, text: &str, delimiter: u8) -> Value {
    if TEXT.contains(&name) {
        return Value::String(text.to_owned());
    }
    let number = with_point(text, delimiter);
    let value = serde_json::from_str(number.as_deref().unwrap_or(text)).ok();
    let is_usable = |value: &Value| value.is_string() || value.is_null() || !QUOTED_TEXT.contains(&name);
    value.filter(is_usable).unwrap_or_else(|| Value::String(text.to_owned()))
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
    TEXT.contains(&name) || (!text.is_empty() && text.trim() == text && value_of(name, text, WRITTEN) == *text)
}
