//! Descriptions of configurations for users.

use super::{Placement, Plan};

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
