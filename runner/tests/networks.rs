//! Networks from ONNX files: runs, training, layers, and files that cannot be used.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod foreglow;
#[path = "../../shared/onnx/tests/writer/mod.rs"]
mod writer;

use std::fs::File;
use std::io::{Seek as _, Write as _};

use foreglow::Foreglow;
use serde_json::Value;
use writer::{Message, external_weight, graph, heading, model, node};

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
    for arguments in [&["resnet18"][..], &["resnet18", "--layers"], &["--layers", "resnet18"]] {
        let table = home.run(&[&["models"], arguments, &["--image-px", "224"]].concat()).stdout;
        assert!(table.contains("11,689,512"), "{arguments:?}: {table}");
    }
    for (arguments, sentence) in [
        (&["--layers"][..], "--layers is for a network; name one CNN or ONNX file"),
        (&["--image-px", "224"], "--image-px is for a network; name one CNN or ONNX file"),
        (&["resnet18", "--layers", "resnet50"], "the layers of two networks are asked for, resnet18 and resnet50"),
    ] {
        let answer = home.run(&[&["models"], arguments].concat());
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(sentence) && answer.stderr.lines().count() == 1, "{}", answer.stderr);
    }
    let table = home.run(&["models", "--layers", "resnet18", "--image-px", "224"]).stdout;
    // torchvision's counts, at the end of the table.
    assert!(table.contains("11,689,512") && table.contains("1,814,073,344"), "{table}");
}

/// Numbers of a weight of 2.4 GB: a fully connected layer with 4,000 outputs.
const HUGE: [i64; 2] = [3 * 224 * 224, 4000];
const HUGE_BYTES: u64 = 4 * HUGE[0] as u64 * HUGE[1] as u64;

/// Writes a network whose weights are a hole in a sparse file: in the file itself, or in another.
fn huge_network(home: &Foreglow, is_outside: bool) -> String {
    let nodes =
        [node("Flatten", "flat", &["images"], "flat", &[]), node("MatMul", "last", &["flat", "m"], "scores", &[])];
    let images = [0, 3, 224, 224];
    let path = home.path("huge.onnx");
    if is_outside {
        File::create(home.path("huge.bin")).unwrap().set_len(HUGE_BYTES + 64).unwrap();
        std::fs::write(&path, model(18, &images, &nodes, &[external_weight("m", &HUGE, "huge.bin", 64)])).unwrap();
        return path;
    }
    let weight = HUGE.iter().fold(Message::default(), |weight, dim| weight.int(1, *dim));
    let weight = weight.int(2, 1).text(8, "m").opened(9, HUGE_BYTES);
    let graph = graph(&images, &nodes, &[]).opened(5, weight.0.len() as u64 + HUGE_BYTES);
    let whole = heading(18).opened(7, (graph.0.len() + weight.0.len()) as u64 + HUGE_BYTES);
    let mut file = File::create(&path).unwrap();
    file.write_all(&[whole.0, graph.0, weight.0].concat()).unwrap();
    let at = file.stream_position().unwrap();
    file.set_len(at + HUGE_BYTES).unwrap();
    path
}

#[test]
fn the_layers_of_a_file_of_2_gb_are_listed_within_a_tenth_of_its_memory() {
    for is_outside in [false, true] {
        let home = Foreglow::new();
        let path = huge_network(&home, is_outside);
        let answer = home.run_within(&["models", &path, "--layers", "--format", "json"], 240);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        let json: Value = serde_json::from_str(&answer.stdout).unwrap();
        assert_eq!(json["parameters"].as_u64(), Some(HUGE_BYTES / 4));
    }
}

