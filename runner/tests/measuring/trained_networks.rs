//! Results of a training run: classes, weights, validation and checkpoints.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use foreglow_shared::{Context, Outcome, Sample, parse_line};
use serde_json::Value;

use crate::bench_folder::{answer, foreglow, images, path, text};

const TRAINING: &str = "run --mode training --device cpu --format json --sampling-rate 1";
const DIGITS: &str = "--model lenet5 --draw digits";

/// Splits a command at its spaces, but not within double quotes, in which paths are.
fn words(command: &str) -> Vec<&str> {
    let words =
        |(place, part): (usize, _)| if place % 2 == 0 { str::split_whitespace(part).collect() } else { vec![part] };
    command.split('"').enumerate().flat_map(words).collect()
}

/// Runs a command, and returns its sample and standard error.
fn run(command: &str) -> (Sample, String) {
    let (code, out, err) = answer(&words(command));
    assert_eq!(code, 0, "{command}: {err}");
    let sample = parse_line(out.trim()).unwrap();
    assert_eq!(sample.outcome, Outcome::Completed, "{command}");
    (sample, err)
}

fn trained(options: &str) -> Sample {
    run(&format!("{TRAINING} {options}")).0
}

#[test]
fn validation_and_classification_are_in_the_sample_and_each_epoch_is_a_line() {
    let options = format!("{DIGITS} --images 300 --epochs 3 --batch-size 16 --optimizer adam --executors 2");
    let (sample, err) = run(&format!("{TRAINING} {options} --validation 20%"));
    let training = &sample.extra["training"];
    let epochs = training["epochs"].as_array().unwrap();
    assert_eq!(epochs.len(), 3);
    for epoch in epochs {
        assert_eq!((&epoch["images"], &epoch["validation"]["images"]), (&240.into(), &60.into()));
    }
    assert!(epochs[2]["validation"]["loss"].as_f64().unwrap() < epochs[0]["validation"]["loss"].as_f64().unwrap());
    let classification = &training["classification"];
    assert_eq!(classification["on"], "validation");
    let confusion = classification["confusion"].as_array().unwrap();
    let sum = |rows: &[&Value]| rows.iter().map(|row| row[2].as_u64().unwrap()).sum::<u64>();
    let correct: Vec<&Value> = confusion.iter().filter(|row| row[0] == row[1]).collect();
    assert_eq!(sum(&confusion.iter().collect::<Vec<_>>()), 60);
    let accuracy = epochs[2]["validation"]["accuracy"].as_f64().unwrap();
    assert!((sum(&correct) as f64 / 60.0 - accuracy).abs() < 1e-6, "{accuracy}: {confusion:?}");
    let f1 = classification["macro"]["f1"].as_f64().unwrap();
    let classes = classification["classes"].as_array().unwrap();
    let mean = classes.iter().map(|class| class["f1"].as_f64().unwrap()).sum::<f64>() / classes.len() as f64;
    assert!((f1 - mean).abs() < 1e-5, "{f1} and {mean}");
    for epoch in 1..=3 {
        assert!(err.contains(&format!("epoch {epoch} of 3: loss ")), "{err}");
    }
    assert_eq!(err.matches("; validation: loss ").count(), 3, "{err}");
    let without = trained(&options);
    assert_ne!(Context::of(&sample), Context::of(&without), "fewer images are learned");
    assert!(without.extra["training"].get("classification").is_none());
}

#[test]
fn the_folders_give_the_classes_and_the_context_tells_them_apart() {
    let folder = images(12);
    for class in 0..3 {
        let below = folder.path().join(format!("kind {class}"));
        std::fs::create_dir(&below).unwrap();
        for index in (class..12).step_by(3) {
            std::fs::rename(path(&folder, index), below.join(format!("{index}.jpg"))).unwrap();
        }
    }
    let data = format!("--model resnet20_cifar --batch-size 6 --data {}", text(folder.path()));
    let three = trained(&format!("{data} --test-data {}", text(folder.path())));
    assert_eq!(three.workload.classes, Some(3));
    let classes = three.extra["training"]["classification"]["classes"].as_array().unwrap().clone();
    assert!(classes.iter().any(|class| class["name"] == "kind 1"), "{classes:?}");
    let own = trained(&format!("{data} --classes own"));
    assert_eq!(own.workload.classes, None);
    assert_eq!(trained(&format!("{data} --classes 10")).workload.classes, None, "10 are its own");
    assert_ne!(Context::of(&three), Context::of(&own));
    let (inference, _) = run(&format!("run --device cpu --format json --sampling-rate 1 --classes 7 {data}"));
    assert_eq!(inference.workload.classes, Some(7));
    let (inference, _) = run(&format!("run --device cpu --format json --sampling-rate 1 {data}"));
    assert_eq!(inference.workload.classes, None, "only training takes the classes from the folders");
}

