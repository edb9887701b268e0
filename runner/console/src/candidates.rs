//! `foreglow advise --candidates`: advice on the configuration of any table to run next.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use csv::StringRecord;
use foreglow_exit::unusable;
use foreglow_model::{Column, Features, Meaning, Probe, SearchTable, Strategy};

use crate::answer::{Properties, SearchAnswer};
use crate::evaluation::Records;

const SECS_PER_HOUR: f64 = 3600.0;
/// Range of prices per hour and of times in seconds. Costs from more extreme numbers would be 0 or
/// infinite.
const NUMBERS: RangeInclusive<f64> = 1e-9..=1e12;

/// A table of candidates in place of samples.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tables of other programs")]
pub struct TableArgs {
    /// Table of configurations to choose from: CSV, TSV or JSON Lines with a column for each
    /// property and the price per hour
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "store", "model", "context", "machines", "catalog", "spot", "max_hourly_cost", "batch_size", "partition_size", "images", "epochs", "with_startup", "budget", "min_accuracy", "probability", "executors", "cores", "memory", "prices", "output"])]
    candidates: Option<PathBuf>,

    /// Table of runs that were made, with the same columns and the time in seconds
    #[arg(long, value_name = "FILE", requires = "candidates")]
    input: Option<PathBuf>,

    /// Column of the table of runs with the time, seconds
    #[arg(long, value_name = "COLUMN", requires = "candidates", default_value = "secs")]
    target: String,

    /// Column of the candidates with the price per hour
    #[arg(long, value_name = "COLUMN", requires = "candidates", default_value = "price_per_hour")]
    price: String,

    /// Column with a number of machines, executors or cores, among which the work is divided; may
    /// be repeated
    #[arg(long, value_name = "COLUMN", requires = "candidates")]
    workers: Vec<String>,

    /// How the next run is chosen; the others are there to replay published searches
    #[arg(long, value_enum, requires = "candidates", default_value_t)]
    strategy: StrategyName,

    /// Seed of --strategy random
    #[arg(long, value_name = "N", requires = "candidates", default_value_t = 1)]
    seed: u64,
}

/// Strategies by name.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum StrategyName {
    /// The most expected saving for the money that the run costs
    #[default]
    Foreglow,
    /// CherryPick's: the most expected improvement by a Gaussian process
    ExpectedImprovement,
    /// A random configuration that was not run yet; never stops
    Random,
}

/// A table of text cells.
struct Cells {
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Line of each row in the file.
    lines: Vec<u64>,
}

impl TableArgs {
    /// Returns the advice on a table; `None` if the user named none.
    ///
    /// # Errors
    /// A table cannot be read, lacks a column, or has an invalid cell.
    pub fn advise(&self, deadline_secs: Option<f64>) -> anyhow::Result<Option<SearchAnswer>> {
        let Some(file) = &self.candidates else { return Ok(None) };
        let candidates = Cells::read(file)?;
        let price = candidates.place(&self.price)?;
        let columns: Vec<usize> = (0..candidates.columns.len()).filter(|column| *column != price).collect();
        candidates.check_configurations(&columns)?;
        if let Some(unknown) = self.workers.iter().find(|column| !candidates.columns.contains(column)) {
            return Err(unusable(format!("{}: there is no column {unknown}", candidates.name)));
        }
        let table = SearchTable {
            features: candidates.features(&columns)?,
            prices: candidates.numbers(price)?.into_iter().map(|price| price / SECS_PER_HOUR).collect(),
            known: self.workers.iter().map(|column| (column.clone(), Meaning::Workers)).collect(),
        };
        let probes = match &self.input {
            Some(file) => self.probes(&Cells::read(file)?, &candidates, &columns)?,
            None => Vec::new(),
        };
        let strategy = match self.strategy {
            StrategyName::Foreglow => Strategy::Saving,
            StrategyName::ExpectedImprovement => Strategy::ExpectedImprovement,
            StrategyName::Random => Strategy::Random(self.seed),
        };
        SearchAnswer::new(&table, &candidates.properties(&columns), &probes, deadline_secs, strategy).map(Some)
    }

