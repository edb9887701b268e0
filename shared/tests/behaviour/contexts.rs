//! Contexts, and grouping samples into jobs.

use foreglow_shared::{
    Accelerator, Context, DataSet, ExceededMemory, Fingerprint, IncompleteOutcome, Outcome, PeakMemory, Question,
    Sample, TextInput, group_by_context,
};
use proptest::prelude::*;
use serde_json::json;

use crate::words::numbered;

/// Samples of three contexts, with repeats and incomplete runs.
fn samples() -> Vec<Sample> {
    (0..12)
        .map(|number| {
            let mut sample = numbered(number);
            sample.workload.model = ["lenet5", "resnet18", "vgg16"][number as usize % 3].into();
            sample.configuration.executors = 1 + number % 2;
            sample.completion_time_secs = Some(1.0 + f64::from(number % 5));
            if number == 4 {
                sample.outcome = Outcome::OutOfMemory;
            }
            if number == 7 {
                sample.outcome = Outcome::TimedOut;
            }
            if number == 10 {
                sample.outcome = Outcome::Failed;
            }
            sample
        })
        .collect()
}

#[test]
fn samples_are_grouped_by_context_and_only_completed_runs_are_observations() {
    let jobs = group_by_context(&samples());
    let sizes: Vec<(&str, usize)> =
        jobs.iter().map(|job| (job.context.workload.model.as_str(), job.observations.len())).collect();
    assert_eq!(sizes, [("lenet5", 4), ("resnet18", 1), ("vgg16", 4)]);
}

#[test]
fn the_largest_peak_of_equal_cores_and_partitions_is_kept() {
    let held = |number: u32, cores: u32, outcome: Outcome, peak_mib: Option<u64>| {
        let mut sample = numbered(number);
        sample.configuration.cores_per_executor = cores;
        sample.outcome = outcome;
        sample.peak_memory_mib = peak_mib;
        sample
    };
    let samples = [
        held(0, 2, Outcome::Completed, Some(300)),
        held(1, 1, Outcome::Completed, Some(200)),
        held(2, 2, Outcome::Completed, Some(310)),
        held(3, 2, Outcome::OutOfMemory, Some(900)),
        held(4, 4, Outcome::Completed, None),
        held(5, 8, Outcome::Completed, Some(0)),
    ];
    let partition_size = samples[0].configuration.partition_size;
    let peak = |cores_per_executor, peak_mib| PeakMemory { cores_per_executor, partition_size, peak_mib };
    assert_eq!(group_by_context(&samples)[0].peaks, [peak(1, 200), peak(2, 310)]);
}

#[test]
fn out_of_memory_and_stopped_runs_are_kept_separately_and_failed_ones_are_dropped() {
    let jobs = group_by_context(&samples());
    let incomplete: Vec<(u32, IncompleteOutcome, Option<f64>)> =
        jobs[1].incomplete.iter().map(|run| (run.executors, run.outcome, run.at_least_secs)).collect();
    assert_eq!(incomplete, [(1, IncompleteOutcome::OutOfMemory, None), (2, IncompleteOutcome::TimedOut, Some(3.0))]);
    assert!(jobs[0].incomplete.is_empty() && jobs[2].incomplete.is_empty());
}

#[test]
fn the_memory_of_a_gpu_is_told_from_that_of_an_executor_in_samples_of_every_version() {
    let outcome_of = |accelerator: Option<&str>, exceeded: Option<ExceededMemory>, reason: &str| {
        let mut sample = numbered(0);
        sample.outcome = Outcome::OutOfMemory;
        sample.configuration.accelerator = accelerator.map(str::to_owned);
        sample.reason = Some(reason.to_owned());
        sample.exceeded_memory = exceeded;
        group_by_context(&[sample])[0].incomplete[0].outcome
    };
    let (gpu, host) = (IncompleteOutcome::OutOfAcceleratorMemory, IncompleteOutcome::OutOfMemory);
    let t4 = Some("Tesla T4");
    assert_eq!(outcome_of(t4, Some(ExceededMemory::Accelerator), ""), gpu);
    assert_eq!(outcome_of(t4, Some(ExceededMemory::Executor), "the memory of the GPU is fine"), host);
    assert_eq!(outcome_of(t4, None, "the memory of the GPU (Tesla T4) is not enough; use a smaller one"), gpu);
    assert_eq!(outcome_of(t4, None, "executor 1: out of memory: the device could not allocate a buffer"), gpu);
    assert_eq!(outcome_of(t4, None, "an executor needs more than its 512 MiB"), host);
    assert_eq!(outcome_of(None, Some(ExceededMemory::Accelerator), ""), host);
}

