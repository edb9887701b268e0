//! Training end to end: it learns, the result does not depend on the division of work, and failures
//! are reported.

use foreglow_shared::{Context, Mode, Outcome, Sample};

use crate::bench_folder::{answer, images, path, sample, text};

/// Trains on generated digits on the CPU with these options.
fn train(model: &str, options: &str) -> (i32, Sample) {
    let command = format!("run --mode training --model {model} --draw digits --device cpu --format json {options}");
    sample(&command.split_whitespace().collect::<Vec<_>>())
}

fn trained(model: &str, options: &str) -> Sample {
    let (code, sample) = train(model, options);
    assert_eq!((code, sample.outcome), (0, Outcome::Completed), "{options}: {:?}", sample.reason);
    sample
}

/// Returns the mean loss of each epoch.
fn losses(sample: &Sample) -> Vec<f64> {
    let epochs = sample.extra["training"]["epochs"].as_array().unwrap();
    epochs.iter().map(|epoch| epoch["loss"].as_f64().unwrap()).collect()
}

fn assert_close(left: &[f64], right: &[f64]) {
    assert_eq!(left.len(), right.len());
    for (a, b) in left.iter().zip(right) {
        assert!((a - b).abs() <= 1e-4 * a.abs().max(1.0), "{left:?} and {right:?}");
    }
}

#[test]
fn lenet_learns_to_classify_held_out_digits() {
    let options = "--images 2000 --sampling-rate 1 --batch-size 32 --epochs 6 --optimizer adam --learning-rate 0.003 --test-images 500";
    let sample = trained("lenet5", &format!("{options} --cores 2"));
    let losses = losses(&sample);
    assert!(losses[5] < losses[0] / 3.0, "{losses:?}");
    let held_out = &sample.extra["training"]["held_out"];
    assert_eq!(held_out["images"], 500);
    let accuracy = held_out["accuracy"].as_f64().unwrap();
    assert!(accuracy > 0.9, "{accuracy} of the digits are told");
}

#[test]
fn training_that_diverges_fails_and_says_what_to_do() {
    let (code, sample) = train("lenet5", "--images 64 --sampling-rate 1 --batch-size 8 --learning-rate 1e38");
    assert_eq!((code, sample.outcome), (1, Outcome::Failed));
    let reason = sample.reason.unwrap();
    assert!(reason.contains("diverged") && reason.contains("a smaller --learning-rate"), "{reason}");
}

#[test]
fn a_training_sample_describes_its_run_and_has_its_own_context() {
    let options = "--images 64 --sampling-rate 0.5 --batch-size 8 --epochs 2 --executors 2";
    let sample = trained("lenet5", options);
    let workload = &sample.workload;
    assert_eq!((workload.mode, workload.epochs, workload.batch_size), (Mode::Training, 2, 8));
    assert_eq!(sample.configuration.partition_size, 8, "a partition is a mini-batch");
    assert_eq!((workload.optimizer.as_deref(), workload.average_every), (Some("sgd_momentum"), Some(1)));
    assert_eq!(sample.images_processed, Some(64), "two epochs of half the images");
    let phases = &sample.extra["phases"];
    for phase in ["read_secs", "decode_secs", "forward_secs", "backward_secs", "average_secs", "wait_secs"] {
        assert!(phases[phase].as_f64().unwrap() > 0.0, "{phase}: {phases}");
    }
    let adam = trained("lenet5", &format!("{options} --optimizer adam"));
    assert_ne!(Context::of(&sample), Context::of(&adam), "another optimiser takes another time");
    let slow = trained("lenet5", &format!("{options} --learning-rate 0.001"));
    assert_eq!(Context::of(&sample), Context::of(&slow), "another learning rate takes the same time");
    assert_ne!(losses(&sample), losses(&slow));
}

#[test]
fn the_loss_does_not_depend_on_the_number_of_threads() {
    // With batch normalisation, and with dropout.
    for model in ["resnet18 --image-px 32", "mobilenet_v2 --image-px 32"] {
        let options = "--images 24 --sampling-rate 1 --batch-size 8 --share-size 4 --epochs 2";
        let curves = [1, 2, 3].map(|cores| losses(&trained(model, &format!("{options} --cores {cores}"))));
        assert_close(&curves[0], &curves[1]);
        assert_close(&curves[0], &curves[2]);
    }
}