#[test]
fn saved_weights_give_the_same_loss_when_they_are_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let weights = folder.path().join("w.safetensors");
    // Without batch normalisation, whose statistics follow the images at any learning rate.
    let convnext = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/onnx/tests/exports/convnext.onnx");
    for network in [format!("--model \"{convnext}\" --image-px 32 --draw digits"), DIGITS.to_owned()] {
        let test = format!("{network} --images 200 --test-images 100");
        let saved = trained(&format!("{test} --epochs 2 --optimizer adam --save-weights {}", text(&weights)));
        let held_out = |sample: &Sample| sample.extra["training"]["held_out"]["loss"].as_f64().unwrap();
        let options = format!("{test} --seed 5 --learning-rate 0.000000000001 --momentum 0");
        let loaded = trained(&format!("{options} --weights {}", text(&weights)));
        assert!((held_out(&saved) - held_out(&loaded)).abs() < 1e-5, "{} and {}", held_out(&saved), held_out(&loaded));
        let first = trained(&options);
        assert!((held_out(&saved) - held_out(&first)).abs() > 1e-3, "{network}: other weights have another loss");
        assert_eq!(Context::of(&loaded), Context::of(&first), "weights do not change the time");
    }
    let (code, _, err) = answer(&["run", "--device", "cpu", "--model", "resnet18", "--weights", text(&weights)]);
    assert_eq!((code, err.trim().lines().count()), (2, 1), "{err}");
    assert!(err.contains("has no tensor conv1.weight") || err.contains("the tensor conv1.weight in"), "{err}");
}

/// Kills the run with SIGKILL after its first checkpoint, and continues it.
fn killed_and_continued(options: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (whole, continued, checkpoint) = (file("whole"), file("continued"), file("state"));
    let job = format!("{TRAINING} {DIGITS} --images 600 --epochs 12 --batch-size 8 --schedule cosine {options}");
    let (expected, _) = run(&format!("{job} --checkpoint {} --save-weights {}", text(&file("a")), text(&whole)));

    let command = format!("{job} --checkpoint {} --save-weights {}", text(&checkpoint), text(&continued));
    let mut child = foreglow(&command.split_whitespace().collect::<Vec<_>>())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    while !checkpoint.exists() {
        assert!(Instant::now() < patience && child.try_wait().unwrap().is_none(), "no checkpoint");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(checkpoint.exists() && !continued.exists(), "the run was killed before its end");

    let other = command.replace("--schedule cosine", "--schedule constant");
    let (code, _, err) = answer(&other.split_whitespace().collect::<Vec<_>>());
    assert!(code != 0 && err.contains("is the checkpoint of another job: its schedule is "), "{err}");

    let (sample, err) = run(&command);
    let training = &sample.extra["training"];
    let after = training["resumed_after_epochs"].as_u64().unwrap();
    assert!((1..12).contains(&after), "{after}");
    assert!(err.contains("the checkpoint continues after "), "{err}");
    assert_eq!(training["epochs"], expected.extra["training"]["epochs"], "loss and accuracy of every epoch");
    assert_eq!(sample.images_processed, expected.images_processed);
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&continued).unwrap(), "the same weights");
    assert_eq!(names(folder.path()), ["continued", "whole"], "the checkpoints of complete runs are deleted");
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_killed_training_continues_to_the_same_bytes() {
    killed_and_continued("--validation 10%");
}

#[test]
fn a_killed_training_of_executors_that_average_parameters_continues_to_the_same_bytes() {
    killed_and_continued("--executors 2 --average-every 3 --optimizer adam");
}
