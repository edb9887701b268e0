//! `foreglow predict`: the completion time of one configuration.

use foreglow_console::answer::{PredictionAnswer, fit};
use foreglow_console::ask::Source;
use foreglow_console::grammar;
use foreglow_console::output::{self, Format};
use foreglow_console::question::Bill;
use foreglow_exit::unusable;
use foreglow_model::Setting;
use foreglow_shared::Sample;

use crate::never_run::{Differences, NeverRun, never_run};

/// Predict the completion time and the cost of the job on one configuration. A CNN that was never
/// run here is predicted from the others in the samples: --model vgg16 or --model net.onnx.
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

    /// Images of one task [default: those of most runs]
    #[arg(long, value_name = "P", help_heading = "Question", value_parser = grammar::count, allow_negative_numbers = true)]
    partition_size: Option<u32>,

    #[command(flatten)]
    never_run: NeverRunArgs,

    #[command(flatten)]
    bill: Bill,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

/// The job of a CNN that was never run.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "A CNN that was never run")]
struct NeverRunArgs {
    /// Side of its square input, pixels [default: that of the other CNNs]
    #[arg(long, value_name = "PX", requires = "model", value_parser = grammar::count, allow_negative_numbers = true)]
    image_px: Option<u32>,

    /// Images per mini-batch [default: those of the other CNNs]
    #[arg(long, value_name = "N", requires = "model", value_parser = grammar::count, allow_negative_numbers = true)]
    batch_size: Option<u32>,

    /// Images of the job [default: those of the other CNNs]
    #[arg(long, value_name = "N", requires = "model", value_parser = grammar::large_count, allow_negative_numbers = true)]
    images: Option<u64>,
}

/// Prints the prediction.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let samples = args.source.samples()?;
    let NeverRunArgs { image_px, batch_size, images } = args.never_run;
    let never_run = never_run(&args.source, &samples, Differences { image_px, batch_size, images, epochs: None })?;
    let (job, predictor, basis) = match never_run {
        Some(NeverRun { basis, .. }) if args.partition_size.is_some() => {
            return Err(unusable(format!("{} --partition-size needs runs of it; leave it out", basis.describe())));
        }
        Some(NeverRun { job, predictor, basis }) => (job, predictor, Some(basis)),
        None => {
            let alike = |sample: &Sample| {
                let workload = &sample.workload;
                image_px.is_none_or(|px| px == workload.image_px)
                    && batch_size.is_none_or(|size| size == workload.batch_size)
                    && images.is_none_or(|images| images == workload.images)
            };
            let samples: Vec<Sample> = samples.into_iter().filter(alike).collect();
            let job = args.source.pick(&samples)?;
            let predictor = fit(&job)?;
            let predictor = match args.partition_size {
                Some(size) => predictor.with_partition_size(&job, size).map_err(|error| unusable(error.to_string()))?,
                None => predictor,
            };
            (job, predictor, None)
        }
    };
    let question = args.bill.about(&job)?;
    let setting =
        Setting { executors: args.executors, cores_per_executor: args.cores, sampling_rate: args.sampling_rate };
    let answer = PredictionAnswer::new(&job, &predictor, setting, &question, args.partition_size).based_on(basis);
    output::print(&answer.render(args.format))?;
    answer.check()
}
