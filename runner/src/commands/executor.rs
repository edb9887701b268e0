//! `foreglow executor`: one executor process, started and driven by an engine.

use std::io::{BufReader, stdin, stdout};

/// Works through partitions that an engine sends on standard input
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only list the adapters that this process finds
    #[arg(long)]
    adapters: bool,

    /// Address of the accelerator that a cluster has assigned to this executor
    #[arg(long, value_name = "ADDRESS")]
    accelerator: Option<String>,
}

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.adapters {
        return crate::output::print(&serde_json::to_string(&crate::device::probe())?);
    }
    crate::executor::serve(BufReader::new(stdin()), stdout(), args.accelerator.as_deref())
}
