//! Detection of damage: of the file's structure, and of each sample.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::Store;
use super::checksum::checksum;
use super::failure::sentence;

/// Problems that a check of the structure names at most.
const MOST_PROBLEMS: usize = 10;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Samples in the store, damaged ones included.
    pub samples: u64,
    /// Positions and ids of the samples that differ from what was stored.
    pub damaged: Vec<(i64, String)>,
    /// Problems of the file's structure, in SQLite's words.
    pub structure: Vec<String>,
}

impl Findings {
    /// Whether nothing was found.
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.structure.is_empty()
    }
}

/// A row whose checksum was verified.
#[derive(Clone, Debug)]
pub(super) struct StoredLine {
    pub(super) seq: i64,
    /// `Err` has the id, as far as it is readable.
    pub(super) line: Result<String, String>,
}

/// Reads a row of `seq, id, checksum, line`.
pub(super) fn stored_line(row: &Row<'_>) -> rusqlite::Result<StoredLine> {
    let bytes = |column: usize| -> rusqlite::Result<Vec<u8>> {
        Ok(match row.get_ref(column)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
            _ => Vec::new(),
        })
    };
    let (id, line) = (bytes(1)?, bytes(3)?);
    let is_same = matches!(row.get_ref(2)?, ValueRef::Integer(sum) if sum == checksum(&id, &line));
    let damaged = || String::from_utf8_lossy(&id).into_owned();
    let line = if is_same { String::from_utf8(line).map_err(|_| damaged()) } else { Err(damaged()) };
    Ok(StoredLine { seq: row.get(0)?, line })
}

impl Store {
    /// Checks the structure of the file, and every sample against its checksum.
    ///
    /// # Errors
    /// The file cannot be read at all.
    pub fn check(&self) -> anyhow::Result<Findings> {
        let mut findings = Findings { structure: self.structure("integrity_check")?, ..Findings::default() };
        if findings.structure.is_empty() {
            self.check_samples(&mut findings).map_err(|error| sentence(&self.path, &error))?;
        }
        Ok(findings)
    }

    /// Checks the structure of the file alone, which takes a second per GiB or so.
    ///
    /// # Errors
    /// The structure is damaged.
    pub fn check_structure(&self) -> anyhow::Result<()> {
        match self.structure("quick_check")?.as_slice() {
            [] => Ok(()),
            [first, ..] => Err(super::failure::damaged(&self.path, first)),
        }
    }

    fn structure(&self, pragma: &str) -> anyhow::Result<Vec<String>> {
        let problems = |connection: &Connection| -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare(&format!("PRAGMA {pragma}({MOST_PROBLEMS})"))?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        let problems = problems(&self.connection).map_err(|error| sentence(&self.path, &error))?;
        Ok(problems.into_iter().filter(|problem| problem != "ok").collect())
    }

    fn check_samples(&self, findings: &mut Findings) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare("SELECT seq, id, checksum, line FROM samples ORDER BY seq")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let StoredLine { seq, line } = stored_line(row)?;
            findings.samples += 1;
            findings.damaged.extend(line.err().map(|id| (seq, id)));
        }
        Ok(())
    }
}
