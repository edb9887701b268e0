//! New samples with known ids: duplicates and conflicts.

use std::collections::HashMap;

use super::database::Transaction;
use super::failure::Outcome;

/// Stored lines by id.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<String, String>);

impl Known {
    /// Reads the stored samples with these ids.
    pub(super) fn read(transaction: &Transaction<'_>, ids: &[&str]) -> Outcome<Self> {
        let lines = if ids.is_empty() { Vec::new() } else { transaction.lines_of(ids)? };
        Ok(Self(lines.into_iter().collect()))
    }

    /// Whether the stored sample with this id has the same content as a line, in any order of
    /// fields.
    pub(super) fn has(&self, id: &str, line: &str) -> bool {
        let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
        self.0
            .get(id)
            .is_some_and(|stored| stored == line || value(stored).is_some_and(|stored| Some(stored) == value(line)))
    }
}
