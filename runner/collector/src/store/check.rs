//! Detection of damage: of the file's structure, and of each sample.

use std::collections::BTreeSet;

use super::Store;
use super::database::Database;
use super::failure::{Failure, damaged};
use super::row::Value;
use super::stored::{COLUMNS, StoredSample};

/// Limit on the problems that a check of the structure lists.
const MOST_PROBLEMS: usize = 10;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Samples in the store, damaged ones included.
    pub samples: u64,
    /// Positions and ids of the samples that differ from what was stored.
    pub damaged: Vec<(i64, String)>,
    /// Figures of runs that differ from those of their samples.
    pub figures: Vec<String>,
    /// Problems of the file's structure, in SQLite's words.
    pub structure: Vec<String>,
}

impl Findings {
    /// Whether there are no findings.
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

impl Store {
    /// Checks the structure of a file, every sample against its checksum, its columns against the
    /// sample, and the figures of the runs.
    ///
    /// # Errors
    /// The file cannot be read at all.
    pub fn check(&self) -> anyhow::Result<Findings> {
        let structure = self.check_indexes()?;
        let samples = self.check_slice(0, usize::MAX).and_then(|slice| Ok((slice, self.check_runs()?)));
        match samples {
            Ok((Slice { samples, damaged, .. }, figures)) => Ok(Findings { samples, damaged, figures, structure }),
            // A damaged structure can make the samples unreadable; its problems are reported then.
            Err(_) if !structure.is_empty() => Ok(Findings { structure, ..Findings::default() }),
            Err(error) => Err(error),
        }
    }

    /// Checks the structure of the file, and each index against its table; returns the problems.
    ///
    /// # Errors
    /// The file cannot be read at all.
    pub fn check_indexes(&self) -> anyhow::Result<Vec<String>> {
        self.structure("integrity_check")
    }

    /// Checks only the structure of the file, at about a second per GiB.
    ///
    /// # Errors
    /// The structure is damaged.
    pub fn check_structure(&self) -> anyhow::Result<()> {
        match self.structure("quick_check")?.as_slice() {
            [] => Ok(()),
            [first, ..] => Err(damaged(&self.location, first)),
        }
    }

    /// For a server the check is skipped, because it checks its files itself.
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

    /// Returns those of these positions whose sample is sound or was removed.
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

    /// Compares the figures of the runs with those of their samples in a single query, so that no
    /// write intervenes. Returns a sentence about each run that differs.
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
            let counts = |first: usize| Ok::<_, Failure>((row.integer(first)?, row.integer(first + 1)?));
            let limits = |first: usize| Ok::<_, Failure>((row.maybe_real(first)?, row.maybe_real(first + 1)?));
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

/// Whether two sums are equal up to rounding in another order of terms.
fn is_close(sum: f64, right: f64) -> bool {
    (sum - right).abs() <= 1e-9 * right.abs().max(1.0)
}