#[test]
fn averaging_every_gradient_equals_a_larger_mini_batch() {
    let options = "--images 100 --sampling-rate 1 --epochs 3";
    for optimizer in ["sgd --learning-rate 0.05 --schedule cosine", "adam"] {
        let one = trained("lenet5", &format!("{options} --optimizer {optimizer} --batch-size 24"));
        let three = trained("lenet5", &format!("{options} --optimizer {optimizer} --batch-size 8 --executors 3"));
        assert_close(&losses(&one), &losses(&three));
    }
}

#[test]
fn parameter_averaging_is_deterministic_and_differs_from_gradient_averaging() {
    let options = "--images 100 --sampling-rate 1 --epochs 3 --batch-size 8 --executors 2 --learning-rate 0.05";
    let every = |options: &str| losses(&trained("lenet5", options));
    let third = every(&format!("{options} --average-every 3"));
    assert_close(&third, &every(&format!("{options} --average-every 3 --cores 2")));
    assert_ne!(third, every(&format!("{options} --average-every 1")));
    assert_ne!(third, every(&format!("{options} --average-every 3 --average-optimizer-state")));
}

#[test]
fn classes_are_the_folders_and_an_image_without_a_class_is_broken() {
    let folder = images(8);
    let run = |extra: &[&str]| {
        let data = text(folder.path());
        sample(
            &[
                &["run", "--mode", "training", "--model", "lenet5", "--data", data, "--sampling-rate", "1"][..],
                &["--batch-size", "4", "--device", "cpu", "--format", "json"],
                extra,
            ]
            .concat(),
        )
    };
    let (code, sample) = run(&[]);
    assert_eq!((code, sample.outcome), (2, Outcome::Failed));
    let reason = sample.reason.unwrap();
    assert!(reason.contains("it has no class; training needs a folder for each class"), "{reason}");

    for class in 0..4 {
        let class_folder = folder.path().join(format!("class {class}"));
        std::fs::create_dir(&class_folder).unwrap();
        for index in [2 * class, 2 * class + 1] {
            let name = format!("{index:04}.jpg");
            std::fs::rename(folder.path().join(&name), class_folder.join(&name)).unwrap();
        }
    }
    std::fs::write(folder.path().join("class 0/0000.jpg"), b"no image").unwrap();
    // Each epoch and the evaluation read the broken image, which counts once.
    let (code, sample) = run(&["--epochs", "2", "--max-broken", "1", "--test-data", text(folder.path())]);
    assert_eq!((code, sample.outcome), (0, Outcome::Completed), "{:?}", sample.reason);
    assert_eq!((sample.images_processed, &sample.extra["broken_images"]["count"]), (Some(14), &1.into()));
    assert_eq!(sample.extra["training"]["held_out"]["images"], 7);
}

/// Puts images into a folder for each class.
fn classed(folder: &tempfile::TempDir, classes: &[(&str, std::ops::Range<usize>)]) {
    for (class, images) in classes {
        let below = folder.path().join(class);
        std::fs::create_dir(&below).unwrap();
        for index in images.clone() {
            std::fs::rename(path(folder, index), below.join(format!("{index:04}.jpg"))).unwrap();
        }
    }
}

fn train_on(folder: &tempfile::TempDir, options: &[&str]) -> (i32, Sample) {
    let data =
        ["run", "--mode", "training", "--model", "lenet5", "--data", text(folder.path()), "--sampling-rate", "1"];
    sample(&[&data[..], &["--batch-size", "4", "--device", "cpu", "--format", "json"], options].concat())
}

#[test]
fn test_images_have_the_classes_of_the_data_by_name() {
    let (learned, held_out) = (images(12), images(4));
    classed(&learned, &[("cat", 0..4), ("dog", 4..8), ("eel", 8..12)]);
    classed(&held_out, &[("dog", 0..2), ("eel", 2..4)]);
    let (code, sample) = train_on(&learned, &["--executors", "2", "--test-data", text(held_out.path())]);
    assert_eq!((code, sample.outcome), (0, Outcome::Completed), "{:?}", sample.reason);
    let classes = sample.extra["training"]["classification"]["classes"].as_array().unwrap();
    let tested: Vec<_> = classes.iter().filter(|class| class["images"].as_u64() > Some(0)).collect();
    let told: Vec<_> = tested.iter().map(|class| (class["class"].as_u64(), class["name"].as_str())).collect();
    assert_eq!(told, [(Some(1), Some("dog")), (Some(2), Some("eel"))]);
    std::fs::rename(held_out.path().join("eel"), held_out.path().join("fox")).unwrap();
    let arguments = ["run", "--mode", "training", "--model", "lenet5", "--data", text(learned.path())];
    let (code, out, err) = answer(&[&arguments[..], &["--test-data", text(held_out.path())]].concat());
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("has the class fox, and ") && err.contains("does not; leave the class out"), "{err}");
}

