//! Splits of a table, like those of `foreglow evaluate`.

use std::path::Path;

use foreglow_model::{Dataset, Repeats, Roles, Settings, Split, Term};

use crate::chance::Chance;
use crate::protocol::Part;
use crate::table::{Spec, Table};
use crate::trial::{TableTrial, Trial};

/// The fitted and the tested rows.
#[derive(Clone, Debug)]
pub enum Splits {
    /// Fits random settings and tests the others; by default a tenth is tested.
    Random {
        /// Splits.
        splits: usize,
        /// Fitted settings.
        fitted: Option<usize>,
    },
    /// Splits by conditions; a side without conditions gets all rows that the other side does not
    /// select.
    Conditions {
        /// Fitted rows meet these.
        fit_on: Vec<String>,
        /// Tested rows meet these.
        test_on: Vec<String>,
    },
    /// Holds out each combination of values of some columns in turn.
    LeaveOut(Vec<&'static str>),
    /// Holds out each value of a column in turn, except one run of each of some random settings
    /// with it, like a new machine type with few own runs among measured ones.
    NewValue {
        /// The column.
        column: &'static str,
        /// Fitted runs of the new value.
        own: usize,
        /// Number of draws for each value.
        draws: usize,
    },
}

/// A table, its split and the meaning of its columns.
#[derive(Clone)]
pub struct TablePart {
    /// The table.
    pub spec: Spec,
    /// The split.
    pub splits: Splits,
    /// Meanings of the columns.
    pub roles: Roles,
    /// Reference time of repeated settings.
    pub repeats: Repeats,
    /// Time at which fitted runs are stopped, seconds; they are then lower bounds, or omitted.
    pub stop: Option<(f64, bool)>,
}

impl Default for TablePart {
    fn default() -> Self {
        let splits = Splits::Random { splits: 1, fitted: None };
        Self { spec: Spec::default(), splits, roles: Roles::default(), repeats: Repeats::Median, stop: None }
    }
}

impl Splits {
    /// A split by conditions.
    pub fn conditions(fit_on: &[&str], test_on: &[&str]) -> Self {
        let owned = |conditions: &[&str]| conditions.iter().map(|condition| (*condition).to_owned()).collect();
        Self::Conditions { fit_on: owned(fit_on), test_on: owned(test_on) }
    }
}

impl TablePart {
    /// Reads the table and splits it.
    ///
    /// # Errors
    /// The table cannot be read or split.
    pub fn read(&self, data: &Path) -> anyhow::Result<Part> {
        let table = Table::read(data, &self.spec)?;
        let runs = table.runs(&self.spec)?;
        let trials = match &self.splits {
            Splits::Conditions { fit_on, test_on } => {
                let (fit, test) = (table.meeting(fit_on)?, table.meeting(test_on)?);
                let is_fitted = |row: usize| if fit_on.is_empty() { !test[row] } else { fit[row] };
                let is_tested = |row: usize| if test_on.is_empty() { !fit[row] } else { test[row] };
                let rows =
                    |is: &dyn Fn(usize) -> bool| (0..runs.secs().len()).filter(|row| is(*row)).collect::<Vec<_>>();
                vec![self.trial(runs.select(&rows(&is_fitted)), runs.select(&rows(&is_tested)))?]
            }
            drawn => {
                let settings = Settings::of(&runs);
                let count = settings.len();
                let splits = match drawn {
                    Splits::LeaveOut(columns) => Split::leave_out(settings.medians().features(), columns),
                    Splits::Random { splits, fitted } => {
                        let tested = fitted.map_or(((count + 5) / 10).max(1), |fitted| count.saturating_sub(fitted));
                        Split::random(count, tested, *splits, 0)
                    }
                    Splits::NewValue { column, own, draws } => {
                        let left_out = Split::leave_out(settings.medians().features(), &[*column]);
                        // The first trials, which a quick run takes, are of all values.
                        let of_draw = |draw: usize| {
                            let values = left_out.iter().enumerate();
                            values.map(move |(value, split)| with_own(split, *own, draw, value))
                        };
                        // A value with too few settings leaves no test run.
                        (0..*draws).flat_map(of_draw).filter(|split| !split.test.is_empty()).collect()
                    }
                    Splits::Conditions { .. } => Vec::new(),
                };
                let repeats = |number: usize| match drawn {
                    Splits::NewValue { own, .. } => Some((*own, number)),
                    _ => None,
                };
                let trial = |(number, split): (usize, &Split)| {
                    self.trial(fitted_runs(&settings, split, repeats(number)), settings.runs(&split.test))
                };
                splits.iter().enumerate().map(trial).collect::<anyhow::Result<_>>()?
            }
        };
        // `foreglow evaluate` has no stop.
        let command = if self.stop.is_none() { self.command() } else { Vec::new() };
        Ok(Part { command, trials })
    }

