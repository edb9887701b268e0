//! `make bench-search`: replays searches for the cheapest configuration on TrimTuner's table, whose
//! times are all known. Foreglow's search runs beside CherryPick's and a random one, from the same
//! first runs.

#![allow(clippy::print_stdout, reason = "the table is its output")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_accuracy::Places;
use foreglow_model::{Column, Features, Meaning, Replay, SearchTable, Strategy, replay};
use serde_json::json;

/// Runs of a search, the first of which are random.
const PROBES: usize = 12;
const FIRST: usize = 3;
/// Searches of each table, from different first runs.
const SEEDS: u64 = 5;
/// A result within this share of the optimum is good.
const GOOD: f64 = 0.1;

/// A configuration with its time.
struct Row {
    vm: String,
    processors: f64,
    machines: f64,
    batch: f64,
    mode: String,
    price: f64,
    secs: f64,
}

/// A strategy by name, made from a seed.
type Named = (&'static str, fn(u64) -> Strategy);

fn main() -> anyhow::Result<()> {
    let data = std::env::args().nth(1).map(PathBuf::from);
    let places = Places::new(data.as_deref());
    anyhow::ensure!(
        places.has_data(),
        "there is no data in {}; name its folder with DATA=FOLDER",
        places.data.display()
    );
    let tables = tables(&places.data)?;
    let strategies: [Named; 3] = [
        ("foreglow", |_| Strategy::Saving),
        ("CherryPick's expected improvement", |_| Strategy::ExpectedImprovement),
        ("random", Strategy::Random),
    ];
    let mut results: Vec<(&str, Summary)> = Vec::new();
    for (name, strategy) in strategies {
        let mut outcomes: Vec<Replay> = Vec::new();
        for (number, rows) in tables.iter().enumerate() {
            let (table, secs) = search_table(rows)?;
            let deadline = median(&secs);
            for seed in 0..SEEDS {
                let first = first_runs(number as u64 * SEEDS + seed, table.len());
                outcomes.push(replay(&table, &secs, deadline, strategy(seed), &first, PROBES)?);
            }
        }
        results.push((name, Summary::of(&outcomes)));
    }
    println!(
        "{} tables of {} configurations, {} searches each, {PROBES} runs, median deadline",
        tables.len(),
        tables[0].len(),
        SEEDS
    );
    println!(
        "| search | mean regret | within 10 % of the optimum | no run in time | money spent ÷ optimum | stops by itself after |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for (name, summary) in &results {
        println!("{}", summary.row(name));
    }
    let (ours, others) = results.split_first().context("there is a search")?;
    let entries = others.iter().map(|(name, theirs)| {
        json!({
            "name": "mean regret after 12 runs, TrimTuner RNN, median deadline",
            "unit": "%",
            "ours": 100.0 * ours.1.regret,
            "peer_name": name,
            "peer": 100.0 * theirs.regret,
            "ratio": theirs.regret / ours.1.regret,
        })
    });
    let folder = places.project.join("target/bench");
    std::fs::create_dir_all(&folder)?;
    let text = serde_json::to_string_pretty(&entries.collect::<Vec<_>>())?;
    std::fs::write(folder.join("search.json"), text + "\n")?;
    Ok(())
}

/// What all searches of one strategy came to.
struct Summary {
    /// Mean of those that found a configuration in time.
    regret: f64,
    good: f64,
    missed: f64,
    spent: f64,
    stopped: f64,
}

impl Summary {
    fn of(outcomes: &[Replay]) -> Self {
        let count = outcomes.len() as f64;
        let share = |holds: &dyn Fn(&Replay) -> bool| outcomes.iter().filter(|one| holds(one)).count() as f64 / count;
        let regrets: Vec<f64> = outcomes.iter().filter_map(|one| one.regret).collect();
        let stops = outcomes.iter().map(|one| one.stopped_after.unwrap_or(one.probes) as f64);
        Self {
            regret: regrets.iter().sum::<f64>() / regrets.len() as f64,
            good: share(&|one| one.regret.is_some_and(|regret| regret <= GOOD)),
            missed: share(&|one| one.regret.is_none()),
            spent: outcomes.iter().map(|one| one.spent).sum::<f64>() / count,
            stopped: stops.sum::<f64>() / count,
        }
    }

    fn row(&self, name: &str) -> String {
        let Self { regret, good, missed, spent, stopped } = self;
        format!(
            "| {name} | {:.1} % | {:.0} % | {:.1} % | {spent:.1} | {stopped:.1} runs |",
            100.0 * regret,
            100.0 * good,
            100.0 * missed
        )
    }
}

/// Returns one table for each learning rate and number of samples.
fn tables(data: &Path) -> anyhow::Result<Vec<Vec<Row>>> {
    let path = data.join("trimtuner_rnn/samples.csv");
    let mut reader = csv::Reader::from_path(&path).with_context(|| path.display().to_string())?;
    let headers = reader.headers()?.clone();
    let place =
        |name: &str| headers.iter().position(|header| header == name).with_context(|| format!("no column {name}"));
    let columns = ["vm", "vcpu", "n_vms", "batch", "sync", "usd_per_h", "time_s", "learning_rate", "train_samples"]
        .map(place)
        .into_iter()
        .collect::<anyhow::Result<Vec<usize>>>()?;
    let mut tables: BTreeMap<(String, String), Vec<Row>> = BTreeMap::new();
    for record in reader.records() {
        let record = record?;
        let text = |column: usize| record.get(columns[column]).unwrap_or_default().to_owned();
        let number = |column: usize| text(column).parse::<f64>().with_context(|| text(column));
        let row = Row {
            vm: text(0),
            processors: number(1)?,
            machines: number(2)?,
            batch: number(3)?,
            mode: text(4),
            price: number(5)? * number(2)? / 3600.0,
            secs: number(6)?,
        };
        tables.entry((text(7), text(8))).or_default().push(row);
    }
    Ok(tables.into_values().collect())
}

fn search_table(rows: &[Row]) -> anyhow::Result<(SearchTable, Vec<f64>)> {
    let number = |name: &str, of: fn(&Row) -> f64| Column::numeric(name, rows.iter().map(of).collect(), None);
    let features = Features::new(vec![
        number("machines", |row| row.machines),
        number("processors", |row| row.processors),
        number("batch", |row| row.batch),
        Column::category("mode", rows.iter().map(|row| row.mode.as_str())),
        Column::category("vm", rows.iter().map(|row| row.vm.as_str())),
    ])?;
    let known = ["machines", "processors"].map(|name| (name.to_owned(), Meaning::Workers)).to_vec();
    let table = SearchTable { features, prices: rows.iter().map(|row| row.price).collect(), known };
    Ok((table, rows.iter().map(|row| row.secs).collect()))
}

fn median(secs: &[f64]) -> f64 {
    let mut secs = secs.to_vec();
    secs.sort_by(f64::total_cmp);
    secs[secs.len() / 2]
}

/// Draws the first runs, which all strategies share.
fn first_runs(seed: u64, of: usize) -> Vec<usize> {
    let mut chance = foreglow_accuracy::Chance::new(&[11, seed]);
    chance.places(of, FIRST)
}
