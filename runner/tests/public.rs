//! Plans of jobs without samples, from public measurements.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod foreglow;

use foreglow::{Answer, Foreglow};
use serde_json::Value;

const RESNET50: [&str; 12] = [
    "plan",
    "resnet50",
    "--mode",
    "training",
    "--images",
    "1281167",
    "--epochs",
    "90",
    "--image-px",
    "224",
    "--dtype",
    "amp",
];

fn plan(options: &[&str]) -> Answer {
    Foreglow::new().run(&[&RESNET50[..], options].concat())
}

fn json(options: &[&str]) -> Value {
    let answer = plan(&[options, &["--format", "json"]].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    serde_json::from_str(&answer.stdout).unwrap()
}

#[test]
fn a_plan_without_samples_says_where_its_numbers_come_from() {
    let options = ["--deadline", "24h", "--probability", "50%", "--gpus", "L4,A100,H100"];
    let Answer { code, stdout, stderr } = plan(&options);
    assert_eq!(code, 0, "{stdout}{stderr}");
    for part in [
        "resnet50 training",
        "Nothing was measured here: predicted from public measurements of the runs of others",
        "--known 'RTX 3090=812/s'",
        "public measurements",
        " costs less than ",
        "a2-highgpu-1g",
        "p5.48xlarge",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert!(!stdout.contains("T4") && !stdout.contains("its own runs"), "{stdout}");
    let known = plan(&[&options[..], &["--known", "RTX 3090=812/s"]].concat());
    assert!(known.stdout.contains("and 1 number of your own"), "{}", known.stdout);
}

#[test]
fn every_candidate_is_from_public_measurements_and_none_is_measured() {
    let answer = json(&["--deadline", "500h"]);
    let candidates = answer["candidates"].as_array().unwrap();
    assert!(candidates.len() > 30, "{}", candidates.len());
    assert!(candidates.iter().all(|row| row["basis"] == "public" && row["interval"].is_object()));
    assert!(answer["measured"].is_null());
    assert_eq!(answer["public_measurements"]["known"], 0);
}

#[test]
fn a_number_of_the_user_narrows_the_intervals() {
    let width = |answer: &Value| {
        let interval = &answer["candidates"][0]["interval"];
        interval["upper_secs"].as_f64().unwrap() / interval["lower_secs"].as_f64().unwrap()
    };
    let gpus = ["--deadline", "500h", "--gpus", "A100"];
    let known = [&gpus[..], &["--known", "RTX 3090=812/s"]].concat();
    assert!(width(&json(&known)) < 0.7 * width(&json(&gpus)));
}

#[test]
fn an_own_number_that_contradicts_everything_is_reported() {
    let answer = json(&["--deadline", "500h", "--known", "RTX 3090=60000/s"]);
    let notes = answer["public_measurements"]["notes"].to_string();
    assert!(notes.contains("times faster than public measurements suggest"), "{notes}");
}

#[test]
fn unusable_questions_are_refused_with_the_reason() {
    let home = Foreglow::new();
    let cpus = home.write("cpus.csv", "name,processors,memory_gib,hourly_price,currency\nnarrow,1,4,0.05,USD\n");
    for (options, reason) in [
        (&["--gpus", "L5"][..], "similar names: "),
        (&["--known", "RTX 3O90=812/s"], "RTX 3090"),
        (&["--known", "812"], "write a GPU and its images per second"),
        (&["--dtype", "int8"], "int8 is for inference"),
        (&["--catalog", &cpus], "no machine type with a GPU"),
        (&["--batch-size", "8,16"], "one --batch-size"),
    ] {
        let answer = home.run(&[&RESNET50[..10], options].concat());
        assert_eq!(answer.code, 2, "{options:?}: {}", answer.stdout);
        assert!(answer.stderr.contains(reason), "{options:?}: {}", answer.stderr);
    }
    let without_images = home.run(&["plan", "resnet50"]);
    assert_eq!((without_images.code, without_images.stderr.contains("--images")), (2, true));
    let with_samples = home.run(&["plan", foreglow::SAMPLES, "--known", "L4=5/s"]);
    assert_eq!((with_samples.code, with_samples.stderr.contains("job without samples")), (2, true));
}

#[test]
fn a_network_file_is_predicted_by_the_costs_of_its_graph() {
    let net = format!("{}/../shared/onnx/tests/exports/shufflenet_v2.onnx", env!("CARGO_MANIFEST_DIR"));
    let command = ["plan", &net, "--image-px", "32", "--images", "1000000", "--format", "json"];
    let answer = Foreglow::new().run(&command);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let answer: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(answer["public_measurements"]["rows_of_network"], 0);
    assert!(answer["recommended"]["completion_time_secs"].as_f64().unwrap() > 1.0);
}