#[test]
fn a_broken_test_image_is_skipped_and_the_trained_run_kept() {
    let (learned, held_out) = (images(8), images(4));
    classed(&learned, &[("cat", 0..4), ("dog", 4..8)]);
    classed(&held_out, &[("cat", 0..2), ("dog", 2..4)]);
    std::fs::write(held_out.path().join("dog/0003.jpg"), b"no image").unwrap();
    let saved = held_out.path().join("w.safetensors");
    let options = ["--test-data", text(held_out.path()), "--save-weights", text(&saved)];
    let (code, sample) = train_on(&learned, &options);
    assert_eq!((code, sample.outcome), (0, Outcome::Completed), "{:?}", sample.reason);
    assert!(sample.completed_secs().unwrap() > 0.0 && saved.is_file());
    assert_eq!(sample.extra["training"]["held_out"]["images"], 3);
    assert_eq!(sample.extra["broken_images"]["count"], 1);
    let first = sample.extra["broken_images"]["first"][0].as_str().unwrap();
    assert!(first.contains("dog/0003.jpg"), "{first}");
    // One among the images to learn from still ends the run.
    std::fs::write(learned.path().join("cat/0000.jpg"), b"no image").unwrap();
    assert_eq!(train_on(&learned, &options).1.outcome, Outcome::Failed);
}

#[test]
fn the_timeout_is_for_the_training_and_not_for_its_validation() {
    // 19 in 20 images validate the CNN, so that it takes most of the time. The other tests of the
    // machine may slow a run down: four times the time before is enough for the training, and not
    // for both.
    let options = "--image-px 64 --images 400 --sampling-rate 1 --batch-size 10 --validation 95% --epochs 4";
    let secs = trained("resnet18", options).completed_secs().unwrap();
    let (code, sample) = train("resnet18", &format!("{options} --timeout {}", 4.0 * secs));
    assert_eq!((code, sample.outcome), (0, Outcome::Completed), "{secs} s before: {:?}", sample.reason);
    let (code, sample) = train("resnet18", &format!("{options} --timeout {}", secs / 6.0));
    assert_eq!((code, sample.outcome), (1, Outcome::TimedOut), "{secs} s before");
}

#[test]
fn training_beyond_its_memory_or_time_is_reported() {
    let (code, sample) = train("resnet18", "--image-px 32 --images 16 --executors 2 --memory 60");
    assert_eq!((code, sample.outcome), (1, Outcome::OutOfMemory), "{:?}", sample.reason);
    let long = "--image-px 64 --images 400 --sampling-rate 1 --batch-size 16 --timeout 0.5 --executors 2";
    let (code, sample) = train("resnet18", long);
    assert_eq!((code, sample.outcome, sample.completion_time_secs), (1, Outcome::TimedOut, Some(0.5)));
}

#[test]
fn invalid_options_are_rejected() {
    let folder = images(8);
    let data = format!("--data {}", text(folder.path()));
    for (options, sentence) in [
        ("--epochs 2", "--epochs is for training; add --mode training or leave it out"),
        ("--mode training --epochs 0", "'--epochs <N>': write a whole number, 1 or more"),
        ("--mode training --learning-rate -1", "--learning-rate is -1; give a number above 0"),
        ("--mode training --momentum 1", "--momentum is 1; give a number from 0"),
        ("--mode training --optimizer adam --momentum 0.5", "--momentum is for --optimizer sgd"),
        ("--mode training --step-epochs 2", "--step-epochs is for --schedule step"),
        ("--mode training --average-optimizer-state", "leave out --average-optimizer-state, or average less often"),
        (
            "--mode training --batch-size 8 --partition-size 12",
            "a partition of 12 images would split a mini-batch; give --partition-size 8",
        ),
        (
            "--mode training --batch-size 64 --images 20",
            "--batch-size is 64 and the job has 20 images; give 20 or less",
        ),
        (&format!("--mode training {data} --test-images 2"), "--test-images needs --test-data"),
        (
            &format!("--mode training --test-data {} --test-images 9", text(folder.path())),
            "give --test-images 8 or less",
        ),
    ] {
        let options = options.replace("--learning-rate -1", "--learning-rate=-1");
        let arguments = [vec!["run"], options.split_whitespace().collect()].concat();
        let (code, out, err) = answer(&arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{options}: {err}");
        assert!(err.contains(sentence), "{options}: {err}");
    }
}
