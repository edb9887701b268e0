//! The configurations that a plan compares if none are given.

use std::collections::BTreeSet;

use foreglow_model::{JointPredictor, Plan, Space};
use foreglow_shared::{Context, Job, group_jobs};

use crate::two_types::LIMITS;

/// Measured executors and cores, with the sampling rate.
const RUNS: [(u32, u32, f64); 6] = [(1, 1, 0.01), (1, 1, 0.1), (7, 1, 0.1), (1, 19, 0.1), (43, 3, 0.1), (2, 40, 0.01)];

/// A job on this number of machine types, with six runs of distinct settings each.
fn jobs(machine_types: u32) -> Vec<Job> {
    let on = |machine: u32| {
        let context: Context = serde_json::from_value(serde_json::json!({
            "workload": {"model": "lenet5", "mode": "inference", "image_px": 28, "images": 100_000, "epochs": 1,
                "batch_size": 8},
            "engine": "spark", "host": {"machine": format!("type-{machine}"), "processors": 64},
        }))
        .unwrap();
        let speed = 1.0 + f64::from(machine) / 50.0;
        let row = |(executors, cores, rate): &(u32, u32, f64)| {
            let secs = speed * (5.0 + 900.0 * rate / f64::from(executors * cores));
            serde_json::json!([executors, cores, 512, 8, rate, secs, null])
        };
        Job::of_runs(context, serde_json::from_value(RUNS.iter().map(row).collect()).unwrap())
    };
    (0..machine_types).map(on).collect()
}

fn plan(machine_types: u32, space: Space) -> Plan {
    let group = group_jobs(jobs(machine_types)).remove(0);
    Plan::new(JointPredictor::fit(&group).unwrap(), space).unwrap()
}

/// The executors and cores of each machine type.
fn compared(plan: &Plan) -> Vec<BTreeSet<(u32, u32)>> {
    let decision = plan.decide(&LIMITS).unwrap();
    let mut of_arms = vec![BTreeSet::new(); plan.predictor().arms().len()];
    for candidate in &decision.candidates {
        let placement = candidate.placement;
        of_arms[placement.arm].insert((placement.executors, placement.cores_per_executor));
    }
    of_arms
}

#[test]
fn many_machine_types_are_compared_on_the_measured_counts_and_geometric_steps() {
    let plan = plan(40, Space::default());
    assert!((1_000..=4_096).contains(&plan.len()), "{}", plan.len());
    for of_arm in compared(&plan) {
        let (executors, cores): (BTreeSet<u32>, BTreeSet<u32>) = of_arm.iter().copied().unzip();
        assert_eq!(executors.len() * cores.len(), of_arm.len());
        assert!([1, 2, 7, 43].iter().all(|count| executors.contains(count)), "{executors:?}");
        assert!([1, 3, 19, 40].iter().all(|count| cores.contains(count)), "{cores:?}");
    }
}

#[test]
fn counts_that_are_given_or_few_are_all_compared() {
    assert_eq!(plan(2, Space::default()).len(), 2 * 43 * 40);
    let given = Space { executors: (1..=43).collect(), cores_per_executor: (1..=40).collect(), ..Space::default() };
    assert_eq!(plan(4, given.clone()).len(), 4 * 43 * 40);
    let of_executors = plan(4, Space { cores_per_executor: Vec::new(), ..given });
    let executors: BTreeSet<u32> = compared(&of_executors)[0].iter().map(|(executors, _)| *executors).collect();
    assert_eq!(executors, (1..=43).collect());
    assert!(of_executors.len() <= 4_300, "{}", of_executors.len());
}
