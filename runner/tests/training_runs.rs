//! `foreglow import` by the real binary on folders of training runs, whose files real programs
//! wrote (`shared/import/tests/training`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod foreglow;

use std::path::Path;

use foreglow::{Answer, Foreglow};
use serde_json::Value;

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/import/tests/training");

/// Copies a file into the folder of a run.
fn copy(home: &Foreglow, name: &str, to: &str) {
    let to = home.path(to);
    std::fs::create_dir_all(Path::new(&to).parent().unwrap()).unwrap();
    std::fs::copy(format!("{FILES}/{name}"), to).unwrap();
}

fn import(home: &Foreglow, arguments: &[&str]) -> Answer {
    home.run(&[&["import", "--output", &home.path("samples.jsonl")], arguments].concat())
}

fn samples(home: &Foreglow) -> Vec<Value> {
    let text = std::fs::read_to_string(home.path("samples.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_folder_of_one_partial_run_is_enough_for_an_answer() {
    let home = Foreglow::new();
    copy(&home, "checkpoint_state.json", "bert-base/checkpoint-20/trainer_state.json");
    copy(&home, "tensorboardx.tfevents", "bert-base/runs/Nov28_host/events.out.tfevents.1.host");
    let answer = import(&home, &[&home.path("bert-base")]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let whole =
        answer.stdout.lines().find(|line| line.contains("whole job, here")).unwrap_or_else(|| panic!("{answer:?}"));
    assert!(whole.contains(" to "), "{whole}");
    assert!(answer.stderr.contains("its progress ends after 30 of 120 steps"), "{answer:?}");
    let [sample] = &samples(&home)[..] else { panic!("{answer:?}") };
    assert_eq!((&sample["workload"]["model"], &sample["workload"]["unit"]), (&"bert-base".into(), &"steps".into()));

    let plan = home.run(&["plan", &home.path("samples.jsonl"), "--format", "json"]);
    assert_eq!(plan.code, 0, "{plan:?}");
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    assert!(plan["recommended"]["completion_time_secs"].as_f64().unwrap() > 1.0, "{plan}");
    assert!(plan["recommended"]["interval"]["upper_secs"].as_f64().unwrap() > 1.0, "{plan}");

    // The folder in the place of samples has the same answer.
    let of_folder = home.run(&["plan", &home.path("bert-base"), "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&of_folder.stdout).unwrap(), plan);
    copy(&home, "tensorboardx.tfevents", "alone/events.out.tfevents.1.host");
    let unknown = home.run(&["plan", &home.path("alone/events.out.tfevents.1.host")]);
    assert!(unknown.code == 2 && unknown.stderr.contains("give --steps of the whole job"), "{unknown:?}");
}

#[test]
fn labels_describe_several_runs_in_a_folder() {
    let home = Foreglow::new();
    copy(&home, "tensorboardx.tfevents", "runs/a/events.out.tfevents.1.host");
    copy(&home, "trainer.tfevents", "runs/b/events.out.tfevents.2.host");
    let folder = home.path("runs");
    let refused = import(&home, &[&folder]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("give --steps of the whole job"), "{refused:?}");

    home.write("runs/labels.csv", "run,model,steps,gpus,machine\na,mlp,120,1,g5.xlarge\nb,mlp,120,8,p4d.24xlarge\n");
    let answer = import(&home, &[&folder]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let read = samples(&home);
    let told = |sample: &Value| {
        let configuration = &sample["configuration"];
        [&configuration["executors"], &configuration["accelerator"], &sample["host"]["machine"]].map(Value::to_string)
    };
    assert_eq!(told(&read[0]), ["1", "\"A10G\"", "\"g5.xlarge\""]);
    assert_eq!(told(&read[1]), ["8", "\"A100\"", "\"p4d.24xlarge\""]);
    // Each run tells the time of its own configuration.
    let plan = home.run(&["plan", &home.path("samples.jsonl"), "--format", "json"]);
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    let rows = plan["candidates"].as_array().unwrap().iter().filter(|row| row["completion_time_secs"].is_f64());
    let timed: Vec<String> =
        rows.map(|row| format!("{} × {}, {}", row["machine"], row["executors"], row["interval"].is_object())).collect();
    assert_eq!(timed, ["\"g5.xlarge\" × 1, true", "\"p4d.24xlarge\" × 8, true"], "{plan}");

    home.write("runs/labels.csv", "run,step\na,120\n");
    let refused = import(&home, &[&folder]);
    assert!(refused.code == 2 && refused.stderr.contains("no label has the name \"step\""), "{refused:?}");
}
