//! `foreglow plan`: the cheapest configuration that meets the deadline, over all machine types that
//! were measured.

use foreglow_console::answer::{DecisionAnswer, MachineAnswer, fit};
use foreglow_console::ask::{Selection, Source};
use foreglow_console::compare::{Compared, MachineArgs};
use foreglow_console::grammar::{Counts, count, total_cores};
use foreglow_console::output::{self, Format};
use foreglow_console::progress::note;
use foreglow_console::question::QuestionArgs;
use foreglow_console::split::splits;
use foreglow_model::Predictor;
use foreglow_networks::never_run::{Differences, NeverRun, never_run};
use foreglow_shared::{Catalog, Context, Job, Question};

/// Find the cheapest configuration that meets a deadline, or the fastest within a budget, and
/// compare all others: executors and cores, and machine types, batch and partition sizes if the
/// samples have several. A CNN that was never run here is predicted from the others in the
/// samples: --model vgg16 or --model net.onnx.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    question: QuestionArgs,

    /// Candidate total numbers of cores instead of --cores, each divided as evenly as possible
    /// among every number of executors: 8 or 4-12; 8 for 3 executors are 3, 3 and 2
    #[arg(long, value_name = "LIST", conflicts_with = "cores", help_heading = "Question", value_parser = total_cores, allow_negative_numbers = true)]
    total_cores: Option<Counts>,

    #[command(flatten)]
    machines: MachineArgs,

    /// Side of the square input of a CNN that was never run here, pixels [default: that of the
    /// other CNNs]
    #[arg(long, value_name = "PX", requires = "model", help_heading = "Question", value_parser = count, allow_negative_numbers = true)]
    image_px: Option<u32>,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

impl Args {
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

    /// Decides a question about one machine type.
    fn decide(&self, job: &Job, predictor: &Predictor, question: &Question) -> anyhow::Result<DecisionAnswer> {
        let Some(Counts(totals)) = &self.total_cores else { return DecisionAnswer::new(job, predictor, question) };
        let splits = splits(&question.executors, totals, job.context.workload.mode)?;
        DecisionAnswer::among(job, predictor, question, (&splits, totals.clone()))
    }

    /// Prints a note about planning with whole machines if the samples name a machine type of the
    /// catalog.
    fn tell_of_whole_machines(&self, job: &Job, question: &Question) {
        let catalog = Catalog::built_in();
        let named = job.context.host.machine.as_deref();
        let named = named.filter(|name| self.question.bill.prices.is_none() && catalog.find(name).is_ok());
        if let Some(machine) = named {
            note(&format!(
                "The costs are those of {}. {machine} is in the catalog: `--machines {machine}` charges whole machines.",
                question.prices.name
            ));
        }
    }
}

/// Prints the decision; fails if no configuration meets the deadline.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let samples = args.source.samples()?;
    if let Some(NeverRun { job, predictor, basis }) = never_run(&args.source, &samples, args.differences())? {
        args.machines.check_never_run(&basis)?;
        let question = args.question.about(&job)?;
        let answer = args.decide(&job, &predictor, &question)?.based_on(basis);
        output::print(&answer.render(args.format))?;
        return answer.check();
    }
    let is_of_size = |context: &Context| args.image_px.is_none_or(|px| px == context.workload.image_px);
    let group = match args.source.selection(&samples, args.machines.is_given(), &is_of_size)? {
        Selection::Group(group) => *group,
        Selection::Context(job) => {
            let question = args.question.about(&job)?;
            let answer = args.decide(&job, &fit(&job)?, &question)?;
            output::print(&answer.render(args.format))?;
            args.tell_of_whole_machines(&job, &question);
            return answer.check();
        }
    };
    let Compared { comparison, limits, startup, .. } =
        args.machines.compare(&args.question, args.total_cores.as_ref(), group)?;
    let answer = MachineAnswer::new(&comparison, limits, startup)?;
    output::print(&answer.render(args.format))?;
    answer.check()
}
