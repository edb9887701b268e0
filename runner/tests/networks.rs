//! Networks from ONNX files: runs, training, layers, and files that cannot be used.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod foreglow;

use foreglow::Foreglow;
use serde_json::Value;

/// A small export of torchvision, with batch normalisation kept.
fn export(name: &str) -> String {
    format!("{}/../shared/onnx/tests/exports/{name}.onnx", env!("CARGO_MANIFEST_DIR"))
}

const SMALL: [&str; 6] = ["--images", "16", "--sampling-rate", "1", "--device", "cpu"];

fn sample(home: &Foreglow, model: &str, more: &[&str]) -> Value {
    let all: Vec<&str> =
        ["run", "--model", model, "--format", "json"].into_iter().chain(SMALL).chain(more.iter().copied()).collect();
    let run = home.run(&all);
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn a_run_of_a_file_names_it_with_its_fingerprint() {
    let home = Foreglow::new();
    for (name, more) in
        [("mobilenet_v3", ["--executors", "1"].as_slice()), ("convnext", &["--image-px", "32", "--cores", "2"])]
    {
        let sample = sample(&home, &export(name), more);
        let workload = &sample["workload"];
        assert_eq!(workload["model"], format!("{name}.onnx"));
        assert!(workload["network"].as_str().unwrap().ends_with(&format!("exports/{name}.onnx")));
        assert_eq!(workload["network_fingerprint"].as_str().unwrap().len(), 16);
        assert_eq!((&sample["outcome"], &workload["image_px"]), (&Value::from("completed"), &Value::from(32)));
    }
}

#[test]
fn a_network_from_a_file_trains_on_two_executors() {
    let home = Foreglow::new();
    let more = ["--mode", "training", "--epochs", "2", "--batch-size", "8", "--executors", "2", "--draw", "digits"];
    let sample = sample(&home, &export("shufflenet_v2"), &[&more[..], &["--image-px", "32"]].concat());
    assert_eq!(sample["workload"]["mode"], "training");
    let epochs = sample["training"]["epochs"].as_array().or(sample["epochs"].as_array()).cloned();
    assert_eq!(sample["outcome"], "completed", "{sample}");
    assert!(epochs.is_none_or(|epochs| epochs.len() == 2), "{sample}");
}

#[test]
fn layers_are_listed_with_their_sums() {
    let home = Foreglow::new();
    let list = home.run(&["models", "--layers", &export("shufflenet_v2"), "--format", "json", "--image-px", "32"]);
    assert_eq!(list.code, 0, "{}", list.stderr);
    let json: Value = serde_json::from_str(&list.stdout).unwrap();
    let sum: u64 = json["layers"].as_array().unwrap().iter().map(|layer| layer["parameters"].as_u64().unwrap()).sum();
    // PyTorch's count, in the export's JSON file.
    assert_eq!((json["parameters"].as_u64(), sum), (Some(3598), 3598));
    assert!(json["training_bytes"].as_u64() > json["inference_bytes"].as_u64());
    let table = home.run(&["models", "--layers", "resnet18", "--image-px", "224"]).stdout;
    // torchvision's counts, at the end of the table.
    assert!(table.contains("11,689,512") && table.contains("1,814,073,344"), "{table}");
}

#[test]
fn a_file_that_cannot_be_used_is_refused_in_one_sentence_before_anything_runs() {
    let home = Foreglow::new();
    let whole = std::fs::read(export("convnext")).unwrap();
    let mut renamed = whole.clone();
    // The field with the operator; the name of the node contains the word too.
    let place = renamed.windows(6).position(|bytes| bytes == b"\x22\x04Gemm").unwrap();
    renamed[place + 2..place + 6].copy_from_slice(b"Grmm");
    for (name, bytes) in
        [("cut.onnx", &whole[..1000]), ("text.onnx", b"shopping list"), ("new.onnx", &renamed), ("empty.onnx", b"")]
    {
        std::fs::write(home.path(name), bytes).unwrap();
    }
    let path = |name: &str| home.path(name);
    let convnext = export("convnext");
    let mobilenet = export("mobilenet_v3");
    let cases = [
        (path("missing.onnx"), [].as_slice(), "there is no file"),
        (path("cut.onnx"), &[], "cut.onnx: the file is truncated"),
        (path("text.onnx"), &[], "text.onnx: "),
        (path("empty.onnx"), &[], "empty.onnx: this is not an ONNX file: it has no graph"),
        (path("new.onnx"), &["--image-px", "32"], "operators that are not supported: Grmm (node "),
        (mobilenet.clone(), &["--image-px", "64"], "mobilenet_v3.onnx cannot take images of 64 px"),
        (mobilenet, &["--words", "10"], "--words is for texts"),
        (convnext, &["--image-px", "2"], "convnext.onnx cannot take images of 2 px"),
    ];
    for (model, more, expected) in cases {
        let all: Vec<&str> = ["run", "--model", &model].into_iter().chain(SMALL).chain(more.iter().copied()).collect();
        let run = home.run(&all);
        assert_eq!(run.code, 2, "{model} {more:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{model} {more:?}: {}", run.stderr);
        assert_eq!(run.stderr.trim().lines().count(), 1, "{}", run.stderr);
    }
}
