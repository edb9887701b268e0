//! `make bench-search`: replays searches for the cheapest configuration that meets a deadline on
//! public tables whose times are all known. Foreglow's search, CherryPick's and a random one start
//! from the same random first runs.

#![allow(clippy::print_stdout, reason = "the tables are its output")]

mod summary;
mod tables;

use std::path::PathBuf;

use anyhow::Context as _;
use foreglow_accuracy::{Chance, Places, Source};
use foreglow_model::{Replay, Strategy, replay};
use serde_json::{Value, json};

use self::summary::{HEADER, Summary};
use self::tables::{Collection, Table, collections};

/// Number of common random first runs of all searches of a seed.
const FIRST: usize = 3;

/// A strategy by name, made from a seed.
type Named = (&'static str, fn(u64) -> Strategy);

const STRATEGIES: [Named; 3] = [
    ("foreglow", |_| Strategy::Saving),
    ("CherryPick's expected improvement", |_| Strategy::ExpectedImprovement),
    ("random", Strategy::Random),
];

fn main() -> anyhow::Result<()> {
    let data = std::env::args().nth(1).map(PathBuf::from);
    let places = Places::new(data.as_deref());
    anyhow::ensure!(
        places.has(Source::Shared),
        "there is no data in {}; name its folder with DATA=FOLDER",
        places.data.display()
    );
    let mut entries: Vec<Value> = Vec::new();
    for collection in collections(&places.data)? {
        let results = STRATEGIES
            .map(|(name, strategy)| Ok((name, Summary::of(&searches(&collection, strategy)?))))
            .into_iter()
            .collect::<anyhow::Result<Vec<(&str, Summary)>>>()?;
        println!("{}\n\n{HEADER}", collection.title());
        for (name, summary) in &results {
            println!("{}", summary.row(name));
        }
        println!();
        entries.extend(comparisons(&collection, &results)?);
    }
    let folder = places.project.join("target/bench");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("search.json"), serde_json::to_string_pretty(&entries)? + "\n")?;
    Ok(())
}

/// Replays all searches of a strategy.
fn searches(collection: &Collection, strategy: fn(u64) -> Strategy) -> anyhow::Result<Vec<Replay>> {
    let half = collection.tables.len().div_ceil(2);
    let numbered: Vec<(u64, &Table)> = (0..).zip(&collection.tables).collect();
    // Two threads, because most machines that run this have two cores.
    let parts = std::thread::scope(|scope| {
        let threads: Vec<_> = numbered
            .chunks(half)
            .map(|tables| {
                scope.spawn(move || tables.iter().map(|table| searches_of(collection, *table, strategy)).collect())
            })
            .collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    let mut outcomes = Vec::new();
    for part in parts {
        let part: Vec<anyhow::Result<Vec<Replay>>> = part.map_err(|_| anyhow::anyhow!("a search panicked"))?;
        for searches in part {
            outcomes.extend(searches?);
        }
    }
    Ok(outcomes)
}

fn searches_of(
    collection: &Collection,
    (number, table): (u64, &Table),
    strategy: fn(u64) -> Strategy,
) -> anyhow::Result<Vec<Replay>> {
    let deadline = median(&table.secs);
    let one = |seed: u64| {
        let first = Chance::new(&[11, number * collection.seeds + seed]).places(table.secs.len(), FIRST);
        Ok(replay(&table.search, &table.secs, deadline, strategy(seed), &first, collection.runs)?)
    };
    (0..collection.seeds).map(one).collect()
}

/// Returns the entries of a collection for `target/bench/search.json`.
fn comparisons(collection: &Collection, results: &[(&str, Summary)]) -> anyhow::Result<Vec<Value>> {
    let (ours, others) = results.split_first().context("there is a search")?;
    let percent = |share: f64| 100.0 * share;
    let entry = |(peer_name, theirs): &(&str, Summary)| {
        let name = |what: &str| format!("{what}, {}", collection.title());
        let line = |what: &str, ours: f64, peer: f64, ratio: f64| {
            json!({
                "name": name(what), "unit": "%", "ours": percent(ours),
                "peer_name": peer_name, "peer": percent(peer), "ratio": ratio,
            })
        };
        let ours = &ours.1;
        [
            line("mean regret", ours.regret, theirs.regret, theirs.regret / ours.regret),
            line("searches within 10 % of the optimum", ours.good, theirs.good, ours.good / theirs.good),
            line(
                "searches that meet the deadline",
                1.0 - ours.missed,
                1.0 - theirs.missed,
                (1.0 - ours.missed) / (1.0 - theirs.missed),
            ),
        ]
    };
    Ok(others.iter().flat_map(entry).collect())
}

fn median(secs: &[f64]) -> f64 {
    let mut secs = secs.to_vec();
    secs.sort_by(f64::total_cmp);
    secs[secs.len() / 2]
}
