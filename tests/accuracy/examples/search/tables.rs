//! Public tables with a run of every configuration.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use foreglow_model::{Column, Features, Meaning, SearchTable};
use foreglow_shared::Catalog;

const SECS_PER_HOUR: f64 = 3600.0;
/// Numbers of processors of the candidates among TrimTuner's clusters, each twice the previous one:
/// 64 of the 96 configurations.
const TRIMTUNER_PROCESSORS: [f64; 4] = [8.0, 16.0, 32.0, 64.0];
/// Amazon's list prices per hour in us-east-1 of machine types that the catalog lacks.
const OLD_MACHINES: [(&str, f64); 2] = [("g3s.xlarge", 0.75), ("p2.xlarge", 0.90)];

/// Tables of the same configurations, each of another job.
pub struct Collection {
    name: &'static str,
    pub tables: Vec<Table>,
    /// Searches of each table, from different first runs.
    pub seeds: u64,
    /// Runs of a search.
    pub runs: usize,
}

/// Candidates with their times.
pub struct Table {
    pub search: SearchTable,
    pub secs: Vec<f64>,
}

impl Collection {
    pub fn title(&self) -> String {
        let configurations = self.tables.iter().map(|table| table.secs.len()).max().unwrap_or(0);
        let (name, seeds, runs) = (self.name, self.seeds, self.runs);
        format!(
            "{name}: {} tables of {configurations} configurations, {seeds} searches each, {runs} runs, median deadline",
            self.tables.len()
        )
    }
}

