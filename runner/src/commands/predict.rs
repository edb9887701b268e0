//! `foreglow predict`: the completion time of one configuration.

use foreglow_model::Setting;

use crate::answer::{PredictionAnswer, fit};
use crate::ask::Source;
use crate::grammar;
use crate::output::{self, Format};
use crate::question::Bill;

/// Predict the completion time and the cost of the job on one configuration.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Number of executors
    #[arg(long, short = 'E', value_name = "E", help_heading = "Question", value_parser = grammar::one_executors, allow_negative_numbers = true)]
    executors: u32,

    /// Cores per executor
    #[arg(long, short = 'C', value_name = "C", help_heading = "Question", value_parser = grammar::one_cores, allow_negative_numbers = true)]
    cores: u32,

    /// Share of the images that the job processes, above 0 and at most 1
    #[arg(long, value_name = "SR", help_heading = "Question", default_value_t = 1.0, value_parser = grammar::rate, allow_negative_numbers = true)]
    sampling_rate: f64,

    #[command(flatten)]
    bill: Bill,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

/// Prints the prediction.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let job = args.source.job()?;
    let question = args.bill.about(&job)?;
    let setting =
        Setting { executors: args.executors, cores_per_executor: args.cores, sampling_rate: args.sampling_rate };
    let answer = PredictionAnswer::new(&job, &fit(&job)?, setting, &question);
    output::print(&answer.render(args.format))?;
    answer.check()
}
