//! A configuration of a plan, as it is printed.

use foreglow_model::{
    Accuracy, Arm, Basis, Candidate, Exclusion, Interval, Plan, Prediction, Pricing, SizesFrom, Spread, Warning,
    format_time,
};
use foreglow_shared::{CoreSplit, Date, Engine, Resources, spark_submit_arguments};
use serde::Serialize;

/// Probability that a job ends before the limit that a plan proposes.
const IN_TIME: f64 = 0.99;

/// A configuration with its prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in crate::answer) struct Row {
    /// `3 × c5.xlarge, 2 executors of 2 cores each`; without the machine type if there is only one
    /// and the catalog lacks it.
    #[serde(skip)]
    pub(super) description: String,
    #[serde(skip)]
    pub(super) description_with_sizes: String,
    pub(super) machine: String,
    /// Whether `machine` is the name of a machine type; otherwise it describes the hardware.
    is_named: bool,
    /// Machines; `None` if the machine type is not in the catalog.
    pub(super) machines: Option<u32>,
    /// Executors and cores; the total is absent if all executors have the same number.
    #[serde(flatten)]
    pub(super) split: CoreSplit,
    /// Executors of a full machine; `None` if the machine type is not in the catalog.
    pub(super) executors_per_machine: Option<u32>,
    pub(super) memory_per_executor_mib: u32,
    pub(super) batch_size: u32,
    /// Mini-batches between two averages; `None` unless the job trains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) average_every: Option<u32>,
    pub(super) partition_size: u32,
    /// The runs from which memory and partition size are taken.
    pub(super) sizes_from: SizesFrom,
    accelerator: Option<String>,
    /// Whether the executors share the accelerators of their machine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shares_accelerators: bool,
    /// Accelerators of a machine; `None` without any, or if their number is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    accelerators: Option<u32>,
    pub(super) engine: Engine,
    pub(super) completion_time_secs: Option<f64>,
    pub(super) interval: Option<Interval>,
    /// Time that the job exceeds with a probability of 1 %, seconds: a limit for a scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_secs: Option<f64>,
    pub(super) cost: Option<f64>,
    pub(super) hourly_cost: Option<f64>,
    /// The quantity that ranks the candidates.
    #[serde(skip)]
    pub(super) objective: Option<f64>,
    /// Probability of meeting both the deadline and the budget.
    pub(super) success_probability: Option<f64>,
    /// Largest probability that the samples can support for any time.
    #[serde(skip)]
    pub(super) most_probability: Option<f64>,
    pub(super) meets_deadline: bool,
    pub(super) within_budget: bool,
    #[serde(skip)]
    pub(super) keeps_accuracy: bool,
    /// Whether all limits are met with the requested probability.
    pub(super) is_feasible: bool,
    pub(super) exclusion: Option<Exclusion>,
    /// The measured accuracy of the trained CNN; `None` if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) accuracy: Option<Accuracy>,
    /// The runs from which the time is predicted: of this machine type and batch size, or of
    /// others.
    pub(super) basis: Basis,
    /// Name of the price sheet; `None` if the catalog has the machine type or no price is known.
    price_list: Option<String>,
    /// Date of the price; `None` if unknown.
    pub(super) price_date: Option<Date>,
    pub(super) warnings: Vec<Warning>,
    /// Whether several machines are needed although each run was on a single one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_beyond_one_machine: bool,
    pub(super) on_pareto_front: bool,
    /// Whether the configuration is the best of its machine type.
    #[serde(skip)]
    pub(super) is_best_of_machine: bool,
}

