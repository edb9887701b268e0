//! Configurations of a plan as rows.

use foreglow_model::{Basis, Candidate, Decision, Limits, Plan, SizesFrom};
use foreglow_shared::WhatIf;

use super::view::{ArmView, Row};

/// Describes the arms of a plan.
pub fn arms(plan: &Plan) -> Vec<ArmView> {
    let arm = |arm: &foreglow_model::Arm| ArmView {
        machine: arm.machine.clone(),
        batch_size: arm.batch_size,
        average_every: arm.average_every,
        partition_size: arm.partition_size,
        hardware: None,
        borrowed_from: arm.basis.borrowed_from().map(|basis| match arm.sizes_from {
            SizesFrom::Own | SizesFrom::OtherMachines => basis.to_owned(),
            SizesFrom::OtherDevices => format!("{basis}, memory as on other devices"),
        }),
    };
    plan.predictor().arms().iter().map(arm).collect()
}

/// Describes the candidates of a decision.
pub fn rows(plan: &Plan, decision: &Decision, limits: &Limits) -> Vec<Row> {
    let row = |(place, candidate): (usize, &Candidate)| Row {
        remark: remark(decision, place, limits).to_owned(),
        ..row(plan, candidate, is_alone(plan))
    };
    decision.candidates.iter().enumerate().map(row).collect()
}

/// Whether executors and cores alone distinguish the configurations.
pub fn is_alone(plan: &Plan) -> bool {
    plan.predictor().arms().len() == 1 && plan.pricing(0).machine_type().is_none()
}

/// Whether the job has no samples.
pub fn is_public(plan: &Plan) -> bool {
    plan.predictor().arms().iter().all(|arm| arm.basis == Basis::Public)
}

/// Describes a candidate; by its executors and cores only if nothing else varies.
pub fn row(plan: &Plan, candidate: &Candidate, is_alone: bool) -> Row {
    let placement = candidate.placement;
    let counts = WhatIf { executors: placement.executors, cores_per_executor: placement.cores_per_executor };
    Row {
        arm: placement.arm,
        counts,
        memory_per_executor_mib: placement.memory_per_executor_mib,
        name: match is_alone {
            true => format!("{} × {}", counts.executors, counts.cores_per_executor),
            // All GPUs of the machines are used, and nothing else varies.
            false if is_public(plan) => match placement.machines {
                1 => plan.predictor().arms()[placement.arm].machine.clone(),
                count => format!("{count} × {}", plan.predictor().arms()[placement.arm].machine),
            },
            false => plan.describe_with_sizes(placement),
        },
        secs: candidate.prediction.completion_time_secs,
        interval: candidate.prediction.interval,
        cost: candidate.cost,
        objective: candidate.objective,
        success_probability: candidate.success_probability,
        is_feasible: candidate.is_feasible,
        remark: String::new(),
        exclusion: candidate.exclusion.as_ref().map(ToString::to_string),
        accuracy: candidate.accuracy.clone(),
    }
}

/// Returns what distinguishes a candidate of a decision.
fn remark(decision: &Decision, place: usize, limits: &Limits) -> &'static str {
    let candidate = &decision.candidates[place];
    let is_over = |value: Option<f64>, limit: Option<f64>| limit.is_some_and(|limit| value > Some(limit));
    let is_late = is_over(candidate.prediction.completion_time_secs, limits.deadline_secs);
    let is_dear = is_over(candidate.cost, limits.budget) || is_over(candidate.hourly_cost, limits.max_hourly_cost);
    match (decision.recommended == Some(place), decision.fastest == Some(place), candidate.meets_deadline) {
        _ if candidate.exclusion.as_ref().is_some_and(|one| one.is_about_memory()) => "out of memory",
        _ if candidate.exclusion.is_some() => "not possible",
        _ if !candidate.keeps_accuracy => "accuracy too low or unknown",
        (true, ..) => "recommended",
        (_, true, false) if is_late => "fastest, still too late",
        (_, false, false) if is_late => "too late",
        _ if is_dear => "over budget",
        _ if !candidate.is_feasible => "too uncertain",
        (_, true, true) => "fastest",
        _ => "",
    }
}
