//! `foreglow executor`: one executor process, started and driven by an engine.

use std::io::{BufReader, stdin, stdout};

use anyhow::Context as _;

/// Works through partitions that an engine sends on standard input
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only list the adapters that this process finds
    #[arg(long)]
    adapters: bool,

    /// Address of the accelerator that a cluster has assigned to this executor
    #[arg(long, value_name = "ADDRESS")]
    accelerator: Option<String>,
    /// Process number of the engine, with which the executor ends
    #[arg(long, value_name = "PID")]
    engine: Option<u32>,

    /// Only send the first mini-batch of the job on standard input through the CNN so many times, and print the seconds
    #[arg(long, value_name = "N")]
    forward_passes: Option<u32>,
}

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.adapters {
        return crate::output::print(&serde_json::to_string(&crate::device::probe())?);
    }
    crate::executor::keep_memory();
    if let Some(passes) = args.forward_passes {
        let job = serde_json::from_reader(stdin()).context("standard input is no job")?;
        return crate::output::print(&format!("{}\n", crate::executor::forward_passes_secs(&job, passes)?));
    }
    if let Some(engine) = args.engine {
        crate::executor::die_with(engine)?;
    }
    crate::executor::serve(BufReader::new(stdin()), stdout(), args.accelerator.as_deref())
}
