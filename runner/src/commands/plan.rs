//! `foreglow plan`: the cheapest configuration that meets the deadline, over all machine types that
//! were measured.

use foreglow_console::answer::PlanAnswer;
use foreglow_console::ask::{Source, alone};
use foreglow_console::compare::MachineArgs;
use foreglow_console::grammar::{Counts, count};
use foreglow_console::output::{self, Format};
use foreglow_console::question::QuestionArgs;
use foreglow_console::split::TotalsOfCores;
use foreglow_exit::unusable;
use foreglow_model::{JointPredictor, PublicJob};
use foreglow_networks::never_run::{Differences, NeverRun, never_run};
use foreglow_networks::public::{PublicArgs, is_network, public_job, unknown_word};
use foreglow_shared::Context;

/// Find the cheapest configuration that meets a deadline, or the fastest within a budget, and
/// compare all others: executors and cores, and machine types, batch and partition sizes if the
/// samples have several. A CNN that was never run here is predicted from the others in the
/// samples: --model vgg16 or --model net.onnx. Without samples, name a network in their place, such
/// as `plan resnet50 --images 1000000`: public measurements of the runs of others predict it on the
/// GPUs of the catalog.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    question: QuestionArgs,

    #[command(flatten, next_help_heading = "Question")]
    totals: TotalsOfCores,

    #[command(flatten)]
    machines: MachineArgs,

    #[command(flatten)]
    public: PublicArgs,

    /// Side of the square input of a CNN that was never run here, pixels [default: that of the
    /// other CNNs]
    #[arg(long, value_name = "PX", help_heading = "Question", value_parser = count, allow_negative_numbers = true)]
    image_px: Option<u32>,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

impl Args {
    /// Returns the network that takes the place of the samples.
    fn network_without_samples(&self) -> Option<&str> {
        let [word] = self.source.files.as_slice() else { return None };
        word.to_str().filter(|word| is_network(word))
    }

    /// Returns the differences of a job of a CNN that was never run.
    fn differences(&self) -> Differences {
        let MachineArgs { batch_size, images, epochs, .. } = &self.machines;
        // Several batch sizes are compared, which needs runs of the CNN itself.
        let batch_size = match batch_size.as_ref().map(|Counts(sizes)| sizes.as_slice()) {
            Some(&[size]) => Some(size),
            _ => None,
        };
        Differences { image_px: self.image_px, batch_size, images: *images, epochs: *epochs }
    }
}

/// Prints the plan; fails if no configuration meets the limits.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let answer = answer(args)?;
    output::print(&answer.render(args.format))?;
    answer.check()
}

fn answer(args: &Args) -> anyhow::Result<PlanAnswer> {
    if let [word] = args.source.files.as_slice()
        && let Some(error) = word.to_str().and_then(unknown_word)
    {
        return Err(error);
    }
    if let Some(name) = args.network_without_samples() {
        return without_samples(args, name);
    }
    if let Some(option) = args.public.given() {
        return Err(unusable(format!(
            "{option} is for a job without samples; name a network in their place, such as `foreglow plan resnet50`"
        )));
    }
    if args.image_px.is_some() && args.source.model.is_none() {
        return Err(unusable("--image-px is for a CNN that was never run here; name it with --model"));
    }
    let samples = args.source.samples()?;
    if let Some(NeverRun { job, predictor, basis }) = never_run(&args.source, &samples, args.differences())? {
        args.machines.check_never_run(&basis)?;
        let joint = JointPredictor::from_predictor(predictor, &job);
        let planned = args.machines.plan(&args.question, &args.totals, alone(job), Some(joint))?;
        return Ok(planned.answer()?.based_on(basis));
    }
    let is_of_size = |context: &Context| args.image_px.is_none_or(|px| px == context.workload.image_px);
    let group = args.source.group(&samples, &is_of_size)?;
    args.machines.plan(&args.question, &args.totals, group, None)?.answer()
}

/// Plans a job without samples, from public measurements.
fn without_samples(args: &Args, name: &str) -> anyhow::Result<PlanAnswer> {
    let PublicJob { group, predictor, mut basis, comparison } =
        public_job(name, args.image_px, &args.public, &args.machines, &args.question)?;
    let planned = args.machines.plan(&args.question, &TotalsOfCores::default(), group, Some(predictor))?;
    let decision = planned.plan.decide(&planned.limits).map_err(|error| unusable(error.to_string()))?;
    basis.order = comparison.order(&planned.plan, &decision);
    Ok(planned.answer()?.without_samples(basis))
}
