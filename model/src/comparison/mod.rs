//! Compares configurations over all machine types: the cheapest that meets the limits, the Pareto
//! front of time and cost, and the best of each machine type.
//!
//! [`Comparison::of`] packs and predicts every configuration once. [`Comparison::decide`] applies
//! prices and limits to them. It takes linear time, because the configurations are sorted by their
//! times.

pub(crate) mod billing;
pub(crate) mod build;
pub(crate) mod decide;
mod kept;
pub(crate) mod limits;
mod notable;
mod trained;

use std::sync::Arc;

use foreglow_shared::{Catalog, CoreSplit, MachineType, Resources};
use serde::{Deserialize, Serialize};

pub use self::billing::Pricing;
pub use self::build::Offer;
pub use self::decide::{MachineCandidate, MachineDecision};
use self::kept::Cache;
pub use self::limits::MachineLimits;
pub use self::trained::TrainedSetting;
use crate::{JointPredictor, Prediction, Spread};

/// Most configurations of one comparison.
pub(crate) const MOST_CANDIDATES: usize = 1_000_000;

/// A configuration on machines of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Index of the [`Arm`](crate::Arm).
    pub arm: usize,
    /// Executor processes, E, on all machines together.
    pub executors: u32,
    /// Task threads of an executor, C; in an uneven split, the largest number.
    pub cores_per_executor: u32,
    /// Task threads of all executors in an uneven split; `None` if each has C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cores: Option<u32>,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// Machines; 0 if the machine type is not in the catalog.
    pub machines: u32,
    /// Executors of a full machine; 0 if the machine type is not in the catalog.
    pub executors_per_machine: u32,
}

impl Placement {
    /// Returns how the cores are divided among the executors.
    pub fn split(self) -> CoreSplit {
        CoreSplit {
            executors: self.executors,
            cores_per_executor: self.cores_per_executor,
            total_cores: self.total_cores,
        }
    }
}

/// All configurations of a job over all machine types, with their predicted times.
#[derive(Clone, Debug)]
pub struct Comparison {
    predictor: Arc<JointPredictor>,
    /// Prices of each arm.
    pricing: Vec<Pricing>,
    currency: String,
    /// Ascending by time.
    candidates: Vec<Timed>,
    /// Why configurations of an arm are not compared, one entry for each arm and reason.
    omissions: Vec<Omission>,
    kept: Cache,
}

/// A configuration with its predicted time.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    pub(crate) placement: Placement,
    pub(crate) secs: f64,
    pub(crate) spread: Option<Spread>,
    /// Time after which a run of the same configuration was stopped, seconds; 0 without a stopped
    /// run.
    pub(crate) at_least_secs: f64,
}

/// Configurations that cannot be compared, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Omission {
    /// Name of the machine type, or `batch size 16`.
    pub machine: String,
    /// Number of configurations; 0 if the whole machine type is meant.
    pub configurations: usize,
    /// One sentence that says why, and what to do.
    pub reason: String,
}

impl Comparison {
    /// Returns the configurations, ascending by time.
    pub(crate) fn timed(&self) -> &[Timed] {
        &self.candidates
    }

    /// Returns the number of configurations with a known time and enough resources.
    pub fn len(&self) -> usize {
        self.candidates.len()
    }

    /// Returns whether no configuration can be compared.
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// Returns the predictor.
    pub fn predictor(&self) -> &JointPredictor {
        &self.predictor
    }

    /// Returns the currency of all prices.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// Returns the prices of an arm.
    pub fn pricing(&self, arm: usize) -> &Pricing {
        &self.pricing[arm]
    }

