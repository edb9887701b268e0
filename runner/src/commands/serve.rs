//! `foreglow serve`: the collector with the planner.

use std::net::SocketAddr;
use std::path::PathBuf;

use foreglow_collector::store::Store;
use foreglow_collector::{Access, Collector};

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

    /// Store for the samples [default: the store of `foreglow demo`]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,

    /// Token that requests to the API must send
    #[arg(long, value_name = "TOKEN", env = "FOREGLOW_TOKEN", hide_env_values = true)]
    token: Option<String>,

    /// Allow other machines access without a token
    #[arg(long)]
    allow_open: bool,
}

/// Serves until the process is told to stop.
pub fn run(args: Args) -> anyhow::Result<()> {
    let access = Access { token: args.token.filter(|token| !token.is_empty()), open: args.allow_open };
    let collector = Collector::bind(args.listen, access)?;
    let store = Store::open(args.store.as_deref())?;
    eprintln!("The planner is at {} (Ctrl-C ends it); samples are kept in {}", collector.url(), store.path().display());
    collector.run(store)
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
