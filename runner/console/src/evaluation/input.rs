//! Table of runs as described by the user: the time column, the features, and the rows to use.

use std::path::PathBuf;

use foreglow_exit::unusable;
use foreglow_model::{Column, Dataset, Features, Transform};
use foreglow_shared::{Table, TableRow, number};

use crate::ask::{name, read_table};
use crate::evaluation::condition::Condition;
use crate::evaluation::feature::{Feature, Kind, no_column};

/// A user-supplied table
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Tables of other programs")]
pub struct InputArgs {
    /// Table of runs to evaluate instead of samples: CSV, TSV or JSON Lines; `-` for standard input
    #[arg(long, value_name = "FILE", requires_all = ["target", "features"], conflicts_with_all = ["files", "store", "model", "context"])]
    pub input: Option<PathBuf>,

    /// Column with the times to predict
    #[arg(long, value_name = "COLUMN", requires = "input")]
    pub target: Option<String>,

    /// Column to predict from; may be repeated. A numeric column is used as inverse, log or linear
    /// (by default the predictor chooses), any other as a category
    #[arg(long = "feature", id = "features", value_name = "COLUMN[:inverse|log|linear|category]", requires = "input")]
    pub features: Vec<String>,

    /// Column that is 1 where the time is only a lower bound
    #[arg(long, value_name = "COLUMN", requires = "input")]
    pub censored: Option<String>,

    /// Use only rows that meet this condition, such as 'machine=m4.large' (= != < <= > >=); may be
    /// repeated
    #[arg(long, value_name = "CONDITION", requires = "input")]
    pub only: Vec<Condition>,
}

/// Content of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The selected rows.
    pub runs: Dataset,
    /// Whether each row is tested (otherwise fitted), if conditions split the rows; empty
    /// otherwise.
    pub is_tested: Vec<bool>,
    /// Columns given as `:inverse`.
    pub inverse: Vec<String>,
}

/// Conditions that select the rows to fit and to test.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// Rows that meet all of these are fitted; if empty, all rows that are not tested.
    pub fit_on: &'a [Condition],
    /// Rows that meet all of these are tested; if empty, all rows that are not fitted.
    pub test_on: &'a [Condition],
}

