//! `foreglow scaling`: speed-up, efficiency and weak scaling on one machine type.

use std::collections::BTreeSet;
use std::sync::Arc;

use foreglow_console::answer::{ScalingAnswer, fit};
use foreglow_console::ask::Source;
use foreglow_console::grammar::{Counts, cores, executors};
use foreglow_console::outliers;
use foreglow_console::output::{self, Format};
use foreglow_console::question::Bill;
use foreglow_exit::unusable;
use foreglow_shared::{Context, Job, JobDefinition, Sample};

/// Tabulate speed-up, efficiency and cost by executors and cores on one machine type: for the same
/// images (strong scaling), and for images that grow with the slots (weak scaling).
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Machine type, if the samples have several: c5.xlarge
    #[arg(long, value_name = "NAME", help_heading = "Samples")]
    machine: Option<String>,

    /// Numbers of executors: 1-8 or 1,2,4 [default: 1 to the largest measured]
    #[arg(long, short = 'E', value_name = "LIST", help_heading = "Question", value_parser = executors, allow_negative_numbers = true)]
    executors: Option<Counts>,

    /// Numbers of cores per executor: 1-8 or 1,2,4 [default: 1 to the largest measured]
    #[arg(long, short = 'C', value_name = "LIST", help_heading = "Question", value_parser = cores, allow_negative_numbers = true)]
    cores: Option<Counts>,

    #[command(flatten)]
    bill: Bill,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

/// Prints the tables; fails if no time is known.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let samples = args.source.samples()?;
    let job = args.job(&samples)?;
    outliers::warn(&args.source, &samples, &JobDefinition::of(&job.context))?;
    let mut question = args.bill.about(&job)?;
    if let Some(Counts(executors)) = &args.executors {
        question.executors.clone_from(executors);
    }
    if let Some(Counts(cores)) = &args.cores {
        question.cores_per_executor.clone_from(cores);
    }
    let answer = ScalingAnswer::new(&job, &Arc::new(fit(&job)?), &question)?;
    output::print(&answer.render(args.format))
}

impl Args {
    /// Returns the job on the machine type. The number of `--context` counts the jobs of all types.
    fn job(&self, samples: &[Sample]) -> anyhow::Result<Job> {
        let Some(machine) = &self.machine else { return self.source.pick(samples) };
        let measured: BTreeSet<String> = samples.iter().map(|sample| Context::of(sample).machine_name()).collect();
        if !measured.contains(machine) {
            let measured = measured.into_iter().collect::<Vec<_>>().join(", ");
            return Err(unusable(format!("no sample ran on {machine}, but on {measured}; choose one of these")));
        }
        self.source.pick_among(samples, &|context| context.machine_name() == *machine)
    }
}
