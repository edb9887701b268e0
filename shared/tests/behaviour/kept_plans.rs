//! Plans that were acted on, and the runs that follow them.

use foreglow_shared::{Context, CoreSplit, JobDefinition, KeptPlan, Outcome, PlannedTime, Sample};

use crate::words::sample;

/// A run of the whole job, and a plan of it that was made an hour before.
fn followed() -> (KeptPlan, Sample) {
    let mut run = sample();
    (run.sampling_rate, run.outcome) = (1.0, Outcome::Completed);
    let context = Context::of(&run);
    let plan = KeptPlan {
        job: JobDefinition::of(&context),
        engine: run.engine,
        machine: context.machine_name(),
        accelerated: run.configuration.accelerator.is_some(),
        split: run.configuration.split(),
        batch_size: run.workload.batch_size,
        average_every: None,
        partition_size: run.configuration.partition_size,
        is_of_gpus: false,
        predicted: PlannedTime {
            planned_at: run.started_at - std::time::Duration::from_hours(1),
            median_secs: 12.0,
            lower_secs: Some(11.0),
            upper_secs: Some(13.0),
            deadline_secs: None,
            success_probability: None,
        },
    };
    (plan, run)
}

#[test]
fn a_plan_is_of_the_whole_job_of_its_size_on_its_configuration_after_it() {
    let (plan, run) = followed();
    assert!(plan.is_of(&run));
    let changes: [fn(&mut Sample); 10] = [
        |run| run.sampling_rate = 0.5,
        |run| run.outcome = Outcome::Failed,
        |run| run.started_at -= std::time::Duration::from_hours(1),
        |run| run.workload.images += 1,
        |run| run.workload.epochs += 1,
        |run| run.workload.model = "another".to_owned(),
        |run| run.workload.batch_size += 1,
        |run| run.configuration.executors += 1,
        |run| run.configuration.partition_size += 1,
        |run| run.host.cpu = Some("Another CPU".to_owned()),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut other = run.clone();
        change(&mut other);
        assert!(!plan.is_of(&other), "change {number}");
    }
    let memory = |mib: u32| {
        let mut other = run.clone();
        other.configuration.memory_per_executor_mib = mib;
        other
    };
    assert!(plan.is_of(&memory(77)), "the bound on the memory does not change the time");
}

#[test]
fn a_plan_of_a_machine_type_is_of_runs_on_it() {
    let (mut plan, mut run) = followed();
    plan.machine = "c5.xlarge".to_owned();
    assert!(!plan.is_of(&run));
    run.host.machine = Some("c5.xlarge".to_owned());
    run.configuration.machines = Some(3);
    assert!(plan.is_of(&run));
}

#[test]
fn a_plan_of_gpus_is_of_runs_of_any_program_on_as_many() {
    let (plan, mut run) = followed();
    let plan = KeptPlan { is_of_gpus: true, split: CoreSplit::even(8, 1), machine: "p4d.24xlarge".to_owned(), ..plan };
    run.host.machine = Some("p4d.24xlarge".to_owned());
    run.configuration.accelerator = Some("NVIDIA A100".to_owned());
    (run.configuration.executors, run.configuration.cores_per_executor) = (1, 12);
    run.workload.batch_size += 1;
    assert!(!plan.is_of(&run), "it has one GPU");
    run.configuration.accelerators_per_executor = Some(8);
    assert!(plan.is_of(&run));
    run.workload.images += 1;
    assert!(!plan.is_of(&run));
}

#[test]
fn a_plan_reads_back_as_it_was_written() {
    let (plan, _) = followed();
    let line = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<KeptPlan>(&line).unwrap(), plan);
    assert!(line.contains(r#""executors":2,"cores_per_executor":4"#) && !line.contains("null"), "{line}");
}
