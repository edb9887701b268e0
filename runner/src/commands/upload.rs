//! `foreglow upload`: sends samples to a collector.

use std::path::PathBuf;

use foreglow_collector::Receipt;
use foreglow_collector::address::url;
use foreglow_collector::store::{Filter, Store};
use foreglow_collector::upload::{Target, all_accepted, summary};
use foreglow_exit::unusable;
use serde_json::json;

use crate::answer::SCHEMA;
use crate::ask::read_files;
use crate::output::{self, Format};
use crate::table::{Align, csv, table};

/// Send samples to a collector. Samples that cannot be sent are kept for the next upload.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sample files, JSON Lines or CSV; `-` for standard input [default: the samples that wait]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Address of the collector, such as http://127.0.0.1:8787
    #[arg(long, value_name = "URL", required_unless_present_any = ["waiting", "discard"])]
    to: Option<String>,

    /// Send every sample of the store
    #[arg(long, requires = "to", conflicts_with = "files")]
    all: bool,

    /// Also send the samples that wait for the collector at this address, such as a mistyped one
    #[arg(long, value_name = "URL", requires = "to")]
    instead_of: Option<String>,

    /// List the collectors that samples wait for, and exit
    #[arg(long, conflicts_with_all = ["files", "to", "discard"])]
    waiting: bool,

    /// Discard the samples that wait for the collector at this address, and exit
    #[arg(long, value_name = "URL", conflicts_with_all = ["files", "to"])]
    discard: Option<String>,

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
    let mut store = Store::open(args.store.as_deref())?;
    if let Some(address) = &args.discard {
        let address = known(&store, address)?;
        let count = store.discard(&address)?;
        eprintln!("{count} samples that waited for {address} are discarded");
        return Ok(());
    }
    // Clap asks for --to unless one of the other two is given.
    let Some(to) = &args.to else { return output::print(&waiting(&store.waiting()?, args.format)) };
    let target = Target::new(to, args.token)?;
    if let Some(address) = &args.instead_of {
        let address = known(&store, address)?;
        store.redirect(&address, target.url())?;
    }
    let samples = if args.all { store.samples(&Filter::default())? } else { read_files(&args.files)? };
    let receipt = target.send(&mut store, &samples)?;
    output::print(&render(&receipt, target.url(), args.format))?;
    all_accepted(&receipt)
}

/// Returns the address as stored.
///
/// # Errors
/// No sample waits for it.
fn known(store: &Store, address: &str) -> anyhow::Result<String> {
    let waiting = store.waiting()?;
    // Addresses from earlier versions are stored as they were written.
    let written = [address.trim().to_owned(), url(address).unwrap_or_default()];
    waiting.into_iter().map(|(url, _)| url).find(|url| written.contains(url)).ok_or_else(|| {
        unusable(format!("no samples wait for {address}; `foreglow upload --waiting` lists the collectors"))
    })
}

fn waiting(collectors: &[(String, u64)], format: Format) -> String {
    match format {
        Format::Table if collectors.is_empty() => "no samples wait for a collector\n".to_owned(),
        Format::Table => {
            let rows = collectors.iter().map(|(url, count)| vec![url.clone(), count.to_string()]);
            table(&[("collector", Align::Left), ("samples that wait", Align::Right)], rows)
        }
        Format::Json => {
            let waiting: Vec<_> =
                collectors.iter().map(|(url, count)| json!({ "collector": url, "samples": count })).collect();
            format!("{:#}\n", json!({ "schema": SCHEMA, "waiting": waiting }))
        }
        Format::Csv => {
            csv(&["collector", "samples"], collectors.iter().map(|(url, count)| vec![url.clone(), count.to_string()]))
        }
    }
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
