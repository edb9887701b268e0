//! The plan of a job: all configurations that it can run on, over all machine types that were
//! measured, and the decision among them. A single measured context is a plan with one arm.
//!
//! [`Plan::new`] packs and predicts every configuration once. [`Plan::decide`] applies prices and
//! limits to them. It takes linear time, because the configurations are sorted by their times. A
//! grid of more than 4,096 executors × cores of a single arm is first reduced to its outstanding
//! configurations (`grid`).

mod cache;
mod candidate;
pub(crate) mod configurations;
pub(crate) mod decision;
mod describe;
mod exclusion;
mod front;
mod grid;
pub(crate) mod limits;
mod neighbours;
mod options;
mod prices;
mod pricing;
pub(crate) mod quantiles;
pub(crate) mod space;
mod trained;

use std::sync::Arc;

use foreglow_shared::{Catalog, CoreSplit, MachineType, Resources};
use serde::{Deserialize, Serialize};

use self::cache::Cache;
pub use self::candidate::Candidate;
pub use self::configurations::sufficient_memory_mib;
pub use self::decision::{Decision, Objective};
pub use self::exclusion::Exclusion;
pub use self::front::pareto_front;
use self::grid::GridCounts;
pub use self::limits::Limits;
pub use self::neighbours::Neighbours;
use self::options::Excluded;
pub use self::prices::{Prices, PricesNote};
pub use self::pricing::Pricing;
pub use self::space::Space;
pub use self::trained::TrainedSetting;
use crate::{JointPredictor, Prediction, Spread};

/// Limit on the configurations of one plan.
pub(crate) const MAX_CONFIGURATIONS: usize = 1_000_000;
/// Above this number of configurations, a decision lists only the outstanding ones.
const MAX_LISTED: usize = 4_096;

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
    /// Machines; 0 if the machine type is not in the catalog, which then counts as one machine.
    pub machines: u32,
    /// Executors of a full machine; 0 if the machine type is not in the catalog.
    pub executors_per_machine: u32,
}

impl Placement {
    /// Returns a configuration on a machine outside the catalog.
    pub fn new(arm: usize, split: CoreSplit, memory_per_executor_mib: u32) -> Self {
        let CoreSplit { executors, cores_per_executor, total_cores } = split;
        let (machines, executors_per_machine) = (0, 0);
        Self {
            arm,
            executors,
            cores_per_executor,
            total_cores,
            memory_per_executor_mib,
            machines,
            executors_per_machine,
        }
    }

    /// Returns the resources of the executors.
    pub fn resources(self, accelerated: bool, shared_accelerators: Option<u32>) -> Resources {
        let (split, memory_per_executor_mib) = (self.split(), self.memory_per_executor_mib);
        Resources { split, memory_per_executor_mib, accelerated, shared_accelerators }
    }

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
pub struct Plan {
    predictor: Arc<JointPredictor>,
    space: Space,
    /// Prices of each arm.
    pricing: Vec<Pricing>,
    currency: String,
    /// Configurations that can run and have a known time, ascending by time.
    options: Vec<Timed>,
    /// Configurations that cannot be recommended; at most [`MAX_LISTED`].
    excluded: Vec<Excluded>,
    /// Why configurations of an arm cannot be recommended, one entry for each arm and reason.
    omissions: Vec<Omission>,
    /// Executors and cores of a single arm that are too many to list.
    grid: Option<GridCounts>,
    cache: Cache,
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

/// Configurations that cannot be recommended, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Omission {
    /// Name of the machine type, or `batch size 16`.
    pub machine: String,
    /// Number of configurations; 0 if the whole machine type is meant.
    pub configurations: usize,
    /// One sentence that says why, and what to do.
    pub reason: String,
}

impl Plan {
    /// Returns the listed configurations, ascending by time.
    pub(crate) fn timed(&self) -> &[Timed] {
        &self.options
    }

    /// Returns the number of configurations with a known time and enough resources.
    pub fn len(&self) -> usize {
        self.grid.as_ref().map_or(self.options.len(), GridCounts::len)
    }

    /// Returns whether no configuration can be compared.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the predictor.
    pub fn predictor(&self) -> &JointPredictor {
        &self.predictor
    }

    /// Returns the configurations and prices to choose from.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Returns the currency of all prices.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// Returns the prices of an arm.
    pub fn pricing(&self, arm: usize) -> &Pricing {
        &self.pricing[arm]
    }

    /// Replaces the prices of every arm in the catalog, for example after a user edited them.
    /// Predictions and the sizes of machines stay the same.
    pub fn reprice(&mut self, catalog: &Catalog) {
        for pricing in &mut self.pricing {
            if let Pricing::Machines(machine) = pricing
                && let Ok(MachineType { hourly_price, spot_price, .. }) = catalog.find(&machine.name)
                && (machine.hourly_price, machine.spot_price) != (*hourly_price, *spot_price)
            {
                (machine.hourly_price, machine.spot_price) = (*hourly_price, *spot_price);
                self.cache = Cache::default();
            }
        }
    }

    /// Returns the plan of some machine types only, by name. Predictions stay the same.
    pub fn only(&self, is_kept: impl Fn(&str) -> bool) -> Self {
        let arms: Vec<bool> = self.predictor.arms().iter().map(|arm| is_kept(&arm.machine)).collect();
        Self {
            predictor: Arc::clone(&self.predictor),
            space: self.space.clone(),
            pricing: self.pricing.clone(),
            currency: self.currency.clone(),
            options: self.options.iter().filter(|option| arms[option.placement.arm]).cloned().collect(),
            excluded: self.excluded.iter().filter(|excluded| arms[excluded.placement.arm]).cloned().collect(),
            omissions: self.omissions.iter().filter(|left| is_kept(&left.machine)).cloned().collect(),
            grid: self.grid.clone(),
            cache: Cache::default(),
        }
    }

    /// Returns the configurations that cannot be recommended, with the reasons.
    pub fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    /// Predicts equal executors of an arm: on one machine, or on as many as the catalog's machine
    /// type needs.
    pub fn predict_arm(&self, arm: usize, configurations: &[(u32, u32)]) -> Vec<Prediction> {
        let mut of_arm = self.predictor.of_arm(arm, self.pricing[arm].machine_type().is_none());
        configurations.iter().map(|(executors, cores)| of_arm.predict(CoreSplit::even(*executors, *cores))).collect()
    }

    /// Returns the times of [`Plan::predict_arm`] on a grid, seconds: one row per number of
    /// executors, one column per number of cores, both ascending.
    pub fn times(&self, arm: usize, executors: &[u32], cores: &[u32]) -> Vec<Vec<Option<f64>>> {
        let fitted = self.predictor.fitted(arm);
        match fitted.own.as_ref().filter(|_| self.pricing[arm].machine_type().is_none()) {
            // Much faster. The predictor of a list of partition sizes assumes another one.
            Some(own) if self.predictor.arms().len() == 1 && fitted.whole_job == 1.0 => own.times(executors, cores),
            _ => {
                let row = |executors: &u32| {
                    let row: Vec<(u32, u32)> = cores.iter().map(|cores| (*executors, *cores)).collect();
                    self.predict_arm(arm, &row).into_iter().map(|one| one.completion_time_secs).collect()
                };
                executors.iter().map(row).collect()
            }
        }
    }

    /// Predicts the time of a configuration, with its interval and warnings.
    pub fn predict(&self, placement: Placement) -> Prediction {
        self.predictor.predict_placement(placement)
    }
}