/// A row of a file: categories, numbers, price per hour and time.
struct TimedConfiguration {
    names: Vec<(&'static str, String)>,
    numbers: Vec<(&'static str, f64)>,
    hourly: f64,
    secs: f64,
}

pub fn collections(data: &Path) -> anyhow::Result<Vec<Collection>> {
    Ok(vec![
        Collection { name: "TrimTuner RNN", tables: trimtuner(data)?, seeds: 40, runs: 12 },
        Collection { name: "PROFET", tables: profet(data)?, seeds: 4, runs: 6 },
        Collection { name: "C3O sort", tables: sort(data)?, seeds: 40, runs: 6 },
    ])
}

/// Returns one table for each number of samples. A time is the median over the learning rates,
/// which do not affect it, because some single times are wrong (30 ms instead of seconds).
fn trimtuner(data: &Path) -> anyhow::Result<Vec<Table>> {
    let file = File::read(&data.join("trimtuner_rnn/samples.csv"), b',')?;
    let mut times: BTreeMap<[&str; 5], (TimedConfiguration, Vec<f64>)> = BTreeMap::new();
    for row in 0..file.rows.len() {
        let (processors, machines) = (file.number(row, "vcpu")?, file.number(row, "n_vms")?);
        if !TRIMTUNER_PROCESSORS.contains(&(processors * machines)) {
            continue;
        }
        let columns = ["train_samples", "vm", "n_vms", "batch", "sync"];
        let key = columns.map(|column| file.text(row, column).unwrap_or_default());
        let configuration = TimedConfiguration {
            names: vec![("mode", key[4].to_owned()), ("vm", key[1].to_owned())],
            numbers: vec![("machines", machines), ("processors", processors), ("batch", file.number(row, "batch")?)],
            hourly: file.number(row, "usd_per_h")? * machines,
            secs: 0.0,
        };
        let secs = file.number(row, "time_s")?;
        times.entry(key).or_insert_with(|| (configuration, Vec::new())).1.push(secs);
    }
    let mut tables: BTreeMap<&str, Vec<TimedConfiguration>> = BTreeMap::new();
    for (key, (configuration, secs)) in times {
        tables.entry(key[0]).or_default().push(TimedConfiguration { secs: crate::median(&secs), ..configuration });
    }
    tables.into_values().map(|rows| table(&rows, &["machines", "processors"])).collect()
}

/// Returns one table for each CNN and image size that has all 20 configurations: an epoch on four
/// GPU types with five batch sizes.
fn profet(data: &Path) -> anyhow::Result<Vec<Table>> {
    let file = File::read(&data.join("profet/samples.csv"), b',')?;
    let catalog = Catalog::built_in();
    let mut tables: BTreeMap<(String, String), Vec<TimedConfiguration>> = BTreeMap::new();
    for row in 0..file.rows.len() {
        let machine = file.text(row, "instance_name")?;
        let known = OLD_MACHINES.iter().find(|(name, _)| *name == machine).map(|(_, price)| *price);
        let hourly = known.map_or_else(|| catalog.find(machine).map(|machine| machine.hourly_price), Ok)?;
        tables.entry((file.text(row, "model")?.to_owned(), file.text(row, "pixels")?.to_owned())).or_default().push(
            TimedConfiguration {
                names: vec![("machine", machine.to_owned())],
                numbers: vec![("batch", file.number(row, "batchsize")?)],
                hourly,
                secs: file.number(row, "epoch_latency_s")?,
            },
        );
    }
    tables.into_values().filter(|rows| rows.len() == 20).map(|rows| table(&rows, &[])).collect()
}

/// Returns one table for each data size: three machine types in six numbers. A time is the median
/// of the repeats.
fn sort(data: &Path) -> anyhow::Result<Vec<Table>> {
    let file = File::read(&data.join("c3o/sort.tsv"), b'\t')?;
    let catalog = Catalog::built_in();
    let mut times: BTreeMap<(String, String, u32), Vec<f64>> = BTreeMap::new();
    for row in 0..file.rows.len() {
        let machines = file.number(row, "instance_count")? as u32;
        let key = (file.text(row, "data_size_MB")?.to_owned(), file.text(row, "machine_type")?.to_owned(), machines);
        times.entry(key).or_default().push(file.number(row, "gross_runtime")?);
    }
    let mut tables: BTreeMap<String, Vec<TimedConfiguration>> = BTreeMap::new();
    for ((size, machine, machines), secs) in times {
        tables.entry(size).or_default().push(TimedConfiguration {
            hourly: catalog.find(&machine)?.hourly_price * f64::from(machines),
            names: vec![("machine", machine)],
            numbers: vec![("machines", f64::from(machines))],
            secs: crate::median(&secs),
        });
    }
    tables.into_values().map(|rows| table(&rows, &["machines"])).collect()
}

fn table(rows: &[TimedConfiguration], workers: &[&str]) -> anyhow::Result<Table> {
    let first = rows.first().context("a table has rows")?;
    let numbers =
        first.numbers.iter().enumerate().map(|(place, (name, _))| {
            Column::numeric(*name, rows.iter().map(|row| row.numbers[place].1).collect(), None)
        });
    let names = first
        .names
        .iter()
        .enumerate()
        .map(|(place, (name, _))| Column::category(*name, rows.iter().map(|row| row.names[place].1.as_str())));
    let search = SearchTable {
        features: Features::new(numbers.chain(names).collect())?,
        prices: rows.iter().map(|row| row.hourly / SECS_PER_HOUR).collect(),
        known: workers.iter().map(|name| ((*name).to_owned(), Meaning::Workers)).collect(),
    };
    Ok(Table { search, secs: rows.iter().map(|row| row.secs).collect() })
}

/// A table of text cells.
struct File {
    columns: Vec<String>,
    rows: Vec<csv::StringRecord>,
}

impl File {
    fn read(path: &Path, delimiter: u8) -> anyhow::Result<Self> {
        let read = || -> csv::Result<Self> {
            let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_path(path)?;
            let columns = reader.headers()?.iter().map(str::to_owned).collect();
            Ok(Self { columns, rows: reader.records().collect::<csv::Result<_>>()? })
        };
        read().with_context(|| path.display().to_string())
    }

    fn text(&self, row: usize, column: &str) -> anyhow::Result<&str> {
        let place = self.columns.iter().position(|own| own == column);
        place.and_then(|place| self.rows[row].get(place)).with_context(|| format!("there is no column {column}"))
    }

    fn number(&self, row: usize, column: &str) -> anyhow::Result<f64> {
        let text = self.text(row, column)?;
        text.parse().with_context(|| format!("{column} is {text}"))
    }
}
