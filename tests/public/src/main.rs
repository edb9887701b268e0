//! Makes the tables of public measurements, and measures the errors of their fit on held-out ones.

mod prepare;
mod protocol;
mod score;
mod table;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_public::Measurements;

const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../model/public/data");
/// Where the page finds the packed tables.
const ASSETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/assets");
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/reference.csv");
const FIGURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/public-accuracy.json");

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let task = arguments.next().unwrap_or_default();
    if task == "pack" {
        return table::pack(&Measurements::built_in(), Path::new(ASSETS));
    }
    let data = PathBuf::from(arguments.next().context("give a task and the folder of the public data sets")?);
    let prepared = prepare::prepare(&data.join("public"))?;
    if task == "table" {
        return table::write(&prepared, Path::new(TABLES));
    }
    let figures = protocol::measure(&prepared)?;
    std::io::stdout().write_all(score::table(&figures).as_bytes())?;
    let json: Vec<_> = figures.iter().map(score::Figures::json).collect();
    std::fs::write(FIGURES, serde_json::to_string_pretty(&json)? + "\n")?;
    match task.as_str() {
        "accuracy" => Ok(()),
        "check" => score::check(&figures, Path::new(REFERENCE)),
        "reference" => score::write_reference(&figures, Path::new(REFERENCE)),
        _ => anyhow::bail!("the task is {task:?}; give pack, table, accuracy, check or reference"),
    }
}
