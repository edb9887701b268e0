//! Rows of answers, and parameters of queries.

use foreglow_shared::Uuid;
pub(super) use rusqlite::types::Value;

use super::failure::{Failure, Outcome};

/// A row of an answer.
#[derive(Clone, Debug)]
pub(super) struct Row(pub(super) Vec<Value>);

impl Row {
    pub(super) fn integer(&self, column: usize) -> Outcome<i64> {
        self.maybe_integer(column)?.ok_or(Failure::Unexpected(Value::Null))
    }

    pub(super) fn maybe_integer(&self, column: usize) -> Outcome<Option<i64>> {
        match self.value(column) {
            Value::Integer(value) => Ok(Some(*value)),
            Value::Null => Ok(None),
            other => Err(Failure::Unexpected(other.clone())),
        }
    }

    pub(super) fn real(&self, column: usize) -> Outcome<f64> {
        self.maybe_real(column)?.ok_or(Failure::Unexpected(Value::Null))
    }

    pub(super) fn maybe_real(&self, column: usize) -> Outcome<Option<f64>> {
        match self.value(column) {
            Value::Real(value) => Ok(Some(*value)),
            Value::Null => Ok(None),
            other => Err(Failure::Unexpected(other.clone())),
        }
    }

    /// Takes a text out of the row.
    pub(super) fn text(&mut self, column: usize) -> Outcome<String> {
        match self.take(column) {
            Value::Text(text) => Ok(text),
            other => Err(Failure::Unexpected(other)),
        }
    }

    /// Takes bytes out of the row.
    pub(super) fn blob(&mut self, column: usize) -> Outcome<Vec<u8>> {
        match self.take(column) {
            Value::Blob(bytes) => Ok(bytes),
            other => Err(Failure::Unexpected(other)),
        }
    }

    /// Takes the id of a sample out of the row; `None` if it is damaged.
    pub(super) fn id(&mut self, column: usize) -> Option<Uuid> {
        self.text(column).ok()?.parse().ok()
    }

    fn value(&self, column: usize) -> &Value {
        self.0.get(column).unwrap_or(&Value::Null)
    }

    fn take(&mut self, column: usize) -> Value {
        self.0.get_mut(column).map_or(Value::Null, |value| std::mem::replace(value, Value::Null))
    }
}

/// Collects the rows that a query gives to its visitor.
pub(super) fn collected(each: impl FnOnce(&mut dyn FnMut(Row) -> Outcome<bool>) -> Outcome<()>) -> Outcome<Vec<Row>> {
    let mut rows = Vec::new();
    each(&mut |row| {
        rows.push(row);
        Ok(true)
    })?;
    Ok(rows)
}

/// Returns a text as a parameter.
pub(super) fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

/// Returns a text as a parameter, or none.
pub(super) fn maybe_text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| Value::Text(text.to_owned()))
}
