//! `foreglow plan`: the cheapest configuration that meets the deadline, over all machine types that
//! were measured.

use foreglow_console::answer::PlanAnswer;
use foreglow_console::ask::{Source, alone};
use foreglow_console::compare::MachineArgs;
use foreglow_console::event_logs::plan_logs;
use foreglow_console::grammar::{Counts, count};
use foreglow_console::kept_plans::keep;
use foreglow_console::outliers;
use foreglow_console::output::{self, Format};
use foreglow_console::progress::note;
use foreglow_console::question::QuestionArgs;
use foreglow_console::split::TotalsOfCores;
use foreglow_exit::unusable;
use foreglow_launch::export;
use foreglow_model::{JointPredictor, PublicJob, extrapolated};
use foreglow_networks::never_run::{Differences, NeverRun, never_run};
use foreglow_networks::public::{PublicArgs, beside, is_network, public_job, unknown_word};
use foreglow_shared::{Context, JobGroup, NO_IMAGE_PX, Sample, Timestamp};

/// Find the cheapest configuration that meets a deadline, or the fastest within a budget, and
/// compare all others: executors and cores, and machine types, batch and partition sizes if the
/// samples have several. A CNN that was never run here is predicted from the others in the
/// samples: --model vgg16 or --model net.onnx. Without samples, name a network in their place, such
/// as `plan resnet50 --images 1000000`: public measurements of the runs of others predict it on the
/// GPUs of the catalog. With --public they predict the machine types that the samples lack. Event
/// logs of Spark, files or folders, in the place of samples need no labels: their tasks are
/// simulated on the other configurations.
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

    /// Side of the square input, pixels, of a CNN that was never run here, or of a program with
    /// --public [default: that of the other CNNs or of the network]
    #[arg(long, value_name = "PX", help_heading = "Question", value_parser = count, allow_negative_numbers = true)]
    image_px: Option<u32>,

    /// Keep the prediction of the recommended configuration: `foreglow samples check` compares the
    /// run of the whole job with it. `foreglow export` does this too
    #[arg(long, help_heading = "Output")]
    keep: bool,

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
    answer.check()?;
    if args.keep {
        let plan = export::Plan::read(answer.render(Format::Json).as_bytes())?;
        let kept = plan.kept(Timestamp::now()).and_then(|plan| keep(&plan));
        kept.iter().for_each(|file| note(&format!("The plan is kept in {}.", file.display())));
    }
    Ok(())
}

fn answer(args: &Args) -> anyhow::Result<PlanAnswer> {
    if let [word] = args.source.files.as_slice()
        && let Some(error) = word.to_str().and_then(unknown_word)
    {
        return Err(error);
    }
    if let Some(name) = args.network_without_samples() {
        if args.public.is_beside() {
            return Err(unusable(format!(
                "--public adds to samples, and {name} takes their place; leave --public out"
            )));
        }
        return without_samples(args, name);
    }
    if let Some(option) = args.public.given() {
        return Err(unusable(format!(
            "{option} is for a job without samples; name a network in their place, such as `foreglow plan resnet50`{}",
            if option == PublicArgs::MODE {
                ""
            } else {
                ", or add --public for the machine types that the samples lack"
            }
        )));
    }
    if let Some(answer) = plan_logs(&args.source, &args.question, &args.totals, &args.machines)? {
        return if args.public.is_beside() || args.image_px.is_some() {
            Err(unusable("--public and --image-px need samples of a CNN, and the files are event logs"))
        } else {
            Ok(answer)
        };
    }
    if args.image_px.is_some() && args.source.model.is_none() && !args.public.is_beside() {
        return Err(unusable("--image-px is for a CNN that was never run here; name it with --model"));
    }
    let measured = args.source.measured_samples()?;
    let samples = extrapolated(&measured);
    let never_run = never_run(&args.source, &samples, args.differences())?;
    if never_run.is_some() && args.public.is_beside() {
        return Err(unusable("--public needs runs of the network itself, which the samples lack; leave --public out"));
    }
    if let Some(NeverRun { job, predictor, basis }) = never_run {
        args.machines.check_never_run(&basis)?;
        let joint = JointPredictor::from_predictor(predictor, &job);
        let planned = args.machines.plan(&args.question, &args.totals, alone(job), Some(joint))?;
        return Ok(planned.answer()?.based_on(basis));
    }
    let is_of_size = |context: &Context| {
        let own = context.workload.image_px;
        args.image_px.is_none_or(|px| px == own || own == NO_IMAGE_PX && args.public.is_beside())
    };
    let group = args.source.group(&samples, &is_of_size)?;
    outliers::warn(&args.source, &measured, &group.definition)?;
    if args.public.is_beside() {
        return beside_samples(args, group, &measured);
    }
    let definition = group.definition.clone();
    let answer = args.machines.plan(&args.question, &args.totals, group, None)?.answer()?;
    Ok(answer.naming(&args.source, &measured, &definition))
}

/// Plans a job without samples, from public measurements.
fn without_samples(args: &Args, name: &str) -> anyhow::Result<PlanAnswer> {
    let job = public_job(name, args.image_px, &args.public, &args.machines, &args.question)?;
    from_public(args, job)
}

/// Plans a job on the machine types of its samples, and on others from public measurements.
fn beside_samples(args: &Args, mut group: JobGroup, measured: &[Sample]) -> anyhow::Result<PlanAnswer> {
    args.machines.set_work(&mut group);
    from_public(args, beside((group, measured), args.image_px, &args.public, &args.machines, &args.question)?)
}

fn from_public(args: &Args, job: PublicJob) -> anyhow::Result<PlanAnswer> {
    let PublicJob { group, predictor, mut basis, comparison } = job;
    let planned = args.machines.plan(&args.question, &TotalsOfCores::default(), group, Some(predictor))?;
    let decision = planned.plan.decide(&planned.limits).map_err(|error| unusable(error.to_string()))?;
    basis.order = comparison.order(&planned.plan, &decision);
    Ok(planned.answer()?.with_public(basis))
}