    fn trial(&self, fit: Dataset, test: Dataset) -> anyhow::Result<Trial> {
        let fit = match self.stop {
            None => fit,
            Some((limit, is_bound)) => {
                let is_over: Vec<bool> = fit.secs().iter().map(|secs| *secs > limit).collect();
                let rows: Vec<usize> = (0..is_over.len()).filter(|row| is_bound || !is_over[*row]).collect();
                let secs = rows.iter().map(|row| fit.secs()[*row].min(limit)).collect();
                let censored = rows.iter().map(|row| is_over[*row]).collect();
                Dataset::new(fit.features().select(&rows), secs, censored)?
            }
        };
        Ok(Trial::Table(TableTrial { fit, test, repeats: self.repeats, roles: self.roles.clone() }))
    }

    /// Returns the arguments of `foreglow evaluate`.
    fn command(&self) -> Vec<String> {
        let mut words = vec!["--input".to_owned(), self.spec.file.clone(), "--target".into(), self.spec.target.into()];
        let mut push = |option: &str, value: String| words.extend([option.to_owned(), value]);
        self.spec.only.iter().for_each(|condition| push("--only", condition.clone()));
        self.spec.features.iter().for_each(|feature| push("--feature", (*feature).to_owned()));
        self.spec.censored.iter().for_each(|column| push("--censored", (*column).to_owned()));
        let Roles { machines, data_size, batch_size, iterations, terms } = &self.roles;
        let roles = [
            ("--machines", machines),
            ("--data-size", data_size),
            ("--batch-size", batch_size),
            ("--iterations", iterations),
        ];
        for (option, term) in roles {
            term.iter().for_each(|term| push(option, term.to_string()));
        }
        terms.iter().for_each(|term: &Term| push("--term", term.to_string()));
        match &self.splits {
            Splits::Random { splits, fitted } => {
                push("--random-splits", splits.to_string());
                fitted.iter().for_each(|fitted| push("--fit-settings", fitted.to_string()));
            }
            Splits::Conditions { fit_on, test_on } => {
                fit_on.iter().for_each(|condition| push("--fit-on", condition.clone()));
                test_on.iter().for_each(|condition| push("--test-on", condition.clone()));
            }
            Splits::LeaveOut(columns) => columns.iter().for_each(|column| push("--leave-out", (*column).to_owned())),
            // `foreglow evaluate` has no such split.
            Splits::NewValue { .. } => return Vec::new(),
        }
        if self.repeats == Repeats::Each {
            push("--repeats", "each".into());
        }
        words
    }
}

/// Returns the fitted runs, with only one run of each of the last `own` settings of the draw.
fn fitted_runs(settings: &Settings, split: &Split, own: Option<(usize, usize)>) -> Dataset {
    let Some((own, number)) = own else { return settings.runs(&split.fit) };
    let (others, moved) = split.fit.split_at(split.fit.len() - own.min(split.fit.len()));
    let mut chance = Chance::new(&[8, number as u64]);
    let (mut rows, mut kept): (usize, Vec<usize>) = (0, Vec::new());
    for setting in others {
        let repeats = settings.runs(&[*setting]).secs().len();
        kept.extend(rows..rows + repeats);
        rows += repeats;
    }
    for setting in moved {
        let repeats = settings.runs(&[*setting]).secs().len();
        kept.push(rows + chance.place(repeats));
        rows += repeats;
    }
    settings.runs(&split.fit).select(&kept)
}

/// Moves some tested settings to the fitted ones.
fn with_own(split: &Split, own: usize, draw: usize, value: usize) -> Split {
    let mut chance = Chance::new(&[7, value as u64, draw as u64]);
    let places = chance.places(split.test.len(), own);
    let moved: Vec<usize> = places.iter().map(|place| split.test[*place]).collect();
    let test = split.test.iter().copied().filter(|setting| !moved.contains(setting)).collect();
    Split { fit: [split.fit.clone(), moved].concat(), test }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five runs on the machine type `a`, four on `b` and two on `c`.
    #[test]
    fn a_new_value_is_tested_only_where_runs_of_it_are_left() {
        let folder = tempfile::tempdir().unwrap();
        let runs = [("a", 5), ("b", 4), ("c", 2)].into_iter().flat_map(|(vm, many)| (1..=many).map(move |n| (vm, n)));
        let rows: String = runs.map(|(vm, nodes)| format!("{nodes},{vm},{}\n", 100 / nodes)).collect();
        std::fs::write(folder.path().join("runs.csv"), format!("nodes,vm,secs\n{rows}")).unwrap();
        let spec = Spec { file: "runs.csv".into(), target: "secs", features: vec!["nodes", "vm"], ..Spec::default() };
        let splits = Splits::NewValue { column: "vm", own: 2, draws: 3 };
        let part = TablePart { spec, splits, ..TablePart::default() }.read(folder.path()).unwrap();
        let sizes = part.trials.iter().map(|trial| match trial {
            Trial::Table(table) => (table.fit.secs().len(), table.test.secs().len()),
            _ => panic!("a table gives trials of tables"),
        });
        // Each draw fits the other types and two runs of the new one; `c` has no third run.
        let of_draw = [(6 + 2, 3), (7 + 2, 2)];
        assert_eq!(sizes.collect::<Vec<_>>(), [of_draw; 3].concat());
    }
}
