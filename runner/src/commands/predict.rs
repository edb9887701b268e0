//! `foreglow predict`: the completion time of one configuration.

use std::collections::BTreeSet;

use foreglow_console::answer::{PredictionAnswer, fit};
use foreglow_console::ask::Source;
use foreglow_console::grammar;
use foreglow_console::outliers;
use foreglow_console::output::{self, Format};
use foreglow_console::question::Bill;
use foreglow_console::split::TotalCores;
use foreglow_exit::unusable;
use foreglow_model::Setting;
use foreglow_networks::never_run::{Differences, NeverRun, never_run};
use foreglow_shared::{Context, Job, JobDefinition, Sample, Workload, measured_jobs};

/// Predict the completion time and the cost of the job on one configuration. A CNN that was never
/// run here is predicted from the others in the samples: --model vgg16 or --model net.onnx.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("size").required(true).args(["cores", "total_cores"])))]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Number of executors
    #[arg(long, short = 'E', value_name = "E", help_heading = "Question", value_parser = grammar::one_executors, allow_negative_numbers = true)]
    executors: u32,

    /// Cores per executor
    #[arg(long, short = 'C', value_name = "C", help_heading = "Question", value_parser = grammar::one_cores, allow_negative_numbers = true)]
    cores: Option<u32>,

    #[command(flatten, next_help_heading = "Question")]
    total: TotalCores,

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

/// The job of a CNN that was never run, or which of the measured jobs is meant.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "A CNN that was never run, or one of several measured jobs")]
struct NeverRunArgs {
    /// Side of its square input, pixels [default: that of the other CNNs]
    #[arg(long, value_name = "PX", value_parser = grammar::count, allow_negative_numbers = true)]
    image_px: Option<u32>,

    /// Images per mini-batch [default: those of the other CNNs]
    #[arg(long, value_name = "N", value_parser = grammar::count, allow_negative_numbers = true)]
    batch_size: Option<u32>,

    /// Images of the job [default: those of the other CNNs]
    #[arg(long, value_name = "N", value_parser = grammar::large_count, allow_negative_numbers = true)]
    images: Option<u64>,
}

/// Prints the prediction.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let samples = args.source.samples()?;
    let NeverRunArgs { image_px, batch_size, images } = args.never_run;
    let never_run = never_run(&args.source, &samples, Differences { image_px, batch_size, images, epochs: None })?;
    let (job, predictor, basis) = match never_run {
        Some(NeverRun { basis, .. }) if args.partition_size.is_some() => {
            return Err(basis.needs_runs("--partition-size"));
        }
        Some(NeverRun { job, predictor, basis }) => (job, predictor, Some(basis)),
        None => {
            let job = args.measured(&samples)?;
            let predictor = fit(&job)?;
            let predictor = match args.partition_size {
                Some(size) => predictor.with_partition_size(&job, size).map_err(|error| unusable(error.to_string()))?,
                None => predictor,
            };
            (job, predictor, None)
        }
    };
    let question = args.bill.about(&job)?;
    let split = args.total.split(args.executors, args.cores.unwrap_or(1), job.context.workload.mode)?;
    let setting = Setting::at(split, args.sampling_rate);
    let answer = PredictionAnswer::new(&job, &predictor, setting, &question, args.partition_size).based_on(basis);
    output::print(&answer.render(args.format))?;
    answer.check()?;
    outliers::warn(&args.source, &samples, &JobDefinition::of(&job.context))
}

/// A number of a workload that an option asks for.
type Value = fn(&Workload) -> u64;

impl Args {
    /// Returns the selected job. The number of `--context` counts all jobs of the samples.
    fn measured(&self, samples: &[Sample]) -> anyhow::Result<Job> {
        let NeverRunArgs { image_px, batch_size, images } = self.never_run;
        let (executors, asked) = (self.executors, images.unwrap_or_default());
        let cores = self.total.option(self.cores.unwrap_or(1));
        let by_layers = match self.source.model {
            Some(_) => "",
            None => "; with --model NAME other values are predicted from the costs of the layers",
        };
        let job = self.source.context.map_or_else(String::new, |number| format!("--context {number} "));
        let plan = format!("; `foreglow plan {job}--images {asked} --executors {executors} {cores}` predicts others");
        let (size, batch): (Value, Value) = (|work| work.image_px.into(), |work| work.batch_size.into());
        let number: Value = |work| work.images;
        let asked = [
            ("--image-px", image_px.map(u64::from), size, by_layers),
            ("--batch-size", batch_size.map(u64::from), batch, by_layers),
            ("--images", images, number, &plan),
        ];
        let mut jobs = measured_jobs(samples);
        jobs.retain(|(number, _)| self.source.context.is_none_or(|wanted| wanted == *number));
        for (option, asked, value, advice) in asked {
            let Some(asked) = asked else { continue };
            let measured: BTreeSet<u64> = jobs.iter().map(|(_, job)| value(&job.context.workload)).collect();
            jobs.retain(|(_, job)| value(&job.context.workload) == asked);
            if jobs.is_empty() && !measured.is_empty() {
                let of = self.source.context.map_or_else(String::new, |number| format!(" of job {number}"));
                let measured = measured.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
                return Err(unusable(format!("no sample{of} has {option} {asked}, but {measured}{advice}")));
            }
        }
        let is_asked = |context: &Context| {
            asked.iter().all(|(_, asked, value, _)| asked.is_none_or(|asked| asked == value(&context.workload)))
        };
        self.source.pick_among(samples, &is_asked)
    }
}
