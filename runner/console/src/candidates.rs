//! `foreglow advise --candidates`: advice on the configuration of any table to run next.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use foreglow_exit::unusable;
use foreglow_model::{Column, Features, Meaning, Probe, SearchTable, Strategy};
use foreglow_shared::{Table, TableRow, number};

use crate::answer::{Properties, SearchAnswer};
use crate::ask::{name, read_table};

const SECS_PER_HOUR: f64 = 3600.0;
/// Range of prices per hour and of times in seconds. Costs from more extreme numbers would be 0 or
/// infinite.
const NUMBERS: RangeInclusive<f64> = 1e-9..=1e12;

/// A table of candidates in place of samples.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tables of other programs")]
pub struct CandidateArgs {
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

/// A table with its name for messages.
struct Cells {
    name: String,
    table: Table,
}

impl CandidateArgs {
    /// Returns the advice on a table; `None` if the user named none.
    ///
    /// # Errors
    /// A table cannot be read, lacks a column, or has an invalid cell.
    pub fn advise(&self, deadline_secs: Option<f64>) -> anyhow::Result<Option<SearchAnswer>> {
        let Some(file) = &self.candidates else { return Ok(None) };
        let candidates = Cells::read(file)?;
        let price = candidates.place(&self.price)?;
        let columns: Vec<usize> = (0..candidates.table.header().len()).filter(|column| *column != price).collect();
        candidates.check_configurations(&columns)?;
        if let Some(unknown) = self.workers.iter().find(|column| candidates.table.column(column).is_none()) {
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
        let place = |column: &usize| runs.place(&candidates.table.header()[*column]);
        let places: Vec<usize> = properties.iter().map(place).collect::<anyhow::Result<_>>()?;
        places.iter().try_for_each(|column| runs.check_numbers(*column))?;
        let find = |row: TableRow<'_>| {
            candidates.table.rows().position(|candidate| {
                properties.iter().zip(&places).all(|(own, other)| same(&candidate[*own], &row[*other]))
            })
        };
        let probe = |(row, secs): (TableRow<'_>, f64)| {
            let candidate = find(row).ok_or_else(|| {
                unusable(format!("{}: line {} is no configuration of {}", runs.name, row.line(), candidates.name))
            })?;
            Ok(Probe { candidate, secs })
        };
        runs.table.rows().zip(runs.numbers(target)?).map(probe).collect()
    }
}

/// Whether two cells are the same text or the same number.
fn same(a: &str, b: &str) -> bool {
    a == b || number(a).is_some_and(|a| number(b) == Some(a))
}

impl Cells {
    fn read(file: &Path) -> anyhow::Result<Self> {
        let (table, name) = (read_table(file)?, name(file));
        let header = table.header();
        if let Some((_, twice)) = (header.iter().enumerate()).find(|(place, column)| header[..*place].contains(column))
        {
            return Err(unusable(format!("{name}: two columns are named {twice}; rename or remove one of them")));
        }
        if table.rows().len() == 0 {
            return Err(unusable(format!("{name} has no rows; give at least one below the header")));
        }
        Ok(Self { name, table })
    }

    /// Refuses numbers with two meanings; names may look like them.
    fn check_numbers(&self, column: usize) -> anyhow::Result<()> {
        match self.table.check_numbers(column) {
            Err(error) if self.table.is_numeric(column) => Err(unusable(format!("{}: {error}", self.name))),
            _ => Ok(()),
        }
    }

    /// Refuses a configuration that occurs twice in the table, because its prices could differ and
    /// a run would count only for the first.
    fn check_configurations(&self, columns: &[usize]) -> anyhow::Result<()> {
        columns.iter().try_for_each(|column| self.check_numbers(*column))?;
        for (place, row) in self.table.rows().enumerate() {
            let equal = |other: TableRow<'_>| columns.iter().all(|column| same(&other[*column], &row[*column]));
            if let Some(first) = self.table.rows().take(place).find(|other| equal(*other)) {
                let (name, first, second) = (&self.name, first.line(), row.line());
                return Err(unusable(format!(
                    "{name}: lines {first} and {second} are the same configuration; keep one"
                )));
            }
        }
        Ok(())
    }

    fn place(&self, column: &str) -> anyhow::Result<usize> {
        self.table.column(column).ok_or_else(|| {
            let header = self.table.header().join(", ");
            unusable(format!("{}: there is no column {column}; it has {header}", self.name))
        })
    }

    /// Returns the columns and cells of each row.
    fn properties(&self, columns: &[usize]) -> Vec<Properties> {
        let header = self.table.header();
        let cell = |row: TableRow<'_>, column: usize| (header[column].clone(), row[column].to_owned());
        let properties = |row| Properties(columns.iter().map(|column| cell(row, *column)).collect());
        self.table.rows().map(properties).collect()
    }

    /// Returns a column of prices or times.
    fn numbers(&self, column: usize) -> anyhow::Result<Vec<f64>> {
        self.table.check_numbers(column).map_err(|error| unusable(format!("{}: {error}", self.name)))?;
        let number = |row: TableRow<'_>| {
            number(&row[column]).filter(|value| NUMBERS.contains(value)).ok_or_else(|| {
                let (name, header, value) = (&self.name, &self.table.header()[column], &row[column]);
                let (line, least, most) = (row.line(), NUMBERS.start(), NUMBERS.end());
                unusable(format!(
                    "{name}: line {line}: {header} is {value:?}; give a number from {least:e} to {most:e}"
                ))
            })
        };
        self.table.rows().map(number).collect()
    }

    /// Returns the columns as features: numbers if all cells are, otherwise names.
    fn features(&self, columns: &[usize]) -> anyhow::Result<Features> {
        let feature = |column: &usize| {
            let cells = || self.table.rows().map(|row| row.get(*column).unwrap_or_default());
            let name = self.table.header()[*column].clone();
            match cells().map(number).collect::<Option<Vec<f64>>>() {
                Some(numbers) => Column::numeric(name, numbers, None),
                None => Column::category(name, cells()),
            }
        };
        Features::new(columns.iter().map(feature).collect())
            .map_err(|error| unusable(format!("{}: {error}", self.name)))
    }
}