struct Reader<'a> {
    target: usize,
    censored: Option<usize>,
    only: Vec<(usize, &'a Condition)>,
    fit_on: Vec<(usize, &'a Condition)>,
    test_on: Vec<(usize, &'a Condition)>,
    rows: Vec<TableRow<'a>>,
    secs: Vec<f64>,
    is_censored: Vec<bool>,
    is_tested: Vec<bool>,
}

/// An error with the line of its cell.
type LineError = (u64, String);

impl InputArgs {
    /// Reads a table.
    ///
    /// # Errors
    /// The file cannot be read, a column is missing, or a cell is invalid; the message names its
    /// line.
    pub fn read(&self, sides: Sides<'_>) -> anyhow::Result<Option<Input>> {
        let (Some(file), Some(target)) = (&self.input, &self.target) else { return Ok(None) };
        let (table, name) = (read_table(file)?, name(file));
        let header = table.header();
        let place = |column: &str| {
            if header.iter().filter(|own| *own == column).count() > 1 {
                return Err(unusable(format!("{name} has several columns {column}; rename them")));
            }
            table.column(column).ok_or_else(|| no_column(column, header))
        };
        let features: Vec<Feature> =
            self.features.iter().map(|text| Feature::resolve(text, header)).collect::<anyhow::Result<_>>()?;
        check_roles(&features, target, self.censored.as_deref())?;
        let places: Vec<usize> =
            features.iter().map(|feature| place(&feature.column)).collect::<anyhow::Result<_>>()?;
        // A comparison with a number needs numbers of one meaning, like the time.
        let numbers = |column: usize| table.check_numbers(column).map_err(|error| unusable(format!("{name}: {error}")));
        let conditions = |conditions: &'_ [Condition]| -> anyhow::Result<Vec<usize>> {
            let place = |condition: &Condition| {
                let column = place(&condition.column)?;
                if table.is_numeric(column) { numbers(column).map(|()| column) } else { Ok(column) }
            };
            conditions.iter().map(place).collect()
        };
        let mut reader = Reader {
            target: place(target)?,
            censored: self.censored.as_deref().map(place).transpose()?,
            only: conditions(&self.only)?.into_iter().zip(&self.only).collect(),
            fit_on: conditions(sides.fit_on)?.into_iter().zip(sides.fit_on).collect(),
            test_on: conditions(sides.test_on)?.into_iter().zip(sides.test_on).collect(),
            rows: Vec::new(),
            secs: Vec::new(),
            is_censored: Vec::new(),
            is_tested: Vec::new(),
        };
        numbers(reader.target)?;
        for (feature, column) in features.iter().zip(&places) {
            if feature.kind != Kind::Names && (feature.kind != Kind::Automatic || table.is_numeric(*column)) {
                numbers(*column)?;
            }
        }
        let at_line = |(line, sentence): LineError| unusable(format!("{name}: line {line}: {sentence}"));
        for row in table.rows() {
            reader.take(row).map_err(|sentence| at_line((row.line(), sentence)))?;
        }
        reader.check(&table, &name)?;
        let columns = features.iter().zip(&places).map(|(feature, place)| feature.column(*place, &reader.rows));
        let columns = columns.collect::<Result<Vec<Column>, LineError>>().map_err(at_line)?;
        let features_of = Features::new(columns).map_err(|error| unusable(error.to_string()))?;
        let runs = Dataset::new(features_of, reader.secs, reader.is_censored);
        let runs = runs.map_err(|error| unusable(error.to_string()))?;
        let is_inverse = |feature: &Feature| feature.kind == Kind::Numbers(Transform::Inverse);
        let inverse = features.into_iter().filter(is_inverse).map(|feature| feature.column).collect();
        Ok(Some(Input { runs, is_tested: reader.is_tested, inverse }))
    }
}

impl<'a> Reader<'a> {
    fn take(&mut self, row: TableRow<'a>) -> Result<(), String> {
        let cell = |place: usize| row.get(place).unwrap_or_default();
        let all = |conditions: &[(usize, &Condition)]| -> Result<bool, String> {
            conditions.iter().try_fold(true, |all, (place, condition)| Ok(condition.holds(cell(*place))? && all))
        };
        if !all(&self.only)? {
            return Ok(());
        }
        if !(self.fit_on.is_empty() && self.test_on.is_empty()) {
            let (fitted, tested) = (all(&self.fit_on)?, all(&self.test_on)?);
            let is_tested = match (self.fit_on.is_empty(), self.test_on.is_empty()) {
                (false, true) => !fitted,
                (true, false) => tested,
                _ if fitted && tested => {
                    return Err("it meets both --fit-on and --test-on; a fitted run cannot be tested".into());
                }
                _ if fitted || tested => tested,
                _ => return Ok(()),
            };
            self.is_tested.push(is_tested);
        }
        self.is_censored.push(self.censored.map_or(Ok(false), |place| censored(cell(place)))?);
        self.secs.push(time(cell(self.target))?);
        self.rows.push(row);
        Ok(())
    }

    fn check(&self, table: &Table, name: &str) -> anyhow::Result<()> {
        let rows = table.rows().len();
        let all = |conditions: &[(usize, &Condition)]| {
            conditions.iter().map(|(_, condition)| condition.to_string()).collect::<Vec<_>>().join(" and ")
        };
        if rows == 0 {
            return Err(unusable(format!("{name} has no rows below its header")));
        }
        if self.secs.is_empty() && !self.only.is_empty() {
            return Err(unusable(format!("none of the {rows} rows meets --only {}", all(&self.only))));
        }
        let conditional = !(self.fit_on.is_empty() && self.test_on.is_empty());
        let side = |tested: bool| self.is_tested.contains(&tested);
        if conditional && !side(false) {
            return Err(unusable(match self.fit_on.is_empty() {
                true => format!("every row meets --test-on {}; none is left to fit", all(&self.test_on)),
                false => format!("no row meets --fit-on {}", all(&self.fit_on)),
            }));
        }
        if conditional && !side(true) {
            return Err(unusable(match self.test_on.is_empty() {
                true => format!("every row meets --fit-on {}; none is left to test", all(&self.fit_on)),
                false => format!("no row meets --test-on {}", all(&self.test_on)),
            }));
        }
        Ok(())
    }
}

/// Checks that every column has only one role.
fn check_roles(features: &[Feature], target: &str, censored: Option<&str>) -> anyhow::Result<()> {
    let mut seen: Vec<&str> = Vec::new();
    for column in features.iter().map(|feature| feature.column.as_str()) {
        if column == target || Some(column) == censored {
            return Err(unusable(format!(
                "the column {column} is a --feature and also --target or --censored; name it once"
            )));
        }
        if seen.contains(&column) {
            return Err(unusable(format!("the column {column} is a --feature twice; name it once")));
        }
        seen.push(column);
    }
    Ok(())
}

fn time(cell: &str) -> Result<f64, String> {
    match number(cell) {
        Some(secs) if secs > 0.0 => Ok(secs),
        Some(secs) => Err(format!("the time is {secs}; it must be above 0")),
        None if cell.is_empty() => Err("the time is empty; give it, or leave such rows out with --only".into()),
        None => Err(format!("the time is {cell:?}; write digits with a point and no unit")),
    }
}

fn censored(cell: &str) -> Result<bool, String> {
    match (number(cell), cell) {
        (Some(0.0), _) | (_, "false") => Ok(false),
        (Some(1.0), _) | (_, "true") => Ok(true),
        _ => Err(format!("the --censored column is {cell:?}; it must be 0 or 1")),
    }
}
