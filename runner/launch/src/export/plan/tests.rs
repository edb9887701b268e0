use super::super::{Site, System};
use super::*;

/// A plan over machine types that recommends this configuration.
fn over_machines(recommended: &str) -> Plan {
    let job = r#"{"model":"resnet18","mode":"inference","image_px":64,"images":20000,"epochs":1}"#;
    let sizes = r#""memory_per_executor_mib":2048,"batch_size":32,"partition_size":64,"interval":{"upper_secs":100.0}"#;
    let plan = format!(r#"{{"job":{job},"recommended":{{{recommended},{sizes}}},"limits":{{"spot":true}}}}"#);
    Plan::read(plan.as_bytes()).unwrap()
}

/// A plan of one context, on this hardware, that recommends this configuration.
fn of_context(engine: &str, hardware: &str, recommended: &str) -> Plan {
    let workload = r#"{"model":"resnet18","mode":"inference","image_px":64,"images":20000,"epochs":1,"batch_size":32}"#;
    let sizes = r#""memory_per_executor_mib":2048,"partition_size":64,"interval":{"upper_secs":100.0}"#;
    let context = format!(r#"{{"workload":{workload},"engine":"{engine}",{hardware}}}"#);
    Plan::read(format!(r#"{{"context":{context},"recommended":{{{recommended},{sizes}}}}}"#).as_bytes()).unwrap()
}

/// The whole job, as Foreglow runs it.
fn whole(plan: &Plan) -> Task {
    plan.task(None, None, None).unwrap()
}

/// A command of the user for each executor.
fn own(plan: &Plan) -> Task {
    plan.task(CommandTemplate::new(vec!["./infer".to_owned()]).ok(), None, None).unwrap()
}

fn file(system: System, task: &Task) -> String {
    system.file(task, &Site::default()).unwrap()
}

#[test]
fn the_time_limit_is_that_of_the_plan_and_the_local_paths_of_a_command_are_told() {
    let choice = r#""executors":1,"cores_per_executor":2"#;
    let limit_secs =
        |fields: &str| whole(&of_context("local", r#""host":{}"#, &format!("{choice}{fields}"))).limit_secs;
    // A plan of an earlier version has only its interval.
    assert_eq!((limit_secs(""), limit_secs(r#","limit_secs":150.0"#)), (Some(100.0), Some(150.0)));
    let plan = of_context("local", r#""host":{}"#, choice);
    let words = ["./infer", "--data=/data/a", "out/b", "--steps", "9"].map(str::to_owned).to_vec();
    let task = plan.task(CommandTemplate::new(words).ok(), None, None).unwrap();
    assert_eq!(task.reads, ["/data/a", "out/b"]);
}

#[test]
fn hardware_without_a_name_is_no_machine_type() {
    for machine in [
        // Plans of earlier versions do not distinguish names from descriptions.
        r#""machine":"Intel(R) Xeon(R), 8 processors""#,
        r#""machine":"a\n#SBATCH --account=other""#,
        r#""machine":"gpu","is_named":false"#,
    ] {
        let plan = over_machines(&format!(r#"{machine},"machines":null,"executors":2,"cores_per_executor":4"#));
        let task = whole(&plan);
        assert_eq!(task.machine, None, "{machine}");
        assert!(!task.command.contains("--machine"), "{}", task.command);
        assert!(file(System::Skypilot, &task).contains("  cpus: 8+\n"));
    }
    let plan = over_machines(r#""machine":"c5.xlarge","is_named":true,"executors":2,"cores_per_executor":4"#);
    assert_eq!(whole(&plan).machine.as_deref(), Some("c5.xlarge"));
    let described = of_context("local", r#""host":{"machine":"my box"}"#, r#""executors":1,"cores_per_executor":2"#);
    assert_eq!(whole(&described).machine, None);
}

#[test]
fn the_machine_type_of_a_single_context_is_kept() {
    let plan = of_context("local", r#""host":{"machine":"c5.xlarge"}"#, r#""executors":1,"cores_per_executor":4"#);
    let task = whole(&plan);
    assert!(task.command.ends_with(" --machine c5.xlarge"), "{}", task.command);
    assert!(file(System::Slurm, &task).contains("#SBATCH --constraint=c5.xlarge\n"));
    assert!(file(System::Kubernetes, &task).contains("node.kubernetes.io/instance-type: \"c5.xlarge\"\n"));
    assert!(file(System::Skypilot, &task).contains("  instance_type: \"c5.xlarge\"\n"));
}

#[test]
fn shared_gpus_are_those_of_the_machine() {
    let four = r#""executors":4,"cores_per_executor":1"#;
    let gpus = r#""accelerator":"NVIDIA A10G","shares_accelerators":true"#;
    let row = format!(r#""machine":"g5.xlarge","machines":1,"executors_per_machine":4,{four},{gpus},"accelerators":1"#);
    let plan = over_machines(&row);
    let task = whole(&plan);
    assert!(task.command.contains(" --share-gpu"), "{}", task.command);
    assert!(file(System::Slurm, &task).contains("#SBATCH --gpus-per-task=1\n"));
    assert!(file(System::Kubernetes, &task).contains("nvidia.com/gpu: 1 }"));
    let script = file(System::Slurm, &own(&plan));
    assert!(script.contains("#SBATCH --gpus-per-node=1\n") && !script.contains("gpus-per-task"), "{script}");
    let refused = System::Kubernetes.file(&own(&plan), &Site::default()).unwrap_err().to_string();
    assert!(refused.contains("leave the command out"), "{refused}");

    let host = r#""host":{"accelerators":[{"name":"NVIDIA A10G"},{"name":"NVIDIA A10G"}]}"#;
    let plan = of_context("local", &format!("{host},{gpus}"), four);
    let task = file(System::Skypilot, &own(&plan));
    assert!(task.contains("num_nodes: 1\n") && task.contains("  accelerators: \"A10G:2\"\n"), "{task}");
    assert!(task.contains("CUDA_VISIBLE_DEVICES=$((executor / SKYPILOT_NUM_NODES % 2)) "), "{task}");
    assert!(file(System::Skypilot, &whole(&plan)).contains("  accelerators: \"A10G:2\"\n"));
}

#[test]
fn pods_on_a_machine_type_leave_room_for_its_daemons() {
    let plan = |executors: u32, cores: u32| {
        let machine = r#""machine":"c5.xlarge","machines":1"#;
        let count = format!(r#""executors_per_machine":{executors},"executors":{executors}"#);
        over_machines(&format!(r#"{machine},{count},"cores_per_executor":{cores}"#))
    };
    let capacity = Some(Needs { cores: 4, memory_mib: 8192, gpus: 0 });
    let resources = |task: Task| {
        let text = file(System::Kubernetes, &task);
        let (_, resources) = text.split_once("resources:\n").unwrap();
        resources.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // The machine is in the catalog: 3 processors and 5632 MiB are available.
    assert_eq!(
        resources(Task { capacity, ..own(&plan(2, 2)) }),
        "requests: { cpu: 1500m, memory: 2048Mi } limits: { cpu: 2, memory: 2048Mi }"
    );
    assert_eq!(
        resources(Task { capacity, ..whole(&plan(1, 4)) }),
        "requests: { cpu: 3, memory: 2560Mi } limits: { cpu: 4, memory: 2560Mi }"
    );
    assert_eq!(
        resources(Task { capacity, ..own(&plan(1, 2)) }),
        "requests: { cpu: 2, memory: 2048Mi } limits: { cpu: 2, memory: 2048Mi }"
    );
    // Otherwise the pods are assumed to fill it: 3 of 4 processors and 2560 of 4096 MiB are
    // available.
    assert_eq!(
        resources(own(&plan(2, 2))),
        "requests: { cpu: 1500m, memory: 1280Mi } limits: { cpu: 2, memory: 2048Mi }"
    );
}

#[test]
fn executors_of_a_cluster_are_on_as_many_machines_as_it_likes() {
    let plan = of_context("spark", r#""host":{}"#, r#""executors":6,"cores_per_executor":4"#);
    let script = file(System::Slurm, &own(&plan));
    assert!(!script.contains("--nodes") && script.contains("#SBATCH --ntasks=6\n"), "{script}");
    let task = file(System::Skypilot, &own(&plan));
    assert!(task.contains("num_nodes: 6\nresources:\n  cpus: 4+\n  memory: 2+\n"), "{task}");
    assert!(plan.task(None, None, None).is_err(), "Foreglow itself does not start Spark");
    let local = of_context("local", r#""host":{}"#, r#""executors":6,"cores_per_executor":4"#);
    assert!(file(System::Slurm, &own(&local)).contains("#SBATCH --nodes=1\n"));
}

#[test]
fn a_plan_at_spot_prices_asks_for_interruptible_machines() {
    let plan = over_machines(r#""machine":"c5.xlarge","executors":1,"cores_per_executor":4"#);
    assert!(file(System::Skypilot, &whole(&plan)).contains("  use_spot: true\n"));
    let plan = of_context("local", r#""host":{}"#, r#""executors":1,"cores_per_executor":4"#);
    assert!(!file(System::Skypilot, &whole(&plan)).contains("use_spot"));
}

#[test]
fn what_is_no_plan_is_refused_with_the_command_that_writes_one() {
    let error = |text: &str| Plan::read(text.as_bytes()).unwrap_err().to_string();
    let end = "write one with `foreglow plan … --format json`";
    assert_eq!(error(" \n"), format!("that is not a plan (it is empty); {end}"));
    assert!(error("{\"schema\":1}\n{\"schema\":1}\n").ends_with(end));
}

#[test]
fn counts_outside_their_limits_are_refused() {
    let error = |counts: &str| {
        let context = r#"{"workload":{"model":"resnet18","mode":"inference","image_px":64,"images":20000,"epochs":1,
            "batch_size":32},"engine":"local","host":{}}"#;
        let counts = format!(r#""executors":2,"cores_per_executor":3,"memory_per_executor_mib":2048,{counts}"#);
        // The last of two equal fields is the second one of the object.
        let fields: serde_json::Value = serde_json::from_str(&format!("{{{counts}}}")).unwrap();
        Plan::read(format!(r#"{{"context":{context},"recommended":{fields}}}"#).as_bytes()).unwrap_err().to_string()
    };
    for (counts, why) in [
        (r#""executors":0"#, "executors is 0, and must be from 1 to 10000"),
        (r#""cores_per_executor":0"#, "cores_per_executor is 0, and must be from 1 to 1000"),
        (r#""memory_per_executor_mib":0"#, "memory_per_executor_mib is 0, and must be from 1 to 16777216"),
        (r#""cores_per_executor":4294967295"#, "cores_per_executor is 4294967295, and must be from 1 to 1000"),
        (r#""machines":0"#, "machines is 0, and must be from 1 to 10000"),
        (r#""total_cores":7"#, "total_cores is 7, which is no uneven split of the executors"),
    ] {
        let said = error(counts);
        assert!(said.starts_with(&format!("that is not a plan ({why}); write one with")), "{said}");
    }
}

#[test]
fn a_time_limit_out_of_range_is_refused_by_every_system() {
    let plan = over_machines(r#""machine":"c5.xlarge","executors":1,"cores_per_executor":4"#);
    for system in [System::Slurm, System::Kubernetes, System::Skypilot] {
        for secs in [0.0, -5.0, 1e300, f64::INFINITY, f64::NAN] {
            let task = Task { limit_secs: Some(secs), ..whole(&plan) };
            let error = system.file(&task, &Site::default()).unwrap_err().to_string();
            assert_eq!(error, "the time limit must be above 0 and at most 1000000000 s; give another with --time");
        }
        let days = system.file(&Task { limit_secs: Some(34_560_000.0), ..whole(&plan) }, &Site::default()).unwrap();
        let written = ["--time=400-00:00:00", "activeDeadlineSeconds: 34560000", "timeout 576000m"];
        assert!(written.into_iter().any(|limit| days.contains(limit)), "{days}");
    }
}

#[test]
fn names_that_sbatch_would_read_otherwise_are_refused() {
    let plan = over_machines(r#""machine":"c5.xlarge","executors":1,"cores_per_executor":4"#);
    for queue in ["", "a b", "a\nrm -rf ~", "a\tb", "a'b", "a\"b", "a\\b", "a#b", "a\u{2028}b"] {
        let site = Site { queue: Some(queue.to_owned()), ..Site::default() };
        let error = System::Slurm.file(&whole(&plan), &site).unwrap_err().to_string();
        assert!(error.starts_with(&format!("Slurm's option --partition cannot have the value {queue:?}")), "{error}");
        assert!(System::Kubernetes.file(&whole(&plan), &site).is_ok());
    }
    let odd = over_machines(r#""machine":"a'b","executors":1,"cores_per_executor":4"#);
    assert!(System::Slurm.file(&whole(&odd), &Site::default()).is_err());
    let site = Site { queue: Some("gpu-långa,short".to_owned()), ..Site::default() };
    assert!(file_at(&site, &whole(&plan)).contains("#SBATCH --partition=gpu-långa,short\n"));
}

fn file_at(site: &Site, task: &Task) -> String {
    System::Slurm.file(task, site).unwrap()
}

/// A plan of a program that trains on 8 GPUs of two machines.
fn of_program(words: &str) -> Plan {
    let workload = format!(
        r#"{{"model":"train.py","mode":"training","image_px":1,"images":1281167,"epochs":90,"batch_size":256,
            "command":{words},"unit":"images"}}"#
    );
    let recommended = r#"{"executors":8,"machines":2,"cores_per_executor":4,"memory_per_executor_mib":2048,
        "interval":{"upper_secs":100.0}}"#;
    let plan = format!(
        r#"{{"context":{{"workload":{workload},"engine":"command","host":{{}},"accelerator":"A100","machines":2}},
            "recommended":{recommended}}}"#
    );
    Plan::read(plan.as_bytes()).unwrap()
}

#[test]
fn a_program_is_started_whole_at_the_planned_configuration() {
    let plan = of_program(
        r#"["torchrun","--nnodes={nodes}","--nproc_per_node={gpus}","train.py","--max-steps","{steps}","--workers","{cores}"]"#,
    );
    // 1,281,167 images in 90 epochs are 56,302 steps of 8 × 256.
    let task = whole(&plan);
    assert_eq!(task.command, "torchrun '--nnodes=2' '--nproc_per_node=4' train.py --max-steps 56302 --workers 4");
    assert!(!task.runs_foreglow);
    let script = file(System::Slurm, &task);
    for line in ["--nodes=2", "--ntasks=2", "--cpus-per-task=16", "--gpus-per-task=4"] {
        assert!(script.contains(&format!("#SBATCH {line}\n")), "{line} in {script}");
    }
    assert!(script.contains("srun --cpus-per-task=16 torchrun "), "{script}");
}

#[test]
fn a_command_without_a_launcher_is_started_for_each_executor() {
    let plan = of_program(r#"["./train","{images}"]"#);
    let task = whole(&plan);
    assert_eq!((task.processes, task.command.as_str()), (8, "./train 1281167"));
    let other = CommandTemplate::new(vec!["./train {rate} | tee log".to_owned()]).ok();
    assert_eq!(plan.task(other, None, None).unwrap().command, "sh -c './train 1 | tee log'");
    let open = CommandTemplate::new(vec!["./train".to_owned(), "{data}".to_owned()]).ok();
    let error = plan.task(open, None, None).unwrap_err().to_string();
    assert_eq!(error, "the command has {data}, and the plan has no data; write the value itself");
}

#[test]
fn what_a_plan_predicts_is_kept_with_its_job_and_configuration() {
    let now: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
    let choice = r#""executors":2,"cores_per_executor":4,"engine":"local","machine":"c5.xlarge","accelerator":null"#;
    assert_eq!(over_machines(choice).kept(now), None, "a plan without a predicted time");
    let with_time = |secs: f64| over_machines(&format!(r#"{choice},"completion_time_secs":{secs}"#)).kept(now);
    let kept = with_time(90.0).unwrap();
    assert_eq!((kept.machine.as_str(), kept.engine, kept.accelerated), ("c5.xlarge", Engine::Local, false));
    assert_eq!((kept.split, kept.batch_size, kept.partition_size), (CoreSplit::even(2, 4), 32, 64));
    assert_eq!((kept.job.images, kept.job.model.as_str()), (20_000, "resnet18"));
    let predicted = kept.predicted;
    assert_eq!((predicted.planned_at, predicted.median_secs, predicted.upper_secs), (now, 90.0, Some(100.0)));
    assert_eq!(with_time(-1.0), None, "a time out of range would make the sample invalid");

    let context = of_context(
        "spark",
        r#""host":{"cpu":"Some CPU"}"#,
        r#""executors":2,"cores_per_executor":4,"completion_time_secs":90.0"#,
    );
    let kept = context.kept(now).unwrap();
    assert_eq!((kept.machine.as_str(), kept.engine, kept.batch_size), ("Some CPU", Engine::Spark, 32));
}

#[test]
fn a_plan_from_public_measurements_fills_the_machine() {
    let plan = r#"{"context":{"workload":{"model":"resnet50","mode":"training","image_px":224,"images":1000,"epochs":1,
        "batch_size":32},"engine":"command","host":{"machine":"gpu_8x_h100_sxm5"},"accelerator":"H100",
        "accelerators_per_executor":1},
        "recommended":{"machine":"gpu_8x_h100_sxm5","basis":"public","executors":8,"machines":1,"executors_per_machine":8,
        "cores_per_executor":1,"memory_per_executor_mib":4096,"completion_time_secs":80.0,"interval":{"upper_secs":100.0}}}"#;
    let plan = Plan::read(plan.as_bytes()).unwrap();
    assert_eq!(plan.unmeasured_machine(), Some("gpu_8x_h100_sxm5"));
    let plan = plan.filling(Needs { cores: 208, memory_mib: 1_800_000, gpus: 8 });
    let words = ["torchrun", "--nproc_per_node={gpus}", "train.py", "--workers", "{cores}"];
    let task = plan.task(CommandTemplate::new(words.map(str::to_owned).to_vec()).ok(), None, None).unwrap();
    assert_eq!(task.command, "torchrun '--nproc_per_node=8' train.py --workers 26");
    assert_eq!(task.share, Share::Each(Needs { cores: 208, memory_mib: 1_620_000, gpus: 8 }));
    let kept = plan.kept(Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!((kept.is_of_gpus, kept.split.executors, kept.predicted.median_secs), (true, 8, 80.0));
}