#[test]
fn gpus_are_compared_by_their_memory_or_else_by_their_names() {
    let context = |name: &str, memory_mib: Option<u64>| {
        let mut context = Context::of(&numbered(0));
        context.accelerator = Some(name.into());
        let accelerator = Accelerator { name: name.into(), memory_mib, ..Accelerator::default() };
        context.host.accelerators = vec![accelerator];
        context
    };
    let holds_no_more = |own: &Context, other: &Context| own.has_no_more_accelerator_memory_than(other);
    let [t4, a100, large] =
        [("Tesla T4", 15_360), ("A100", 40_960), ("A100", 81_920)].map(|(name, mib)| context(name, Some(mib)));
    assert!(holds_no_more(&t4, &a100) && !holds_no_more(&a100, &t4));
    assert!(!holds_no_more(&large, &a100) && holds_no_more(&a100, &large));
    let reserved = context("Tesla T4", Some(14_900));
    assert!(holds_no_more(&t4, &reserved), "a driver may reserve more of the same product");
    let unknown = context("Tesla T4", None);
    assert!(holds_no_more(&unknown, &t4) && !holds_no_more(&unknown, &a100));
}

#[test]
fn a_run_beside_other_programs_is_disturbed_and_one_with_more_threads_than_processors_is_not() {
    let warned = |number: u32, warnings: serde_json::Value| {
        let mut sample = numbered(number);
        sample.completion_time_secs = Some(1.0 + f64::from(number));
        sample.extra.insert("warnings".into(), warnings);
        sample
    };
    let samples = [
        numbered(0),
        warned(1, json!([{"kind": "more_slots_than_processors"}, {"kind": "busy_machine", "free_processors": 0}])),
        warned(2, json!([{"kind": "more_slots_than_processors"}])),
        warned(3, json!("busy_machine")),
        warned(4, json!([{"kind": "throttled", "times": 2}])),
    ];
    let jobs = group_by_context(&samples);
    let disturbed: Vec<(f64, bool)> =
        jobs[0].observations.iter().map(|run| (run.completion_time_secs, run.disturbed)).collect();
    assert_eq!(disturbed, [(2.0, true), (3.0, false), (4.0, false), (5.0, true), (12.4, false)]);
}

#[test]
fn unknown_workload_fields_distinguish_contexts_whatever_their_order() {
    let mut half = numbered(1);
    half.workload.extra.insert("precision".into(), json!("f16"));
    half.workload.extra.insert("layout".into(), json!("nchw"));
    let mut other_order = numbered(2);
    other_order.workload.extra.insert("layout".into(), json!("nchw"));
    other_order.workload.extra.insert("precision".into(), json!("f16"));
    assert_eq!(group_by_context(&[half, other_order, numbered(3)]).len(), 2);
}

#[test]
fn fingerprints_are_those_of_earlier_versions_with_optional_and_unknown_fields() {
    let fingerprint_of = |text: &str| {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add(text.as_bytes());
        fingerprint.to_string()
    };
    // The JSON of earlier versions, which kept all optional fields in one sorted map.
    let known = r#""average_every":20,"classes":10,"data":"digits","dtype":"f16","optimizer":"adam","resize_px":72,"text":{"vector_dims":200,"vocabulary":9,"words":50},"validation":0.25"#;
    let mixed = r#""classes":10,"layout":{"a":1,"b":2},"optimizer":"adam","zone":"x""#;
    for fields in [known, mixed] {
        let text = format!(
            r#"{{"workload":{{"model":"a","mode":"training","image_px":1,"images":9,"epochs":1,"batch_size":8,{fields}}},"engine":"local","host":{{"cpu":null,"adapter":null}}}}"#
        );
        let context: Context = serde_json::from_str(&text).unwrap();
        assert_eq!(context.fingerprint(), fingerprint_of(&text));
    }
}

