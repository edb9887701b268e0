//! Detection of damage: of the file's structure, and of each sample.

use foreglow_shared::parse_line;

use super::checksum::checksum;
use super::database::{Database, Outcome, Row};
use super::failure::damaged;
use super::{Encoded, Store};

/// Problems that a check of the structure names at most.
const MOST_PROBLEMS: usize = 10;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Samples in the store, damaged ones included.
    pub samples: u64,
    /// Positions and ids of the samples that differ from what was stored.
    pub damaged: Vec<(i64, String)>,
    /// Figures of runs that are not those of their samples.
    pub figures: Vec<String>,
    /// Problems of the file's structure, in SQLite's words.
    pub structure: Vec<String>,
}

impl Findings {
    /// Whether nothing was found.
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.figures.is_empty() && self.structure.is_empty()
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
    /// Checks the structure of a file, every sample against its checksum, its columns against the
    /// sample, and the figures of the runs.
    ///
    /// # Errors
    /// The file cannot be read at all.
    pub fn check(&self) -> anyhow::Result<Findings> {
        let mut findings = Findings { structure: self.structure("integrity_check")?, ..Findings::default() };
        if findings.structure.is_empty() {
            let checked = self.check_samples(&mut findings).and_then(|()| self.check_figures(&mut findings));
            checked.map_err(|failure| self.explain(&failure))?;
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
        let query = "SELECT seq, id, checksum, line, model, mode, engine, outcome, started_at_us, secs FROM samples
             ORDER BY seq";
        self.database.each(query, &[], &mut |mut row| {
            let columns: Vec<Vec<u8>> = (4..8).map(|column| row.bytes(column)).collect();
            let (started_at_us, secs) = (row.maybe_integer(8).ok().flatten(), row.maybe_real(9));
            let StoredLine { seq, line } = stored_line(row)?;
            findings.samples += 1;
            // Samples outside the limits, from an earlier version, are in no answer.
            let sample = line.as_ref().ok().and_then(|line| parse_line(line).ok());
            let encoded = sample.and_then(|sample| Encoded::new(&sample).ok());
            let is_same = encoded.as_ref().is_none_or(|right| {
                // A server stores no NUL.
                let model = [right.run.model.clone(), right.run.model.replace('\0', "\u{fffd}")];
                let texts = [right.mode, right.run.engine, right.run.outcome];
                model.iter().any(|model| model.as_bytes() == columns[0])
                    && texts.iter().zip(&columns[1..]).all(|(right, text)| right.as_bytes() == text)
                    && started_at_us == Some(right.started_at_us)
                    && secs.is_ok_and(|secs| secs == right.secs)
            });
            match (line, encoded) {
                (Err(id), _) => findings.damaged.push((seq, id)),
                (Ok(_), Some(right)) if !is_same => findings.damaged.push((seq, right.id)),
                _ => {}
            }
            Ok(true)
        })
    }

    /// Compares the figures of the runs with those of their samples, with one query, so that no
    /// write comes between.
    fn check_figures(&self, findings: &mut Findings) -> Outcome<()> {
        let query = "SELECT number, runs.samples, runs.timed, runs.sum_secs, runs.least_secs, runs.most_secs,
                 coalesce(counted.samples, 0), coalesce(counted.timed, 0), coalesce(counted.sum_secs, 0.0),
                 counted.least_secs, counted.most_secs
             FROM runs LEFT JOIN (
                 SELECT run, count(*) AS samples, count(secs) AS timed, sum(secs) AS sum_secs,
                     min(secs) AS least_secs, max(secs) AS most_secs
                 FROM samples GROUP BY run
             ) AS counted ON counted.run = runs.number
             ORDER BY number";
        self.database.each(query, &[], &mut |row| {
            let counts = |first: usize| Ok::<_, super::Failure>((row.integer(first)?, row.integer(first + 1)?));
            let limits = |first: usize| Ok::<_, super::Failure>((row.maybe_real(first)?, row.maybe_real(first + 1)?));
            let is_same = counts(1).ok() == counts(6).ok()
                && limits(4).ok() == limits(9).ok()
                && row.real(3).is_ok_and(|sum| row.real(8).is_ok_and(|right| is_close(sum, right)));
            if !is_same {
                let number = row.integer(0)?;
                findings.figures.push(format!("run {number}: its figures are not those of its samples"));
            }
            Ok(true)
        })
    }
}

/// Whether two sums differ by no more than the order of their terms explains.
fn is_close(sum: f64, right: f64) -> bool {
    (sum - right).abs() <= 1e-9 * right.abs().max(1.0)
}
