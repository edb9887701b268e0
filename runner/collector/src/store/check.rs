//! Detection of damage: of the file's structure, and of each sample.

use super::Store;
use super::checksum::checksum;
use super::database::{Database, Outcome, Row};
use super::failure::damaged;

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
pub(super) fn stored_line(mut row: Row) -> Outcome<StoredLine> {
    let seq = row.integer(0)?;
    let (id, line) = (row.bytes(1), row.bytes(3));
    let damaged = || String::from_utf8_lossy(&id).into_owned();
    let is_same = matches!(row.maybe_integer(2), Ok(Some(sum)) if sum == checksum(&id, &line));
    let line = if is_same { String::from_utf8(line).map_err(|_| damaged()) } else { Err(damaged()) };
    Ok(StoredLine { seq, line })
}

impl Store {
    /// Checks the structure of a file, and every sample against its checksum.
    ///
    /// # Errors
    /// The file cannot be read at all.
    pub fn check(&self) -> anyhow::Result<Findings> {
        let mut findings = Findings { structure: self.structure("integrity_check")?, ..Findings::default() };
        if findings.structure.is_empty() {
            self.check_samples(&mut findings).map_err(|failure| self.explain(&failure))?;
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
            [first, ..] => Err(damaged(&self.location, first)),
        }
    }

    /// A server checks the structure of its files itself.
    fn structure(&self, pragma: &str) -> anyhow::Result<Vec<String>> {
        if matches!(self.database, Database::Server(_)) {
            return Ok(Vec::new());
        }
        let problems = self.read(&format!("PRAGMA {pragma}({MOST_PROBLEMS})"), &[], |mut row| row.text(0))?;
        Ok(problems.into_iter().filter(|problem| problem != "ok").collect())
    }

    fn check_samples(&self, findings: &mut Findings) -> Outcome<()> {
        let query = "SELECT seq, id, checksum, line FROM samples ORDER BY seq";
        self.database.each(query, &[], &mut |row| {
            let StoredLine { seq, line } = stored_line(row)?;
            findings.samples += 1;
            findings.damaged.extend(line.err().map(|id| (seq, id)));
            Ok(true)
        })
    }
}