    /// Returns the runs, each with the candidate that has its properties.
    fn probes(&self, runs: &Cells, candidates: &Cells, properties: &[usize]) -> anyhow::Result<Vec<Probe>> {
        let target = runs.place(&self.target)?;
        let places: Vec<usize> =
            properties.iter().map(|column| runs.place(&candidates.columns[*column])).collect::<anyhow::Result<_>>()?;
        let secs = runs.numbers(target)?;
        let find = |row: &Vec<String>| {
            candidates.rows.iter().position(|candidate| {
                properties.iter().zip(&places).all(|(own, other)| same(&candidate[*own], &row[*other]))
            })
        };
        let probe = |((row, line), secs): ((&Vec<String>, &u64), f64)| {
            let candidate = find(row).ok_or_else(|| {
                unusable(format!("{}: line {line} is no configuration of {}", runs.name, candidates.name))
            })?;
            Ok(Probe { candidate, secs })
        };
        runs.rows.iter().zip(&runs.lines).zip(secs).map(probe).collect()
    }
}

/// Whether two cells are the same text or the same number.
fn same(a: &str, b: &str) -> bool {
    a == b || a.parse::<f64>().is_ok_and(|a| b.parse::<f64>().is_ok_and(|b| a == b))
}

impl Cells {
    fn read(file: &Path) -> anyhow::Result<Self> {
        let mut records = Records::open(file)?;
        let (name, columns) = (records.name().to_owned(), records.header().to_vec());
        if let Some((_, twice)) =
            (columns.iter().enumerate()).find(|(place, column)| columns[..*place].contains(column))
        {
            return Err(unusable(format!("{name}: two columns are named {twice}; rename or remove one of them")));
        }
        let (mut rows, mut lines, mut record) = (Vec::new(), Vec::new(), StringRecord::new());
        while let Some(line) = records.next(&mut record)? {
            if record.len() != columns.len() {
                let (cells, header) = (record.len(), columns.len());
                return Err(unusable(format!("{name}: line {line} has {cells} cells and the header {header}")));
            }
            rows.push(record.iter().map(str::to_owned).collect());
            lines.push(line);
        }
        if rows.is_empty() {
            return Err(unusable(format!("{name} has no rows; give at least one below the header")));
        }
        Ok(Self { name, columns, rows, lines })
    }

    /// Refuses a configuration that occurs twice in the table, because its prices could differ and
    /// a run would count only for the first.
    fn check_configurations(&self, columns: &[usize]) -> anyhow::Result<()> {
        for (place, row) in self.rows.iter().enumerate() {
            let equal = |other: &Vec<String>| columns.iter().all(|column| same(&other[*column], &row[*column]));
            if let Some(first) = self.rows[..place].iter().position(equal) {
                let (name, first, second) = (&self.name, self.lines[first], self.lines[place]);
                return Err(unusable(format!(
                    "{name}: lines {first} and {second} are the same configuration; keep one"
                )));
            }
        }
        Ok(())
    }

    fn place(&self, column: &str) -> anyhow::Result<usize> {
        self.columns.iter().position(|own| own == column).ok_or_else(|| {
            unusable(format!("{}: there is no column {column}; it has {}", self.name, self.columns.join(", ")))
        })
    }

    /// Returns the columns and cells of each row.
    fn properties(&self, columns: &[usize]) -> Vec<Properties> {
        let cell = |row: &Vec<String>, column: usize| (self.columns[column].clone(), row[column].clone());
        let properties = |row| Properties(columns.iter().map(|column| cell(row, *column)).collect());
        self.rows.iter().map(properties).collect()
    }

    /// Returns a column of prices or times.
    fn numbers(&self, column: usize) -> anyhow::Result<Vec<f64>> {
        let number = |(row, line): (&Vec<String>, &u64)| {
            let value = row[column].parse::<f64>().ok().filter(|value| NUMBERS.contains(value));
            value.ok_or_else(|| {
                let (name, header, value) = (&self.name, &self.columns[column], &row[column]);
                let (least, most) = (NUMBERS.start(), NUMBERS.end());
                unusable(format!(
                    "{name}: line {line}: {header} is {value:?}; give a number from {least:e} to {most:e}"
                ))
            })
        };
        self.rows.iter().zip(&self.lines).map(number).collect()
    }

    /// Returns the columns as features: numbers if all cells are, otherwise names.
    fn features(&self, columns: &[usize]) -> anyhow::Result<Features> {
        let feature = |column: &usize| {
            let cells = || self.rows.iter().map(|row| row[*column].as_str());
            let numbers: Result<Vec<f64>, _> = cells().map(str::parse::<f64>).collect();
            match numbers {
                Ok(numbers) => Column::numeric(self.columns[*column].clone(), numbers, None),
                Err(_) => Column::category(self.columns[*column].clone(), cells()),
            }
        };
        Features::new(columns.iter().map(feature).collect())
            .map_err(|error| unusable(format!("{}: {error}", self.name)))
    }
}
