//! Detection of damage: of the file's structure, and of each sample.

use std::collections::BTreeSet;

use foreglow_shared::parse_line;

use super::checksum::checksum;
use super::database::{Database, Outcome, Row, Value};
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

/// Part of the samples, checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Samples in it, damaged ones included.
    pub samples: u64,
    /// Positions and ids of the samples that differ from what was stored.
    pub damaged: Vec<(i64, String)>,
    /// Position of the last one; `None` if no samples follow.
    pub end: Option<i64>,
}

/// A row whose checksum was verified.
#[derive(Clone, Debug)]
pub(super) struct StoredLine {
    pub(super) seq: i64,
    /// The id, as far as it is readable.
    pub(super) id: String,
    /// `None` if it differs from what was stored.
    pub(super) line: Option<String>,
}

/// Reads a row of `seq, id, checksum, line`.
pub(super) fn stored_line(mut row: Row) -> Outcome<StoredLine> {
    let seq = row.integer(0)?;
    let (id, line) = (row.bytes(1), row.bytes(3));
    let is_same = matches!(row.maybe_integer(2), Ok(Some(sum)) if sum == checksum(&id, &line));
    let line = if is_same { String::from_utf8(line).ok() } else { None };
    let id = String::from_utf8(id).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(StoredLine { seq, id, line })
}

/// Columns of [`StoredSample`].
pub(super) const COLUMNS: &str = "seq, id, checksum, line, model, mode, engine, outcome, started_at_us, secs, run";

/// A row of [`COLUMNS`].
#[derive(Clone, Debug)]
pub(super) struct StoredSample {
    pub(super) seq: i64,
    pub(super) id: String,
    /// `None` if it differs from what was stored.
    pub(super) line: Option<String>,
    model: Vec<u8>,
    mode: Vec<u8>,
    engine: Vec<u8>,
    outcome: Vec<u8>,
    started_at_us: Option<i64>,
    /// `None` if the column has no number.
    secs: Option<Option<f64>>,
    pub(super) run: Option<i64>,
}

impl StoredSample {
    pub(super) fn read(mut row: Row) -> Outcome<Self> {
        let [model, mode, engine, outcome] = [4, 5, 6, 7].map(|column| row.bytes(column));
        let (started_at_us, secs) = (row.maybe_integer(8).ok().flatten(), row.maybe_real(9).ok());
        let run = row.maybe_integer(10).ok().flatten();
        let StoredLine { seq, id, line } = stored_line(row)?;
        Ok(Self { seq, id, line, model, mode, engine, outcome, started_at_us, secs, run })
    }

    /// Returns the row that a sample is stored as.
    pub(super) fn of(new: &Encoded, seq: i64, run: i64) -> Self {
        Self {
            seq,
            id: new.id.clone(),
            line: Some(new.line.clone()),
            model: new.run.model.clone().into_bytes(),
            mode: new.mode.into(),
            engine: new.run.engine.into(),
            outcome: new.run.outcome.into(),
            started_at_us: Some(new.started_at_us),
            secs: Some(new.secs),
            run: Some(run),
        }
    }

    /// Whether the columns that queries select by are those of a sample.
    pub(super) fn has_columns_of(&self, right: &Encoded) -> bool {
        // A server stores no NUL.
        let models = [right.run.model.clone(), right.run.model.replace('\0', "\u{fffd}")];
        models.iter().any(|model| model.as_bytes() == self.model)
            && right.mode.as_bytes() == self.mode
            && right.run.engine.as_bytes() == self.engine
            && right.run.outcome.as_bytes() == self.outcome
            && self.started_at_us == Some(right.started_at_us)
            && self.secs == Some(right.secs)
    }

    /// Whether it is as it was stored.
    fn is_sound(&self) -> bool {
        let Some(line) = &self.line else { return false };
        // Samples outside the limits, from an earlier version, are in no answer.
        let encoded = parse_line(line).ok().and_then(|sample| Encoded::new(&sample).ok());
        encoded.is_none_or(|right| self.has_columns_of(&right))
    }
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
            let Slice { samples, damaged, .. } = self.check_slice(0, usize::MAX)?;
            (findings.samples, findings.damaged, findings.figures) = (samples, damaged, self.check_runs()?);
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

    /// Checks at most this number of samples after a position.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn check_slice(&self, after: i64, most: usize) -> anyhow::Result<Slice> {
        let query = format!("SELECT {COLUMNS} FROM samples WHERE seq > $1 ORDER BY seq LIMIT $2");
        let (mut slice, mut last) = (Slice::default(), None);
        let parameters = [Value::Integer(after), Value::Integer(i64::try_from(most).unwrap_or(i64::MAX))];
        let read = self.database.each(&query, &parameters, &mut |row| {
            let sample = StoredSample::read(row)?;
            slice.samples += 1;
            last = Some(sample.seq);
            if !sample.is_sound() {
                slice.damaged.push((sample.seq, sample.id));
            }
            Ok(true)
        });
        read.map_err(|failure| self.explain(&failure))?;
        slice.end = last.filter(|_| slice.samples >= most as u64);
        Ok(slice)
    }

    /// Returns the positions among these that have a sound sample, or none any more.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn sound_among(&self, positions: &[i64]) -> anyhow::Result<BTreeSet<i64>> {
        let mut sound = BTreeSet::new();
        for position in positions {
            let damaged = self.check_slice(position - 1, 1)?.damaged;
            if damaged.iter().all(|(found, _)| found != position) {
                sound.insert(*position);
            }
        }
        Ok(sound)
    }

    /// Compares the figures of the runs with those of their samples, with one query, so that no
    /// write comes between. Returns a sentence about each run that differs.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn check_runs(&self) -> anyhow::Result<Vec<String>> {
        let mut figures = Vec::new();
        let query = "SELECT number, runs.samples, runs.timed, runs.sum_secs, runs.least_secs, runs.most_secs,
                 coalesce(counted.samples, 0), coalesce(counted.timed, 0), coalesce(counted.sum_secs, 0.0),
                 counted.least_secs, counted.most_secs
             FROM runs LEFT JOIN (
                 SELECT run, count(*) AS samples, count(secs) AS timed, sum(secs) AS sum_secs,
                     min(secs) AS least_secs, max(secs) AS most_secs
                 FROM samples GROUP BY run
             ) AS counted ON counted.run = runs.number
             ORDER BY number";
        let read = self.database.each(query, &[], &mut |row| {
            let counts = |first: usize| Ok::<_, super::Failure>((row.integer(first)?, row.integer(first + 1)?));
            let limits = |first: usize| Ok::<_, super::Failure>((row.maybe_real(first)?, row.maybe_real(first + 1)?));
            let is_same = counts(1).ok() == counts(6).ok()
                && limits(4).ok() == limits(9).ok()
                && row.real(3).is_ok_and(|sum| row.real(8).is_ok_and(|right| is_close(sum, right)));
            if !is_same {
                let number = row.integer(0)?;
                figures.push(format!("run {number}: its figures are not those of its samples"));
            }
            Ok(true)
        });
        read.map_err(|failure| self.explain(&failure))?;
        Ok(figures)
    }
}

/// Whether two sums differ by no more than the order of their terms explains.
fn is_close(sum: f64, right: f64) -> bool {
    (sum - right).abs() <= 1e-9 * right.abs().max(1.0)
}