#[test]
fn a_file_that_cannot_be_used_is_refused_in_one_sentence_before_anything_runs() {
    let home = Foreglow::new();
    let whole = std::fs::read(export("convnext")).unwrap();
    let mut renamed = whole.clone();
    // The field with the operator; the name of the node also contains the word.
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

#[test]
fn preprocessing_that_changes_the_time_makes_another_job_and_numbers_do_not() {
    let home = Foreglow::new();
    let usual = sample(&home, &export("mobilenet_v3"), &[]);
    assert!(usual.get("normalisation").is_none());
    let numbers = ["--mean", "0.5", "--std", "0.5,0.25,1", "--channel-order", "bgr", "--pixel-range", "1"];
    let normalised = sample(&home, &export("mobilenet_v3"), &numbers);
    assert_eq!(normalised["workload"], usual["workload"]);
    let said = &normalised["normalisation"];
    assert_eq!((&said["mean"], &said["channel_order"]), (&serde_json::json!([0.5, 0.5, 0.5]), &Value::from("bgr")));
    let resizing = ["--resize", "stretch", "--resize-px", "36", "--interpolation", "bicubic"];
    let resized = sample(&home, &export("mobilenet_v3"), &resizing);
    let workload = &resized["workload"];
    assert_eq!((&workload["resize"], &workload["interpolation"]), (&"stretch".into(), &"bicubic".into()));
    assert_eq!(workload["resize_px"], 36);
    assert!(resized.get("normalisation").is_none());
}

#[test]
fn preprocessing_that_does_not_fit_is_refused_in_one_sentence() {
    let home = Foreglow::new();
    let convnext = export("convnext");
    let onnx = [convnext.as_str(), "--image-px", "32"];
    let cases: [(&[&str], &[&str], &str); 10] = [
        (&onnx, &["--resize-px", "31"], "--resize-px is 31, and no image of 32 px can be cut out of it"),
        (&onnx, &["--mean", "0.5"], "--std"),
        (&onnx, &["--mean", "0.5,0.5", "--std", "1"], "write one number, or one for each of three channels"),
        (&onnx, &["--mean", "nan", "--std", "1"], "write one number, or one for each of three channels"),
        (&onnx, &["--mean", "0", "--std", "0"], "standard deviations are above 0"),
        (&onnx, &["--pixel-range", "255"], "--pixel-range 255 needs --mean and --std in these units"),
        (&onnx, &["--resize", "fold"], "write crop or stretch"),
        (&onnx, &["--interpolation", "sinc"], "write nearest, bilinear, bicubic or lanczos"),
        (&["lenet5"], &["--mean", "0.5,0.5,0.5", "--std", "1"], "--mean has 3 numbers, and lenet5 takes grey images"),
        (&["lenet5"], &["--channel-order", "bgr"], "--channel-order bgr is for colour images"),
    ];
    for (model, more, expected) in cases {
        let all = [&["run", "--model"], model, &SMALL, more].concat();
        let run = home.run(&all);
        assert_eq!(run.code, 2, "{model:?} {more:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{model:?} {more:?}: {}", run.stderr);
    }
    let text = home.run(&[&["run", "--model", "text_cnn"], &SMALL[..], &["--resize", "stretch"]].concat());
    assert!(text.code == 2 && text.stderr.contains("--resize is for images"), "{}", text.stderr);
}

const BOUND: [&str; 2] = ["--memory", "200"];
const RESNET: [&str; 2] = ["--image-px", "224"];

/// The largest batch of ResNet-18 that fits 200 MiB.
fn largest_batch(home: &Foreglow, more: &[&str]) -> [u64; 3] {
    let all = [&["models", "resnet18", "--format", "json"], &BOUND[..], &RESNET, more].concat();
    let answer = home.run(&all);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let json: Value = serde_json::from_str(&answer.stdout).unwrap();
    ["surely", "expected", "at_most"].map(|limit| json["largest_batch"][limit].as_u64().unwrap())
}

/// Runs one mini-batch of ResNet-18 in 200 MiB; returns the outcome and standard error.
fn run_batch(home: &Foreglow, batch: u64, output: &str) -> (Value, String) {
    let batch = batch.to_string();
    let sizes = ["--batch-size", &batch, "--partition-size", &batch, "--images", &batch];
    let more = ["--sampling-rate", "1", "--device", "cpu", "--format", "json", "--output", output];
    let run = home.run(&[&["run", "--model", "resnet18"], &BOUND[..], &RESNET, &sizes, &more].concat());
    let sample: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    (sample["outcome"].clone(), run.stderr)
}

#[test]
fn the_largest_batch_that_fits_is_predicted_and_a_run_confirms_it() {
    let home = Foreglow::new();
    let [surely, expected, at_most] = largest_batch(&home, &[]);
    assert!(0 < surely && surely <= expected && expected <= at_most, "{surely} {expected} {at_most}");
    let samples = home.path("samples.jsonl");
    let (outcome, said) = run_batch(&home, surely, &samples);
    assert_eq!(outcome, "completed", "{said}");
    assert!(!said.contains("is expected to need"), "{said}");
    let after = largest_batch(&home, &["--samples", &samples]);
    assert!(after[0] >= surely && after[2] - after[0] < at_most - surely, "{after:?}");
}

#[test]
fn a_run_whose_batch_cannot_fit_is_warned_of_and_its_outcome_bounds_the_answer() {
    let home = Foreglow::new();
    let [_, _, at_most] = largest_batch(&home, &[]);
    let samples = home.path("samples.jsonl");
    let (outcome, said) = run_batch(&home, 2 * at_most, &samples);
    assert_eq!(outcome, "out_of_memory", "{said}");
    assert!(said.contains("is expected to need") && said.contains("choose --batch-size"), "{said}");
    let after = largest_batch(&home, &["--samples", &samples]);
    assert!(after[2] < 2 * at_most, "{after:?}");
}

#[test]
fn a_question_about_memory_that_has_no_answer_is_refused() {
    let home = Foreglow::new();
    let cases: [(&[&str], &str); 3] = [
        (&["models", "text_cnn", "--memory", "1g"], "--memory is for CNNs that take images"),
        (&["models", "resnet18", "--memory", "1g", "--share-size", "4"], "--share-size is for training"),
        (&["models", "--image-px", "64"], "--image-px is for a network"),
    ];
    for (arguments, words) in cases {
        let answer = home.run(arguments);
        assert_eq!(answer.code, 2, "{arguments:?}");
        assert!(answer.stderr.contains(words), "{arguments:?}: {}", answer.stderr);
    }
}

#[test]
fn training_needs_more_memory_than_inference_and_adam_more_than_sgd() {
    let home = Foreglow::new();
    let expected = |more: &[&str]| largest_batch(&home, more)[1];
    let training = expected(&["--mode", "training", "--share-size", "512"]);
    assert!(training < expected(&[]));
    assert!(expected(&["--mode", "training", "--optimizer", "adam", "--share-size", "512"]) <= training);
    assert!(expected(&["--cores", "2"]) < expected(&[]));
}

/// Asks for the largest batches on GPUs.
fn on_gpus(home: &Foreglow, network: &str, more: &[&str]) -> Value {
    let answer = home.run(&[&["models", network, "--format", "json"], more].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    serde_json::from_str(&answer.stdout).unwrap()
}

#[test]
fn the_largest_batches_on_gpus_are_listed_by_number_format() {
    let home = Foreglow::new();
    let answer = home.run(&["models", "resnet50", "--gpu", "T4,A100,H100", "--mode", "training"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    insta::assert_snapshot!("gpu-batches", answer.stdout);
}

#[test]
fn a_network_without_a_graph_has_wider_limits_and_a_measured_peak_narrows_them() {
    let home = Foreglow::new();
    let question = ["--gpu", "A100", "--mode", "training", "--dtype", "amp"];
    let width = |json: &Value| {
        let batch = |limit: &str| json["gpus"][0][limit].as_f64().unwrap();
        batch("at_most") / batch("surely")
    };
    let graph = on_gpus(&home, "resnet50", &question);
    let activations = on_gpus(&home, "resnet101", &question);
    let measured = on_gpus(&home, "resnet101", &[&question[..], &["--peak", "128=11GiB"]].concat());
    assert_eq!([&graph, &activations].map(|json| json["basis"].as_str()), [Some("graph"), Some("activations")]);
    assert!(width(&activations) > 2.0 * width(&graph) && width(&measured) < width(&activations));
    assert_eq!(measured["measured"], 1);
}

#[test]
fn a_question_about_gpus_that_has_no_answer_is_refused() {
    let home = Foreglow::new();
    let cases: [(&[&str], &str); 5] = [
        (&["--gpu", "RTX 3O90"], "similar names"),
        (&["--gpu", "K80", "--dtype", "fp16"], "no units for fp16"),
        (&["--gpu", "L4", "--dtype", "int8", "--mode", "training"], "int8 is for inference"),
        (&["--gpu", "L4", "--memory", "1g"], "cannot be used with"),
        (&["--gpu", "L4", "--image-px", "8"], "32 to 1024 px"),
    ];
    for (arguments, words) in cases {
        let answer = home.run(&[&["models", "resnet50"], arguments].concat());
        assert_eq!(answer.code, 2, "{arguments:?}");
        assert!(answer.stderr.contains(words), "{arguments:?}: {}", answer.stderr);
    }
}
