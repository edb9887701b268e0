//! `foreglow serve`: the collector with the planner.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use foreglow_collector::store::Store;
use foreglow_collector::{Access, Collector};
use foreglow_shared::format_count;

use crate::output;

/// Default port of the collector, on the loopback address.
pub const DEFAULT_PORT: u16 = 8787;
const DEFAULT_LISTEN: &str = "127.0.0.1:8787";
/// URL of the planner at the default address.
pub const DEFAULT_PLANNER: &str = "http://127.0.0.1:8787/";

/// Collect samples over HTTP and serve the planner.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_LISTEN, value_parser = address)]
    listen: SocketAddr,

    /// Store for the samples [default: the user's store]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,

    /// Token that requests to the API must send
    #[arg(long, value_name = "TOKEN", env = "FOREGLOW_TOKEN", hide_env_values = true)]
    token: Option<String>,

    /// Allow other machines access without a token
    #[arg(long)]
    allow_open: bool,

    /// Check the structure of the store and the checksum of every sample, and exit
    #[arg(long)]
    check: bool,
}

/// Serves until the process is told to stop.
pub fn run(args: Args) -> anyhow::Result<()> {
    if args.check {
        return check(args.store.as_deref());
    }
    let access = Access { token: args.token.filter(|token| !token.is_empty()), open: args.allow_open };
    let collector = Collector::bind(args.listen, access)?;
    let store = Store::open(args.store.as_deref())?;
    eprintln!("The planner is at {} (Ctrl-C ends it); samples are kept in {}", collector.url(), store.path().display());
    collector.run(store)
}

/// Checks the store.
///
/// # Errors
/// It is damaged; the message says what is.
fn check(path: Option<&Path>) -> anyhow::Result<()> {
    let store = Store::open_existing(path)?;
    let findings = store.check()?;
    let shown = store.path().display();
    if findings.is_sound() {
        return output::print(&format!(
            "{} in {shown}: no damage\n",
            format_count(findings.samples as usize, "sample")
        ));
    }
    let structure = findings.structure.iter().map(|problem| format!("structure: {problem}"));
    let damaged =
        findings.damaged.iter().map(|(position, id)| format!("sample {position} ({id}) differs from what was stored"));
    output::print(&structure.chain(damaged).map(|line| line + "\n").collect::<String>())?;
    anyhow::bail!(
        "the store {shown} is damaged; restore it from a copy, or remove the damaged samples with `foreglow samples remove ID`"
    )
}

/// Parses the address of a planner, with a slash at its end.
pub fn planner(text: &str) -> Result<String, String> {
    let is_page = text.split(['#', '?']).next().unwrap_or_default().ends_with(".html");
    foreglow_collector::address::url(text).map(|url| if is_page { url } else { url + "/" })
}

/// Parses an address to listen on.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.replace("localhost:", "127.0.0.1:");
    text.parse().map_err(|_| "give an IP address and a port, such as 127.0.0.1:8787".to_owned())
}