    /// Replaces the prices of every arm in the catalog or the sheet, for example after a user
    /// edited them. Predictions and the sizes of machines stay the same.
    pub fn reprice(&mut self, catalog: &Catalog) {
        for pricing in &mut self.pricing {
            if let Pricing::Machines(machine) = pricing
                && let Ok(MachineType { hourly_price, spot_price, .. }) = catalog.find(&machine.name)
                && (machine.hourly_price, machine.spot_price) != (*hourly_price, *spot_price)
            {
                (machine.hourly_price, machine.spot_price) = (*hourly_price, *spot_price);
                self.kept = Cache::default();
            }
        }
    }

    /// Returns the comparison of some machine types only, by name. Predictions stay the same.
    pub fn only(&self, is_kept: impl Fn(&str) -> bool) -> Self {
        let arms: Vec<bool> = self.predictor.arms().iter().map(|arm| is_kept(&arm.machine)).collect();
        let kept = |timed: &&Timed| arms[timed.placement.arm];
        Self {
            predictor: Arc::clone(&self.predictor),
            pricing: self.pricing.clone(),
            currency: self.currency.clone(),
            candidates: self.candidates.iter().filter(kept).cloned().collect(),
            omissions: self.omissions.iter().filter(|left| is_kept(&left.machine)).cloned().collect(),
            kept: Cache::default(),
        }
    }

    /// Returns the configurations that were not compared, with the reasons.
    pub fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    /// Predicts the time of a configuration again, with its interval and warnings.
    pub fn predict(&self, placement: Placement) -> Prediction {
        self.predictor.predict_split(placement.arm, placement.split())
    }
}

impl Comparison {
    /// Describes a configuration like [`Comparison::describe`], with its batch size and its
    /// partition size if several can be chosen.
    pub fn describe_with_sizes(&self, placement: Placement) -> String {
        let arms = self.predictor.arms();
        let own = &arms[placement.arm];
        let mut text = self.describe(placement);
        if arms.iter().any(|arm| arm.batch_size != own.batch_size) {
            text.push_str(&format!(", batch size {}", own.batch_size));
        }
        if arms.iter().any(|arm| arm.partition_size != own.partition_size) {
            text.push_str(&format!(", partition size {}", own.partition_size));
        }
        text
    }

    /// Describes the machines of a configuration and their executors, and the averaging interval if
    /// several were measured: `3 × c5.xlarge, 2 executors of 2 cores each`.
    pub fn describe(&self, placement: Placement) -> String {
        let Placement { executors, cores_per_executor, machines, executors_per_machine: full, .. } = placement;
        let machine = &self.predictor.arms()[placement.arm].machine;
        let is_in_catalog = machines > 0;
        if placement.total_cores.is_some() {
            let count = if is_in_catalog { format!("{machines} × ") } else { String::new() };
            return format!("{count}{machine}, {}", placement.split());
        }
        let plural = |count: u32| if count == 1 { "" } else { "s" };
        let cores = format!("{cores_per_executor} core{}", plural(cores_per_executor));
        let counted = |count: u32| format!("{count} executor{} of {cores}", plural(count));
        let text = match machines {
            0 => format!("{machine}, {}", counted(executors)),
            1 => format!("1 × {machine}, {}", counted(executors)),
            _ if executors == machines * full => format!("{machines} × {machine}, {} each", counted(full)),
            _ => {
                let last = executors - (machines - 1) * full;
                format!("{machines} × {machine}, {}, the last {last}", counted(full))
            }
        };
        let arms = self.predictor.arms();
        let every = arms[placement.arm].average_every;
        match every.filter(|_| arms.iter().any(|arm| arm.average_every != every)) {
            Some(1) => format!("{text}, averaged every mini-batch"),
            Some(every) => format!("{text}, averaged every {every} mini-batches"),
            None => text,
        }
    }
}

fn resources(placement: Placement, accelerated: bool, shared_accelerators: Option<u32>) -> Resources {
    Resources {
        executors: placement.executors,
        cores_per_executor: placement.cores_per_executor,
        total_cores: placement.total_cores,
        memory_per_executor_mib: placement.memory_per_executor_mib,
        accelerated,
        shared_accelerators,
    }
}
