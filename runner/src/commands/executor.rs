//! `foreglow executor`: one executor process, started and driven by an engine.

use std::io::{BufReader, stdin, stdout};

/// Works through partitions that an engine sends on standard input
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs it.
pub fn run(_args: Args) -> anyhow::Result<()> {
    crate::executor::serve(BufReader::new(stdin()), stdout())
}
