//! What `plan` and `advise` compare besides executors and cores: machine types, prices and sizes.

use foreglow_exit::unusable;
use foreglow_model::{JointPredictor, Limits, Plan, Prices, PricesNote, Space};
use foreglow_shared::{DEFAULT_PROBABILITY, JobGroup, Observation};

use crate::answer::{Basis, PlanAnswer, Startup};
use crate::catalog::CatalogArgs;
use crate::grammar::{Counts, count, counts, large_count, money};
use crate::progress::note;
use crate::question::{QuestionArgs, read_prices};
use crate::split::TotalsOfCores;

/// What to compare besides executors and cores.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Machine types")]
pub struct MachineArgs {
    /// Machine types to choose from: c5.xlarge,c5.4xlarge [default: all that were measured]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub machines: Vec<String>,

    /// Catalog of machine types.
    #[command(flatten)]
    pub catalog: CatalogArgs,

    /// Spot prices: cheaper, but the provider may take the machines back at any time
    #[arg(long)]
    pub spot: bool,

    /// Largest price of all machines together per hour
    #[arg(long, value_name = "MONEY", value_parser = money, allow_negative_numbers = true)]
    pub max_hourly_cost: Option<f64>,

    /// Batch sizes to choose from, measured or between measured ones: 8,32 [default: all that were
    /// measured]
    #[arg(long, value_name = "LIST", value_parser = counts, allow_negative_numbers = true)]
    pub batch_size: Option<Counts>,

    /// Images of one task [default: the best of the measured sizes of each machine type]
    #[arg(long, value_name = "P", value_parser = count, allow_negative_numbers = true)]
    pub partition_size: Option<u32>,

    /// Images of the job [default: those of the samples' jobs]
    #[arg(long, value_name = "N", value_parser = large_count, allow_negative_numbers = true)]
    pub images: Option<u64>,

    /// Passes over the images [default: those of the samples' jobs]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub epochs: Option<u32>,
}

/// A job with its plan.
pub struct Planned {
    /// The job on every machine type that it was measured on.
    pub group: JobGroup,
    /// Its configurations on all machine types, with their predicted times.
    pub plan: Plan,
    /// The limits on time and cost.
    pub limits: Limits,
    /// Start-up times of the measured runs; `None` if no run has one.
    pub startup: Option<Startup>,
}

impl Planned {
    /// Decides the question.
    ///
    /// # Errors
    /// A limit is out of range.
    pub fn answer(&self) -> anyhow::Result<PlanAnswer> {
        PlanAnswer::new(&self.plan, self.limits, self.startup)
    }
}

impl MachineArgs {
    /// Whether an argument asks for whole machines.
    fn rents_machines(&self) -> bool {
        !self.machines.is_empty() || self.catalog.is_given() || self.spot || self.max_hourly_cost.is_some()
    }

    /// Refuses other machine types and several batch sizes, which need runs of the CNN itself.
    pub fn check_never_run(&self, basis: &Basis) -> anyhow::Result<()> {
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
        Err(basis.needs_runs(option))
    }

    /// Sets the images and epochs of a job to the user's.
    pub fn set_work(&self, group: &mut JobGroup) {
        group.definition.images = self.images.unwrap_or(group.definition.images);
        group.definition.epochs = self.epochs.unwrap_or(group.definition.epochs);
    }

    /// Plans a job on all its configurations; `totals` are divided among every number of executors,
    /// in place of the cores of the question. `joint` predicts a job that the runs of `group` alone
    /// do not: a CNN that was never run, or machine types from public measurements.
    ///
    /// # Errors
    /// A file cannot be read, a machine type is in no catalog, or nothing can be fitted.
    pub fn plan(
        &self,
        question: &QuestionArgs,
        totals: &TotalsOfCores,
        mut group: JobGroup,
        joint: Option<JointPredictor>,
    ) -> anyhow::Result<Planned> {
        let Self { machines, catalog, spot, max_hourly_cost, batch_size, partition_size, .. } = self;
        let given = question.bill.prices.as_deref().map(read_prices).transpose()?;
        let (is_built_in, catalog) = (!catalog.is_given(), catalog.read()?);
        self.set_work(&mut group);
        // Machine types from public measurements are rented whole.
        let has_public = joint.as_ref().is_some_and(JointPredictor::has_public);
        for name in machines {
            let is_measured = group.jobs.iter().any(|job| job.context.machine_name() == *name);
            if !is_measured {
                catalog.find(name).map_err(|error| unusable(error.to_string()))?;
            }
        }
        let Prices { catalog, sheet, keeps_sheet, note: about } =
            Prices::of(&group, machines, (catalog, is_built_in), given, self.rents_machines() || has_public);
        note_prices(about);
        let list = |counts: Option<&Counts>| counts.map_or_else(Vec::new, |Counts(counts)| counts.clone());
        let mut space = Space {
            catalog: Some(catalog),
            sheet,
            keeps_sheet,
            machines: machines.clone(),
            executors: list(question.executors.as_ref()),
            cores_per_executor: list(question.cores.as_ref()),
            memory_per_executor_mib: question.bill.memory,
            batch_sizes: list(batch_size.as_ref()),
            partition_size: *partition_size,
            ..Space::default()
        };
        totals.add_to(&mut space, group.definition.mode)?;
        let runs: Vec<Observation> = group.jobs.iter().flat_map(|job| job.observations.iter().copied()).collect();
        let startup = Startup::of(&runs);
        let limits = Limits {
            deadline_secs: question.deadline_secs(&runs)?,
            budget: question.budget,
            min_accuracy: question.min_accuracy,
            max_hourly_cost: *max_hourly_cost,
            probability: question.probability.unwrap_or(DEFAULT_PROBABILITY),
            spot: *spot,
            // Whole machines are billed while executors start.
            startup_secs: startup.as_ref().map_or(0.0, Startup::median_secs),
        };
        let joint = match joint {
            Some(joint) => joint,
            None => JointPredictor::fit(&group).map_err(|error| unusable(error.to_string()))?,
        };
        let plan = Plan::new(joint, space).map_err(|error| unusable(error.to_string()))?;
        Ok(Planned { group, plan, limits, startup })
    }
}

/// Prints what a user may not expect of the prices.
pub fn note_prices(about: Option<PricesNote>) {
    match about {
        Some(PricesNote::Charged(name)) => note(&format!(
            "The costs are those of a price list per core and GiB. {name} is in the catalog: `--machines {name}` charges \
             whole machines."
        )),
        Some(PricesNote::Unused(sheet)) => note(&format!(
            "The prices {sheet} are not used: price sheets apply to machines outside the catalog, which has all of these."
        )),
        None => {}
    }
}
