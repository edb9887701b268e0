//! `foreglow executor`: an executor process, started and driven by an engine.

use std::io::{BufReader, stdin, stdout};

use anyhow::Context as _;
use foreglow_networks::layer_times::Order;

/// Process partitions sent by an engine on standard input
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List the adapters that this process finds, and exit
    #[arg(long)]
    adapters: bool,

    /// Address of the accelerator that a cluster has assigned to this executor
    #[arg(long, value_name = "ADDRESS")]
    accelerator: Option<String>,
    /// Process ID of the engine; the executor exits with it
    #[arg(long, value_name = "PID")]
    engine: Option<u32>,

    /// Run the first mini-batch of the job on standard input through the CNN N times, and print the
    /// seconds
    #[arg(long, value_name = "N")]
    forward_passes: Option<u32>,

    /// Time layers as the JSON on standard input says, and print their times
    #[arg(long)]
    layer_times: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.adapters {
        return foreglow_console::output::print(&serde_json::to_string(&foreglow_cnn::device::probe())?);
    }
    foreglow_machine::allocator::keep_memory();
    if args.layer_times {
        let order: Order = serde_json::from_reader(stdin()).context("standard input does not hold an order")?;
        return foreglow_console::output::print(&serde_json::to_string(&order.measure()?)?);
    }
    if let Some(passes) = args.forward_passes {
        let job = serde_json::from_reader(stdin()).context("standard input does not hold a job")?;
        return foreglow_console::output::print(&format!(
            "{}\n",
            foreglow_executor::forward_passes_secs(&job, passes)?
        ));
    }
    if let Some(engine) = args.engine {
        foreglow_machine::bounds::die_with(engine)?;
    }
    foreglow_executor::serve(BufReader::new(stdin()), stdout(), args.accelerator.as_deref())
}
