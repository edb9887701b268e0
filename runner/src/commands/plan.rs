//! `foreglow plan`: the cheapest configuration that meets the deadline, over all machine types that
//! were measured.

use foreglow_console::answer::{Basis, DecisionAnswer, MachineAnswer, Startup, fit};
use foreglow_console::ask::{Selection, Source};
use foreglow_console::catalog::CatalogArgs;
use foreglow_console::grammar::{Counts, count, counts, large_count, money, total_cores};
use foreglow_console::output::{self, Format};
use foreglow_console::question::{QuestionArgs, read_prices};
use foreglow_console::split::splits;
use foreglow_exit::unusable;
use foreglow_model::{Comparison, JointPredictor, MachineLimits, Offer, Predictor};
use foreglow_shared::{Catalog, DEFAULT_PROBABILITY, Job, JobGroup, Observation, PriceSheet, Question, Sample};

use crate::never_run::{Differences, NeverRun, never_run};

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

/// What to compare besides executors and cores.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Machine types")]
struct MachineArgs {
    /// Machine types to choose from: c5.xlarge,c5.4xlarge [default: all that were measured]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    machines: Vec<String>,

    #[command(flatten)]
    catalog: CatalogArgs,

    /// Spot prices: cheaper, but the provider may take the machines back at any time
    #[arg(long)]
    spot: bool,

    /// Largest price of all machines together per hour
    #[arg(long, value_name = "MONEY", value_parser = money, allow_negative_numbers = true)]
    max_hourly_cost: Option<f64>,

    /// Batch sizes to choose from, measured or between measured ones: 8,32 [default: all that were
    /// measured]
    #[arg(long, value_name = "LIST", value_parser = counts, allow_negative_numbers = true)]
    batch_size: Option<Counts>,

    /// Images of one task [default: the best of the measured sizes of each machine type]
    #[arg(long, value_name = "P", value_parser = count, allow_negative_numbers = true)]
    partition_size: Option<u32>,

    /// Images of the job [default: those of the samples' jobs]
    #[arg(long, value_name = "N", value_parser = large_count, allow_negative_numbers = true)]
    images: Option<u64>,

    /// Passes over the images [default: those of the samples' jobs]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    epochs: Option<u32>,
}

impl MachineArgs {
    /// Returns whether the user asks for something that only a comparison of machine types
    /// answers.
    fn is_given(&self) -> bool {
        !self.machines.is_empty()
            || self.catalog.is_given()
            || self.spot
            || self.max_hourly_cost.is_some()
            || self.batch_size.is_some()
            || self.partition_size.is_some()
            || self.images.is_some()
            || self.epochs.is_some()
    }

    /// Refuses what only a CNN that was run has: other machine types, and several batch sizes.
    fn check_never_run(&self, basis: &Basis) -> anyhow::Result<()> {
        let several = self.batch_size.as_ref().is_some_and(|Counts(sizes)| sizes.len() > 1);
        let option = match self {
            Self { machines, .. } if !machines.is_empty() => "--machines",
            Self { catalog, .. } if catalog.is_given() => "--catalog",
            Self { spot: true, .. } => "--spot",
            Self { max_hourly_cost: Some(_), .. } => "--max-hourly-cost",
            Self { partition_size: Some(_), .. } => "--partition-size",
            _ if several => "--batch-size with several sizes",
            _ => return Ok(()),
        };
        Err(unusable(format!("{} {option} needs runs of it; leave it out", basis.describe())))
    }
}

impl Args {
    /// Returns what a job of a CNN that was never run differs in.
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
    let is_of_size = |sample: &Sample| args.image_px.is_none_or(|px| px == sample.workload.image_px);
    let samples: Vec<Sample> = samples.into_iter().filter(is_of_size).collect();
    let group = match args.source.selection(&samples, args.machines.is_given())? {
        Selection::Group(group) => *group,
        Selection::Context(_) if args.machines.is_given() => {
            return Err(unusable(
                "--context selects one configuration of a job, and the other options compare several; leave one out",
            ));
        }
        Selection::Context(job) => {
            let question = args.question.about(&job)?;
            let answer = args.decide(&job, &fit(&job)?, &question)?;
            output::print(&answer.render(args.format))?;
            return answer.check();
        }
    };
    let answer = compare(args, group)?;
    output::print(&answer.render(args.format))?;
    answer.check()
}

fn compare(args: &Args, mut group: JobGroup) -> anyhow::Result<MachineAnswer> {
    let MachineArgs { machines, catalog, spot, max_hourly_cost, batch_size, partition_size, images, epochs } =
        &args.machines;
    let given = args.question.bill.prices.as_deref().map(read_prices).transpose()?;
    let catalog = match &given {
        // The built-in catalog is no reason to refuse the prices that the user gives.
        Some(sheet) if !catalog.is_given() && sheet.currency != Catalog::built_in().currency => {
            Catalog { currency: sheet.currency.clone(), machines: Vec::new(), left_out: 0 }
        }
        _ => catalog.read()?,
    };
    group.definition.images = images.unwrap_or(group.definition.images);
    group.definition.epochs = epochs.unwrap_or(group.definition.epochs);
    for name in machines {
        let is_measured = group.jobs.iter().any(|job| job.context.machine_name() == *name);
        if !is_measured {
            catalog.find(name).map_err(|error| unusable(error.to_string()))?;
        }
    }
    // Machine types that are in no catalog are priced by their cores and memory, if all are.
    let is_in_catalog = |job: &Job| catalog.find(&job.context.machine_name()).is_ok();
    let usual = || {
        let accelerator = group.jobs.first().and_then(|job| job.context.accelerator.as_deref());
        Some(PriceSheet::usual_for(accelerator)).filter(|sheet| sheet.currency == catalog.currency)
    };
    let sheet = given.or_else(|| if group.jobs.iter().any(is_in_catalog) { None } else { usual() });
    let list = |counts: &Option<Counts>| counts.as_ref().map_or_else(Vec::new, |Counts(counts)| counts.clone());
    let question = &args.question;
    let offer = Offer {
        catalog: Some(catalog),
        sheet,
        machines: machines.clone(),
        executors: list(&question.executors),
        cores_per_executor: list(&question.cores),
        total_cores: list(&args.total_cores),
        memory_per_executor_mib: question.bill.memory,
        batch_sizes: list(batch_size),
        partition_size: *partition_size,
    };
    if !offer.total_cores.is_empty() {
        let executors = if offer.executors.is_empty() { &[1][..] } else { &offer.executors };
        splits(executors, &offer.total_cores, group.definition.mode)?;
    }
    let runs: Vec<Observation> = group.jobs.iter().flat_map(|job| job.observations.iter().copied()).collect();
    let startup = Startup::of(&runs);
    let limits = MachineLimits {
        deadline_secs: question.deadline_secs(&runs)?,
        budget: question.budget,
        min_accuracy: question.min_accuracy,
        max_hourly_cost: *max_hourly_cost,
        probability: question.probability.unwrap_or(DEFAULT_PROBABILITY),
        spot: *spot,
        // Whole machines are billed while executors start.
        startup_secs: startup.as_ref().map_or(0.0, Startup::median_secs),
    };
    let predictor = JointPredictor::fit(&group).map_err(|error| unusable(error.to_string()))?;
    let comparison = Comparison::of(predictor, &offer).map_err(|error| unusable(error.to_string()))?;
    MachineAnswer::new(&comparison, limits, startup)
}
