//! Public tables, read as `foreglow evaluate --input` reads them.

use std::path::Path;

use anyhow::Context as _;
use csv::StringRecord;
use foreglow_model::{Column, Dataset, Features};

/// A file and the meaning of its columns.
#[derive(Clone, Default)]
pub struct Spec {
    /// The file, relative to the data folder.
    pub file: String,
    /// Column of the times.
    pub target: &'static str,
    /// Columns of the features.
    pub features: Vec<&'static str>,
    /// Conditions on the used rows.
    pub only: Vec<String>,
    /// Column that is 1 where a run was stopped at its time.
    pub censored: Option<&'static str>,
}

/// Rows of a file with the columns of the conditions.
pub struct Table {
    header: StringRecord,
    rows: Vec<StringRecord>,
}

/// Comparison of a column with a value.
struct Condition<'a> {
    column: &'a str,
    sign: &'static str,
    value: &'a str,
}

/// Longer signs first, because `<=` begins with `<`.
const SIGNS: [&str; 6] = ["<=", ">=", "!=", "<", ">", "="];

impl Table {
    /// Reads the used rows of a comma- or tab-separated file.
    ///
    /// # Errors
    /// The file cannot be read, or a condition is invalid.
    pub fn read(data: &Path, spec: &Spec) -> anyhow::Result<Self> {
        let path = data.join(&spec.file);
        let tabs = path.extension().is_some_and(|extension| extension == "tsv");
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(if tabs { b'\t' } else { b',' })
            .trim(csv::Trim::All)
            .from_path(&path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        let header = reader.headers()?.clone();
        let rows = reader.records().collect::<Result<Vec<_>, _>>().with_context(|| path.display().to_string())?;
        let mut table = Self { header, rows };
        let meets = table.meeting(&spec.only)?;
        table.rows =
            std::mem::take(&mut table.rows).into_iter().zip(meets).filter_map(|(row, ok)| ok.then_some(row)).collect();
        Ok(table)
    }

    /// Returns whether each row meets all conditions.
    ///
    /// # Errors
    /// A condition names an unknown column, or orders names.
    pub fn meeting(&self, conditions: &[String]) -> anyhow::Result<Vec<bool>> {
        let mut meets = vec![true; self.rows.len()];
        for text in conditions {
            let condition = Condition::parse(text)?;
            for (meets, cell) in meets.iter_mut().zip(self.cells(condition.column)?) {
                *meets &= condition.holds(cell).with_context(|| text.clone())?;
            }
        }
        Ok(meets)
    }

    /// Returns the cells of a column.
    ///
    /// # Errors
    /// The table lacks the column.
    pub fn cells(&self, name: &str) -> anyhow::Result<Vec<&str>> {
        let place = self.header.iter().position(|column| column == name);
        let place = place.with_context(|| format!("there is no column {name}"))?;
        Ok(self.rows.iter().map(|row| row.get(place).unwrap_or_default()).collect())
    }

    /// Returns the runs. A column is numeric if all its cells are numbers, otherwise it is
    /// categorical.
    ///
    /// # Errors
    /// A column is missing, or a time is not a number above 0.
    pub fn runs(&self, spec: &Spec) -> anyhow::Result<Dataset> {
        let column = |name: &&str| {
            let cells = self.cells(name)?;
            let numbers: Result<Vec<f64>, _> = cells.iter().map(|cell| cell.parse::<f64>()).collect();
            anyhow::Ok(match numbers {
                Ok(numbers) => Column::numeric(*name, numbers, None),
                Err(_) => Column::category(*name, cells),
            })
        };
        let features = Features::new(spec.features.iter().map(column).collect::<anyhow::Result<_>>()?)?;
        let secs =
            self.cells(spec.target)?.into_iter().map(|cell| cell.parse().with_context(|| format!("time {cell}")));
        let censored = match spec.censored {
            Some(column) => self.cells(column)?.into_iter().map(|cell| cell == "1").collect(),
            None => vec![false; self.rows.len()],
        };
        Ok(Dataset::new(features, secs.collect::<anyhow::Result<_>>()?, censored)?)
    }
}

impl<'a> Condition<'a> {
    fn parse(text: &'a str) -> anyhow::Result<Self> {
        let sign = |at: usize| SIGNS.into_iter().find(|sign| text[at..].starts_with(sign)).map(|sign| (at, sign));
        let (at, sign) =
            text.char_indices().find_map(|(at, _)| sign(at)).with_context(|| format!("{text}: no sign"))?;
        Ok(Self { column: &text[..at], sign, value: &text[at + sign.len()..] })
    }

    fn holds(&self, cell: &str) -> anyhow::Result<bool> {
        let (number, bound) = (cell.parse::<f64>(), self.value.parse::<f64>());
        let order = match (number, bound) {
            (Ok(number), Ok(bound)) => number.total_cmp(&bound),
            _ if ["=", "!="].contains(&self.sign) => cell.cmp(self.value),
            _ => anyhow::bail!("{cell:?} has no order"),
        };
        Ok(match self.sign {
            "<=" => order.is_le(),
            ">=" => order.is_ge(),
            "!=" => order.is_ne(),
            "<" => order.is_lt(),
            ">" => order.is_gt(),
            _ => order.is_eq(),
        })
    }
}
