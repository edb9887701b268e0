//! The what-if over machine types: the answer for one configuration, as by `foreglow plan` for it
//! alone.

use std::sync::Arc;

use foreglow_model::{JointPredictor, Limits, Plan, Space};
use foreglow_shared::{Context, WhatIf};

use super::MachineRow;
use crate::data::machine_choice::MachinePick;

/// The answer for the picked configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Picked {
    /// Machine type of the question.
    pub machine: String,
    /// Images per forward pass.
    pub batch_size: u32,
    /// Images of one task.
    pub partition_size: u32,
    /// Executors and their cores.
    pub what_if: WhatIf,
    /// The configuration with its time and cost, or why there is no answer.
    pub outcome: Result<MachineRow, String>,
    /// Reasons to trust the time less.
    pub warnings: Vec<String>,
}

/// Returns the most frequent partition size for the picked machine type, if several were measured.
pub fn usual_size(pick: &MachinePick, predictor: &JointPredictor, job: &Context) -> Option<u32> {
    let (machine, batch_size) = asked(pick, job);
    usual(predictor, &machine, batch_size).filter(|_| predictor.partition_sizes().len() > 1)
}

/// The picked machine type and batch size.
fn asked(pick: &MachinePick, job: &Context) -> (String, u32) {
    let machine = pick.machine.clone().unwrap_or_else(|| job.machine_name());
    (machine, pick.batch_size.unwrap_or(job.workload.batch_size))
}

fn usual(predictor: &JointPredictor, machine: &str, batch_size: u32) -> Option<u32> {
    let arms = predictor.arms();
    let usual = arms.iter().find(|arm| arm.machine == machine && arm.batch_size == batch_size);
    usual.or(arms.first()).map(|arm| arm.partition_size)
}

/// Predicts the configuration, with the catalog and the price sheet of `space`. The predictor
/// assumes the picked partition size.
pub fn answer(
    pick: &MachinePick,
    predictor: &Arc<JointPredictor>,
    space: Space,
    limits: &Limits,
    job: &Context,
    what_if: WhatIf,
) -> Picked {
    let (machine, batch_size) = asked(pick, job);
    let partition_size = pick.partition_size.or_else(|| usual(predictor, &machine, batch_size)).unwrap_or(1);
    let space = Space {
        machines: vec![machine.clone()],
        executors: vec![what_if.executors],
        cores_per_executor: vec![what_if.cores_per_executor],
        memory_per_executor_mib: pick.memory_per_executor_mib,
        batch_sizes: vec![batch_size],
        ..space
    };
    let (outcome, warnings) = match answered(predictor, &space, limits) {
        Ok((row, warnings)) => (Ok(row), warnings),
        Err(reason) => (Err(reason), Vec::new()),
    };
    Picked { machine, batch_size, partition_size, what_if, outcome, warnings }
}

fn answered(
    predictor: &Arc<JointPredictor>,
    space: &Space,
    limits: &Limits,
) -> Result<(MachineRow, Vec<String>), String> {
    let plan = Plan::new(Arc::clone(predictor), space.clone()).map_err(|error| error.to_string())?;
    let decision = plan.decide(limits).map_err(|error| error.to_string())?;
    // There are several answers if engines or accelerators differ.
    let best = decision.recommended.or(decision.fastest).and_then(|place| decision.candidates.get(place));
    let Some(best) = best else {
        let reasons: Vec<&str> = plan.omissions().iter().map(|left| left.reason.as_str()).collect();
        return Err(match reasons.is_empty() {
            true => "this batch size was not measured on it".to_owned(),
            false => reasons.join("; "),
        });
    };
    let warnings = plan.predict(best.placement).warnings.iter().map(ToString::to_string).collect();
    Ok((MachineRow::of(&plan, best), warnings))
}
