//! `foreglow serve`: the collector with the planner.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use foreglow_collector::{Access, AccessLog, Collector, Options, Tls};
use foreglow_console::grammar::duration_secs;
use foreglow_console::output;
use foreglow_exit::complain;
use foreglow_shared::format_count;
use foreglow_store::token;
use foreglow_store::{Location, Store};

/// Default port of the collector, on the loopback address.
pub const DEFAULT_PORT: u16 = 8787;
const DEFAULT_LISTEN: &str = "127.0.0.1:8787";
/// URL of the planner at the default address.
pub const DEFAULT_PLANNER: &str = "http://127.0.0.1:8787/";
/// URL of the planner in links: that of a hosted one if the build knows it, as that of a release.
pub const PLANNER_OF_LINKS: &str = match option_env!("FOREGLOW_HOSTED_PLANNER") {
    Some(url) if !url.is_empty() => url,
    _ => DEFAULT_PLANNER,
};

/// Version and commit.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("FOREGLOW_BUILD_COMMIT"), ")");

/// Collect samples over HTTP and serve the planner.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_LISTEN, value_parser = address)]
    listen: SocketAddr,

    /// Store for the samples, a file or postgres://USER@HOST/DATABASE, which several collectors may
    /// serve [default: the user's store]
    #[arg(long, value_name = "FILE|URL")]
    store: Option<Location>,

    /// Token that may do everything, besides the tokens of `foreglow tokens` [env: FOREGLOW_TOKEN]
    #[arg(long, value_name = "TOKEN", help_heading = "Access")]
    token: Option<String>,

    /// File with that token [env: FOREGLOW_TOKEN_FILE]
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    token_file: Option<PathBuf>,

    /// Allow other machines access without a token
    #[arg(long, help_heading = "Access")]
    allow_open: bool,

    /// Name under which browsers reach the collector, such as that of a proxy; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Access")]
    host: Vec<String>,

    /// Let pages of other sites open the planner and pass samples to it
    #[arg(long, help_heading = "Access")]
    hand_over: bool,

    /// Certificate chain for TLS, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "Access")]
    tls_cert: Option<PathBuf>,

    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Access")]
    tls_key: Option<PathBuf>,

    /// File for a line of JSON about each request; `-` for standard output
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    access_log: Option<PathBuf>,

    /// Remove the samples of runs that were submitted longer ago than this: 365d
    #[arg(long, value_name = "TIME", value_parser = duration_secs, allow_negative_numbers = true)]
    keep: Option<f64>,

    /// Check the structure of the store and the figures of its runs, and exit
    #[arg(long)]
    check: bool,
}

/// Serves until the process receives a signal to stop.
pub fn run(args: Args) -> anyhow::Result<()> {
    if args.check {
        return check(args.store.as_ref());
    }
    foreglow_machine::allocator::return_memory();
    let keep = args.keep.map(Duration::try_from_secs_f64).transpose()?;
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(Tls::read(certificate, key)?),
        _ => None,
    };
    let token = token::of_command(args.token, args.token_file.as_deref())?;
    let log = args.access_log.as_deref().map(AccessLog::start).transpose()?;
    let store = Store::open(args.store.as_ref())?;
    let access = Access { open: args.allow_open, hosts: args.host, ..Access::of_store(&store, token)? };
    if let Some(warning) = access.warning(args.listen, tls.is_some()) {
        complain(&warning);
    }
    let options = Options { version: VERSION.to_owned(), tls, log, keep, hand_over: args.hand_over };
    let collector = Collector::bind(args.listen, access)?.with(options);
    complain(&format!(
        "The planner is at {} (Ctrl-C ends it); samples are kept in {}",
        collector.url(),
        store.location()
    ));
    collector.run(store)
}

/// Checks the store.
///
/// # Errors
/// The store is damaged; the message names the damage.
fn check(location: Option<&Location>) -> anyhow::Result<()> {
    let store = Store::open_existing(location)?;
    let findings = store.check()?;
    let shown = store.location();
    if findings.is_sound() {
        return output::print(&format!(
            "{} in {shown}: no damage\n",
            format_count(findings.samples as usize, "sample")
        ));
    }
    output::print(&findings.lines().map(|line| format!("{line}\n")).collect::<String>())?;
    anyhow::bail!("the store {shown} is damaged; restore it from a copy")
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