impl Row {
    pub(super) fn of(plan: &Plan, candidate: &Candidate) -> Self {
        let placement = candidate.placement;
        let arm = &plan.predictor().arms()[placement.arm];
        let pricing = plan.pricing(placement.arm);
        let in_catalog = |count: u32| pricing.machine_type().map(|_| count);
        Self {
            description: plan.describe(placement),
            description_with_sizes: plan.describe_with_sizes(placement),
            machine: arm.machine.clone(),
            is_named: arm.is_named,
            machines: in_catalog(placement.machines),
            split: placement.split(),
            executors_per_machine: in_catalog(placement.executors_per_machine),
            memory_per_executor_mib: placement.memory_per_executor_mib,
            batch_size: arm.batch_size,
            average_every: arm.average_every,
            partition_size: arm.partition_size,
            sizes_from: arm.sizes_from,
            accelerator: arm.accelerator.clone(),
            shares_accelerators: arm.shares_accelerators,
            accelerators: accelerators(arm, pricing),
            engine: arm.engine,
            completion_time_secs: candidate.prediction.completion_time_secs,
            interval: candidate.prediction.interval,
            limit_secs: limit_secs(&candidate.prediction),
            cost: candidate.cost,
            hourly_cost: candidate.hourly_cost,
            objective: candidate.objective,
            success_probability: candidate.success_probability,
            most_probability: candidate.prediction.spread.as_ref().map(Spread::most_probability),
            meets_deadline: candidate.meets_deadline,
            within_budget: candidate.within_budget,
            keeps_accuracy: candidate.keeps_accuracy,
            is_feasible: candidate.is_feasible,
            exclusion: candidate.exclusion.clone(),
            accuracy: candidate.accuracy.clone(),
            basis: arm.basis,
            price_list: pricing.sheet().map(|sheet| sheet.name.clone()),
            price_date: match pricing {
                Pricing::Machines(machine) => machine.date,
                Pricing::Sheet { sheet, .. } => Some(sheet.date),
                Pricing::Unknown => None,
            },
            warnings: candidate.prediction.warnings.clone(),
            is_beyond_one_machine: placement.machines > 1
                && arm.engine.is_on_one_machine()
                && arm.basis != Basis::Public,
            on_pareto_front: false,
            is_best_of_machine: false,
        }
    }

    /// Whether two configurations differ only in executors and cores.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (&self.machine, self.batch_size, self.average_every, self.partition_size, self.engine)
            == (&other.machine, other.batch_size, other.average_every, other.partition_size, other.engine)
    }

    pub(super) fn time(&self) -> String {
        format_time(self.completion_time_secs, self.interval.as_ref())
    }

    /// Returns the time with the digits that tell it from a limit.
    pub(super) fn exact_time(&self) -> String {
        format_time(self.completion_time_secs, None)
    }

    /// Whether the predicted time is at most this long, whatever its probability.
    pub(super) fn takes_at_most(&self, secs: f64) -> bool {
        self.completion_time_secs.is_some_and(|own| own <= secs)
    }

    pub(super) fn costs_at_most(&self, money: f64) -> bool {
        self.cost.is_some_and(|own| own <= money)
    }

    /// Returns the configuration as `spark-submit` arguments if Spark runs the job.
    pub(super) fn spark_submit(&self) -> Option<String> {
        (self.engine == Engine::Spark && self.split.equal_counts().is_some()).then(|| {
            spark_submit_arguments(Resources {
                split: self.split,
                memory_per_executor_mib: self.memory_per_executor_mib,
                accelerated: self.accelerator.is_some(),
                shared_accelerators: None,
            })
        })
    }
}

/// Returns the time that a job exceeds with a probability of 1 %, seconds; `None` if the runs are
/// too few to tell it.
fn limit_secs(prediction: &Prediction) -> Option<f64> {
    let late = prediction.completion_time_secs? * prediction.spread.as_ref()?.quantile(IN_TIME);
    late.is_finite().then_some(late)
}

/// Returns the accelerators of a machine.
fn accelerators(arm: &Arm, pricing: &Pricing) -> Option<u32> {
    arm.accelerator.as_ref()?;
    match pricing.machine_type() {
        Some(machine) => Some(machine.accelerator_count()).filter(|count| *count > 0),
        None => arm.accelerators,
    }
}