#[test]
fn several_machines_or_accelerators_per_executor_are_another_context_and_one_is_the_default() {
    let on = |number: u32, accelerators: Option<u32>, machines: Option<u32>| {
        let mut sample = numbered(number);
        sample.configuration.accelerators_per_executor = accelerators;
        sample.configuration.machines = machines;
        sample
    };
    let samples = [on(1, None, None), on(2, Some(1), Some(1)), on(3, Some(8), None), on(4, None, Some(2))];
    let jobs = group_by_context(&samples);
    assert_eq!(jobs.iter().map(|job| job.observations.len()).collect::<Vec<_>>(), [1, 1, 2]);
    let groups = foreglow_shared::group_by_definition(&samples);
    assert_eq!(groups.len(), 1, "they are configurations of one job");
    let mut names: Vec<String> = jobs.iter().map(|job| job.context.machine_name()).collect();
    names.sort();
    assert_eq!(names, ["…", "…, 2 machines", "…, 8 accelerators per executor"]);
    assert!(Context::of(&samples[3]).title().ends_with("local, …, 2 machines"));
}

#[test]
fn another_unit_of_work_is_another_job_and_its_title_names_the_unit() {
    let mut steps = numbered(1);
    steps.workload.unit = Some("steps".into());
    assert_eq!(group_by_context(&[steps.clone(), numbered(2)]).len(), 2);
    assert_eq!(Context::of(&steps).title(), "resnet50 inference, 200000 steps, batch 32, local, …");
}

#[test]
fn a_context_has_a_title_that_names_the_job_and_the_machine() {
    let title = Context::of(&numbered(1)).title();
    assert_eq!(title, "resnet50 inference, 200000 images of 224 px, batch 32, local, …");
}

#[test]
fn another_data_set_is_another_job_and_its_title_says_where_it_is() {
    let set = |path: &str, fingerprint: &str| DataSet {
        path: path.into(),
        format: "folder".into(),
        items: 400,
        fingerprint: fingerprint.into(),
    };
    let on = |number: u32, set: &DataSet| {
        let mut sample = numbered(number);
        sample.workload.set_data_set(set.clone());
        sample
    };
    let samples = [
        on(1, &set("/a/photos", "0000000000000001")),
        on(2, &set("/a/photos", "0000000000000001")),
        on(3, &set("/a/photos", "0000000000000002")),
        on(4, &set("/b/photos", "0000000000000001")),
        numbered(5),
    ];
    assert_eq!(group_by_context(&samples).len(), 4);
    let title = Context::of(&samples[0]).title();
    assert_eq!(title, "resnet50 inference, 200000 images of 224 px from /a/photos, batch 32, local, …");
}

#[test]
fn names_command_no_terminal() {
    let mut sample = numbered(1);
    sample.workload.model = "lenet5\u{1b}[2J".into();
    sample.host.cpu = Some("A\nCPU".into());
    let title = Context::of(&sample).title();
    assert!(title.starts_with(r"lenet5\u001b[2J inference") && title.ends_with(r"A\nCPU"), "{title}");
}

#[test]
fn the_title_of_a_text_workload_names_its_length_and_another_length_is_another_job() {
    let of_words = |number: u32, words: u32| {
        let mut sample = numbered(number);
        sample.workload.set_text(TextInput { words, vector_dims: 200, ..TextInput::default() });
        sample
    };
    let title = Context::of(&of_words(1, 500)).title();
    assert_eq!(title, "resnet50 inference, 200000 texts of 500 words, batch 32, local, …");
    assert_eq!(group_by_context(&[of_words(1, 500), of_words(2, 500), of_words(3, 100), numbered(4)]).len(), 3);
}

#[test]
fn the_first_question_asks_for_every_configuration_up_to_the_largest_measured() {
    let question = Question::about(&group_by_context(&samples())[0].observations);
    assert_eq!((question.executors, question.cores_per_executor), (vec![1, 2], vec![1, 2, 3, 4]));
    assert_eq!((question.memory_per_executor_mib, question.deadline_secs), (4096, None));
    assert_eq!(Question::about(&[]).executors, [1]);
}

proptest! {
    #[test]
    fn the_order_of_the_samples_does_not_change_the_groups(shuffled in Just(samples()).prop_shuffle()) {
        prop_assert_eq!(group_by_context(&shuffled), group_by_context(&samples()));
    }
}
