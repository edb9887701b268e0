//! `foreglow upload`: sends samples to a collector.

use std::path::PathBuf;

use serde_json::json;

use crate::answer::SCHEMA;
use crate::ask::read_files;
use crate::collector::Receipt;
use crate::output::{self, Format};
use crate::store::Store;
use crate::table::csv;
use crate::upload::{Target, all_accepted, summary};

/// Send samples to a collector. Samples that cannot be sent are kept for the next upload.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sample files, JSON Lines or CSV; `-` for standard input [default: the samples that wait]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Address of the collector, such as http://127.0.0.1:8787
    #[arg(long, value_name = "URL")]
    to: String,

    /// Store that keeps unsent samples [default: the store of `foreglow demo` and
    /// `foreglow collect`]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,

    /// Token of the collector
    #[arg(long, value_name = "TOKEN", env = "FOREGLOW_TOKEN", hide_env_values = true)]
    token: Option<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Sends the samples of the files and those that wait, and prints the result.
pub fn run(args: Args) -> anyhow::Result<()> {
    let target = Target::new(&args.to, args.token)?;
    let samples = read_files(&args.files)?;
    let mut store = Store::open(args.store.as_deref())?;
    let receipt = target.send(&mut store, &samples)?;
    output::print(&render(&receipt, &args.to, args.format))?;
    all_accepted(&receipt)
}

fn render(receipt: &Receipt, url: &str, format: Format) -> String {
    let Receipt { new, known, rejected, rejected_more } = receipt;
    match format {
        Format::Table => summary(receipt, url) + "\n",
        Format::Json => {
            let answer = json!({ "schema": SCHEMA, "new": new, "known": known, "rejected": rejected });
            format!("{answer:#}\n")
        }
        Format::Csv => {
            let rejected = rejected.len() + rejected_more;
            csv(&["new", "known", "rejected"], [vec![new.to_string(), known.to_string(), rejected.to_string()]])
        }
    }
}
