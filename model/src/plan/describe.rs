//! Descriptions of configurations for users.

use super::{Placement, Plan};
use crate::Basis;

impl Plan {
    /// Describes a configuration like [`Plan::describe`], with its batch size and its
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
    /// several were measured: `3 × c5.xlarge, 2 executors of 2 cores each`. Of public measurements,
    /// whose programs use all GPUs of a machine, these: `p4d.24xlarge (8 × A100)`.
    pub fn describe(&self, placement: Placement) -> String {
        if self.predictor.arms()[placement.arm].basis == Basis::Public
            && let Some(machine) = self.pricing(placement.arm).machine_type()
            && let Some(gpus) = &machine.accelerators
        {
            let machines = match placement.machines {
                1 => machine.name.clone(),
                machines => format!("{machines} × {}", machine.name),
            };
            return format!("{machines} ({} × {})", gpus.count * placement.machines.max(1), gpus.name);
        }
        let (split, machine) = (placement.split(), &self.predictor.arms()[placement.arm].machine);
        let text = match placement.machines {
            0 => format!("{machine}, {split}"),
            machines => {
                let executors = split.describe_per_machine(machines, placement.executors_per_machine);
                format!("{machines} × {machine}, {executors}")
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
