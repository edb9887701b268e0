//! `foreglow upload`: sends samples to a collector.

use std::path::PathBuf;

use foreglow_collector::Receipt;
use foreglow_collector::address::url;
use foreglow_collector::upload::{Target, all_accepted, summary};
use foreglow_console::answer::SCHEMA;
use foreglow_console::ask::read_files;
use foreglow_console::output::{self, Format};
use foreglow_console::progress::note;
use foreglow_console::table::{aligned, csv, table};
use foreglow_exit::unusable;
use foreglow_shared::format_count;
use foreglow_store::token;
use foreglow_store::{Filter, Location, Rejected, Store, Waiting};
use serde_json::json;

/// Send samples to a collector. Samples that cannot be sent are kept for the next upload.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sample files, JSON Lines or CSV; `-` for standard input [default: the samples that wait]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Address of the collector, such as http://127.0.0.1:8787
    #[arg(long, value_name = "URL", required_unless_present_any = ["waiting", "rejected", "discard", "discard_rejected"])]
    to: Option<String>,

    /// Send every sample of the store
    #[arg(long, requires = "to", conflicts_with = "files")]
    all: bool,

    /// Also send the samples that wait for the collector at this address, such as a mistyped one
    #[arg(long, value_name = "URL", requires = "to")]
    instead_of: Option<String>,

    /// Also send the samples that the collector rejected before, such as after its upgrade
    #[arg(long, requires = "to")]
    again: bool,

    /// List the collectors that samples are kept for, and exit
    #[arg(long, conflicts_with_all = ["files", "to", "rejected", "discard", "discard_rejected"])]
    waiting: bool,

    /// List the samples that collectors rejected, with the reasons, and exit
    #[arg(long, conflicts_with_all = ["files", "to", "discard", "discard_rejected"])]
    rejected: bool,

    /// Discard the samples that are kept for the collector at this address, and exit
    #[arg(long, value_name = "URL", conflicts_with_all = ["files", "to", "discard_rejected"])]
    discard: Option<String>,

    /// Discard the samples that the collector at this address rejected, and exit
    #[arg(long, value_name = "URL", conflicts_with_all = ["files", "to"])]
    discard_rejected: Option<String>,

    /// Store that keeps unsent samples [default: the user's store]
    #[arg(long, value_name = "FILE|URL")]
    store: Option<Location>,

    /// Token of the collector [env: FOREGLOW_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,

    /// File with the token of the collector [env: FOREGLOW_TOKEN_FILE]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Sends the samples of the files and the queued ones, and prints the result.
pub fn run(args: Args) -> anyhow::Result<()> {
    let mut store = Store::open(args.store.as_ref())?;
    if let Some(address) = args.discard.as_ref().or(args.discard_rejected.as_ref()) {
        let address = known(&store, address)?;
        let only_rejected = args.discard.is_none();
        let count = store.discard(&address, only_rejected)?;
        let which = if only_rejected { "that it rejected" } else { "that waited" };
        note(&format!("discarded {} {which} for {address}", format_count(count, "sample")));
        return Ok(());
    }
    if args.rejected {
        return output::print(&rejected(&store.rejected()?, args.format));
    }
    // Clap requires --to unless one of these options is given.
    let Some(to) = &args.to else { return output::print(&waiting(&store.waiting()?, args.format)) };
    let target = Target::new(to, token::of_command(args.token, args.token_file.as_deref())?)?;
    if let Some(address) = &args.instead_of {
        let address = known(&store, address)?;
        store.redirect(&address, target.url())?;
    }
    let samples = if args.all { store.samples(&Filter::default())? } else { read_files(&args.files)? };
    if args.all && samples.is_empty() {
        return Err(unusable(format!("the store {} holds no samples to send", store.location())));
    }
    if args.again {
        store.send_again(target.url())?;
    }
    let receipt = target.send(&mut store, &samples)?;
    output::print(&render(&receipt, target.url(), args.format))?;
    all_accepted(&receipt, target.url())
}

/// Returns the address in its stored form.
///
/// # Errors
/// No sample waits for it.
fn known(store: &Store, address: &str) -> anyhow::Result<String> {
    let waiting = store.waiting()?;
    // Earlier versions stored addresses as the user wrote them.
    let written = [address.trim().to_owned(), url(address).unwrap_or_default()];
    waiting.into_iter().map(|kept| kept.collector).find(|url| written.contains(url)).ok_or_else(|| {
        unusable(format!("no samples wait for {address}; `foreglow upload --waiting` lists the collectors"))
    })
}

fn waiting(collectors: &[Waiting], format: Format) -> String {
    let row = |Waiting { collector, waiting, rejected }: &Waiting| json!({ "collector": collector, "samples": waiting, "rejected": rejected });
    let rows: Vec<_> = collectors.iter().map(row).collect();
    format.list("waiting", &rows, "collector,samples,rejected", || {
        if collectors.is_empty() {
            return "no samples wait for a collector\n".to_owned();
        }
        let cells = |kept: &Waiting| vec![kept.collector.clone(), kept.waiting.to_string(), kept.rejected.to_string()];
        table(&aligned(["<collector", "samples that wait", "rejected"]), collectors.iter().map(cells))
    })
}

fn rejected(samples: &[Rejected], format: Format) -> String {
    let row =
        |Rejected { collector, id, reason }: &Rejected| json!({ "id": id, "collector": collector, "reason": reason });
    let rows: Vec<_> = samples.iter().map(row).collect();
    format.list("rejected", &rows, "id,collector,reason", || {
        if samples.is_empty() {
            return "no samples were rejected\n".to_owned();
        }
        let cells = |sample: &Rejected| vec![sample.id.clone(), sample.collector.clone(), sample.reason.clone()];
        table(&aligned(["<id", "<collector", "<reason"]), samples.iter().map(cells))
    })
}

fn render(receipt: &Receipt, url: &str, format: Format) -> String {
    let Receipt { new, known, rejected, conflicts, .. } = receipt;
    match format {
        Format::Table => summary(receipt, url) + "\n",
        Format::Json => {
            let mut answer = json!({ "schema": SCHEMA, "new": new, "known": known, "rejected": rejected });
            if !conflicts.is_empty() {
                answer["conflicts"] = json!(conflicts);
            }
            format!("{answer:#}\n")
        }
        Format::Csv => {
            let rejected = receipt.not_stored();
            csv("new,known,rejected", [vec![new.to_string(), known.to_string(), rejected.to_string()]])
        }
    }
}
