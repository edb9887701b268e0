//! Detection of damage by the database's own checks, and of wrong figures.

use super::Store;
use super::database::Database;
use super::failure::{Failure, damaged};

/// Limit on the problems that a check of the structure lists.
const MOST_PROBLEMS: usize = 10;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Samples in the store.
    pub samples: u64,
    /// Figures of runs that differ from those of their samples.
    pub figures: Vec<String>,
    /// Problems of the file, in SQLite's words.
    pub structure: Vec<String>,
}

impl Findings {
    /// Whether there are no findings.
    pub fn is_sound(&self) -> bool {
        self.figures.is_empty() && self.structure.is_empty()
    }

    /// Returns the findings, one in a line.
    pub fn lines(&self) -> impl Iterator<Item = &String> {
        self.structure.iter().chain(&self.figures)
    }
}

impl Store {
    /// Checks the structure of a file, each index against its table, and the figures of the runs.
    ///
    /// # Errors
    /// The file cannot be read at all.
    pub fn check(&self) -> anyhow::Result<Findings> {
        let structure = self.structure("integrity_check")?;
        // A damaged structure can make the samples unreadable; its problems are reported then.
        if !structure.is_empty() {
            return Ok(Findings { structure, ..Findings::default() });
        }
        let samples = self.integer("SELECT count(*) FROM samples")?.unsigned_abs();
        Ok(Findings { samples, figures: self.check_runs()?, structure })
    }

    /// Checks the structure of the file and each index against its table.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn check_file(&self) -> anyhow::Result<()> {
        self.is_sound("integrity_check")
    }

    /// Checks only the structure of the file, at about a second per GiB.
    ///
    /// # Errors
    /// The structure is damaged.
    pub fn check_structure(&self) -> anyhow::Result<()> {
        self.is_sound("quick_check")
    }

    fn is_sound(&self, pragma: &str) -> anyhow::Result<()> {
        match self.structure(pragma)?.as_slice() {
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
        // SQLite writes several problems of a page into one text.
        let lines = problems.iter().flat_map(|problem| problem.lines()).filter(|problem| *problem != "ok");
        Ok(lines.take(MOST_PROBLEMS).map(str::to_owned).collect())
    }

    /// Compares the figures of the runs with those of their samples in a single query, so that no
    /// write intervenes. Returns a sentence about each run that differs.
    ///
    /// # Errors
    /// The store cannot be read.
    fn check_runs(&self) -> anyhow::Result<Vec<String>> {
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
