//! A configuration in the table of machine types.

use foreglow_model::{Candidate, Plan, SizesFrom};

/// A configuration on machines of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineRow {
    /// Name of the machine type.
    pub machine: String,
    /// `3 × c5.xlarge, 2 executors of 2 cores each`.
    pub description: String,
    /// The same, with the batch and the partition size if several can be chosen.
    pub description_with_sizes: String,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// Executor processes, E.
    pub executors: u32,
    /// Images per forward pass.
    pub batch_size: u32,
    /// Mini-batches between two averages; `None` unless the job trains.
    pub average_every: Option<u32>,
    /// The measured accuracy of the trained CNN: `97.64 % (97.37–97.91 %)`, `not measured`; empty
    /// if it was measured for no configuration.
    pub accuracy: String,
    /// Images of one task.
    pub partition_size: u32,
    /// Predicted time of the whole job, seconds.
    pub secs: Option<f64>,
    /// 90 % interval, seconds.
    pub interval_secs: Option<(f64, f64)>,
    /// Cost of the predicted time.
    pub cost: Option<f64>,
    /// Probability of meeting the limits.
    pub success_probability: Option<f64>,
    /// Whether all limits are met with the requested probability.
    pub is_feasible: bool,
    /// The runs from which the time is predicted, if not only those of this machine type.
    pub borrowed_from: Option<String>,
}

impl MachineRow {
    /// Describes a candidate of a plan.
    pub(super) fn of(plan: &Plan, candidate: &Candidate) -> Self {
        let placement = candidate.placement;
        let arm = &plan.predictor().arms()[placement.arm];
        let prediction = &candidate.prediction;
        Self {
            machine: arm.machine.clone(),
            description: plan.describe(placement),
            description_with_sizes: plan.describe_with_sizes(placement),
            memory_per_executor_mib: placement.memory_per_executor_mib,
            executors: placement.executors,
            batch_size: arm.batch_size,
            average_every: arm.average_every,
            accuracy: match (&candidate.accuracy, plan.predictor().accuracy_unknown()) {
                (Some(accuracy), _) => accuracy.to_string(),
                (None, None) => "not measured".to_owned(),
                (None, Some(_)) => String::new(),
            },
            partition_size: arm.partition_size,
            secs: prediction.completion_time_secs,
            interval_secs: prediction.interval.map(|interval| (interval.lower_secs, interval.upper_secs)),
            cost: candidate.cost,
            success_probability: candidate.success_probability,
            is_feasible: candidate.is_feasible,
            borrowed_from: arm.basis.borrowed_from().map(|basis| match arm.sizes_from {
                SizesFrom::Own | SizesFrom::OtherMachines => basis.to_owned(),
                SizesFrom::OtherDevices => format!("{basis}, memory as on other devices"),
            }),
        }
    }
}
