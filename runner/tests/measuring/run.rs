use foreglow_shared::{Engine, ExceededMemory, Mode, Outcome};

use crate::bench_folder::{answer, images, path, sample, text};

#[test]
fn a_run_prints_one_sample_that_describes_it() {
    let (code, sample) = sample(&[
        "run",
        "--model",
        "lenet5",
        "--images",
        "40",
        "--executors",
        "2",
        "--cores",
        "1",
        "--sampling-rate",
        "0.5",
        "--partition-size",
        "3",
        "--batch-size",
        "2",
        "--device",
        "cpu",
        "--format",
        "json",
    ]);
    assert_eq!(code, 0, "{sample:?}");
    assert_eq!((sample.outcome, sample.engine, sample.reason.as_deref()), (Outcome::Completed, Engine::Local, None));
    let (workload, configuration) = (&sample.workload, &sample.configuration);
    assert_eq!((workload.model.as_str(), workload.mode, workload.image_px), ("lenet5", Mode::Inference, 32));
    assert_eq!((workload.images, workload.epochs, workload.batch_size), (40, 1, 2));
    assert_eq!((configuration.executors, configuration.cores_per_executor, configuration.partition_size), (2, 1, 3));
    assert_eq!((configuration.accelerator.as_deref(), sample.host.adapter.as_deref()), (None, None));
    assert!(sample.completed_secs().unwrap() > 0.0);
    assert!(sample.startup_secs.unwrap() > 0.0);
    assert!(sample.host.processors.unwrap() > 0);
    assert_eq!(sample.images_processed, Some(20));
    assert!(sample.extra["phases"]["decode_secs"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_residual_network_runs_too() {
    let folder = images(3);
    let (code, sample) = sample(&[
        "run",
        "--data",
        text(folder.path()),
        "--image-px",
        "32",
        "--sampling-rate",
        "1",
        "--cores",
        "2",
        "--partition-size",
        "1",
        "--device",
        "cpu",
        "--format",
        "json",
    ]);
    assert_eq!((code, sample.outcome, sample.workload.model.as_str()), (0, Outcome::Completed, "resnet18"));
    assert_eq!(sample.workload.images, 3, "all images of the folder");
    assert_eq!(sample.workload.data_path(), Some(text(&folder.path().canonicalize().unwrap())));
    assert_eq!(sample.workload.data_format.as_deref(), Some("folder"));
}

#[test]
fn the_seed_determines_the_sample_of_images() {
    let folder = images(8);
    for broken in [0, 2, 4, 6] {
        std::fs::write(path(&folder, broken), b"no image").unwrap();
    }
    let reason = |seed: &str| {
        let run = sample(&[
            "run",
            "--model",
            "lenet5",
            "--data",
            text(folder.path()),
            "--sampling-rate",
            "0.125",
            "--seed",
            seed,
            "--device",
            "cpu",
            "--format",
            "json",
        ]);
        run.1.reason
    };
    let first: Vec<_> = ["0", "1", "2", "3", "4"].map(reason).into();
    let again: Vec<_> = ["0", "1", "2", "3", "4"].map(reason).into();
    assert_eq!(first, again);
    assert!(first.iter().any(|reason| *reason != first[0]), "{first:?}");
}

#[test]
fn a_broken_image_is_reported_and_fails_the_run() {
    let folder = images(6);
    std::fs::write(path(&folder, 2), b"no image").unwrap();
    std::fs::write(path(&folder, 4), &std::fs::read(path(&folder, 4)).unwrap()[..100]).unwrap();
    let arguments = [
        "run",
        "--model",
        "lenet5",
        "--data",
        text(folder.path()),
        "--sampling-rate",
        "1",
        "--partition-size",
        "6",
        "--device",
        "cpu",
        "--format",
        "json",
    ];
    let (code, sample) = sample(&arguments);
    assert_eq!((code, sample.outcome, sample.completion_time_secs), (2, Outcome::Failed, None));
    let reason = sample.reason.unwrap();
    assert!(reason.contains("broken images: 2, more than the 0 that --max-broken allows"), "{reason}");
    assert!(reason.contains("0002.jpg") || reason.contains("0004.jpg"), "{reason}");
    let (_, _, err) = answer(&arguments);
    assert!(err.contains("foreglow: the run did not complete: failed: broken images: 2,"), "{err}");
}

#[test]
fn broken_images_are_skipped_up_to_the_limit_and_listed_in_the_sample() {
    let folder = images(6);
    std::fs::write(path(&folder, 2), b"no image").unwrap();
    let arguments =
        ["run", "--model", "lenet5", "--data", text(folder.path()), "--sampling-rate", "1", "--device", "cpu"];
    let arguments = [&arguments[..], &["--max-broken", "1", "--format", "json"]].concat();
    let (code, sample) = sample(&arguments);
    assert_eq!((code, sample.outcome), (0, Outcome::Completed), "{sample:?}");
    assert_eq!((sample.images_processed, &sample.extra["broken_images"]["count"]), (Some(5), &1.into()));
    assert!(sample.extra["broken_images"]["first"][0].as_str().unwrap().contains("0002.jpg"), "{sample:?}");
    let (_, _, err) = answer(&arguments);
    assert!(err.contains("warning: broken images skipped: 1; the first is") && err.contains("0002.jpg"), "{err}");
}

#[test]
fn the_sample_has_the_rate_that_was_processed() {
    let folder = images(8);
    let arguments = ["run", "--model", "lenet5", "--data", text(folder.path()), "--device", "cpu", "--format", "json"];
    for (asked, rate) in [("1e-9", 0.125), ("12.5%", 0.125), ("0.3", 0.25)] {
        let (code, sample) = sample(&[&arguments[..], &["--sampling-rate", asked]].concat());
        assert_eq!((code, sample.sampling_rate), (0, rate), "{asked}");
        assert_eq!(sample.images_processed, Some((8.0 * rate) as u64));
    }
}

#[test]
fn quiet_prints_the_answer_alone() {
    let folder = images(2);
    let arguments = ["run", "--quiet", "--model", "lenet5", "--data", text(folder.path()), "--device", "cpu"];
    let (code, out, err) = answer(&[&arguments[..], &["--sampling-rate", "1", "--cores", "8"]].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
}

#[test]
fn an_executor_beyond_its_memory_limit_is_out_of_memory() {
    let folder = images(2);
    for memory in ["1", "4", "10", "40"] {
        let (code, sample) = sample(&[
            "run",
            "--model",
            "resnet18",
            "--data",
            text(folder.path()),
            "--sampling-rate",
            "1",
            "--memory",
            memory,
            "--device",
            "cpu",
            "--format",
            "json",
        ]);
        assert_eq!((code, sample.outcome), (1, Outcome::OutOfMemory), "{sample:?}");
        assert_eq!(sample.exceeded_memory, Some(ExceededMemory::Executor));
        let reason = sample.reason.unwrap();
        assert!(reason.contains(&format!("more than its {memory} MiB")), "{reason}");
    }
}

#[test]
fn a_run_beyond_its_timeout_gives_a_lower_bound() {
    let folder = images(40);
    let (code, sample) = sample(&[
        "run",
        "--data",
        text(folder.path()),
        "--image-px",
        "224",
        "--sampling-rate",
        "1",
        "--timeout",
        "0.3",
        "--device",
        "cpu",
        "--format",
        "json",
    ]);
    assert_eq!((code, sample.outcome, sample.completion_time_secs), (1, Outcome::TimedOut, Some(0.3)));
}

#[test]
fn a_sample_is_also_appended_to_the_file() {
    let folder = images(2);
    let file = folder.path().join("samples.jsonl");
    for runs in 1..=2 {
        let (code, out, _) = answer(&[
            "run",
            "--model",
            "lenet5",
            "--data",
            text(folder.path()),
            "--device",
            "cpu",
            "--output",
            text(&file),
            "--format",
            "json",
        ]);
        assert_eq!(code, 0);
        let kept = std::fs::read_to_string(&file).unwrap();
        assert_eq!(kept.lines().count(), runs);
        assert!(kept.ends_with(&out), "the last line is the sample that was printed");
    }
}

#[test]
fn invalid_input_exits_with_code_2_and_one_sentence() {
    let empty = tempfile::tempdir().unwrap();
    let folder = images(2);
    let data = text(folder.path());
    let one = text(&path(&folder, 0)).to_owned();
    let elsewhere = tempfile::tempdir().unwrap();
    let notes = text(&elsewhere.path().join("notes.txt")).to_owned();
    std::fs::write(&notes, "shopping list\n").unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["--data", "/no/such/folder"], "/no/such/folder does not exist; give an existing folder or file of images"),
        (&["--data", text(empty.path())], "holds no image; put .jpg"),
        (&["--data", data, "--images", "3"], "holds 2 images and the job has 3; ask for --images 2 or less"),
        (
            &["--data", data, "--executors", "3"],
            "3 executors are more than the job's 2 images; give --executors 2 or less",
        ),
        (&["--data", data, "--partition-size", "3"], "3 images per partition are more than the job's 2 images"),
        (&["--data", &one], "is one image; give the folder"),
        (&["--data", &notes], "notes.txt is a text file, which is not read"),
        (&["--data", &notes, "--data-format", "bson"], "product 0 of "),
        (&["--model", "alexnet"], "there is no CNN alexnet; choose one of: lenet5, cnn11, vgg16, resnet18"),
        (&["--model", "lenet5", "--image-px", "64"], "lenet5 cannot take images of 64 px"),
        (&["--model", "lenet5", "--image-px", "64"], "leave --image-px out: it takes 32 px"),
        (&["--sampling-rate", "0"], "'0' for '--sampling-rate <SR>': write a share of the images above 0"),
        (&["--sampling-rate", "1.5"], "'1.5' for '--sampling-rate"),
        (&["--sampling-rate", "NaN"], "'NaN' for '--sampling-rate"),
        (&["--executors", "0"], "'0' for '--executors <E>': write numbers of 1 or more"),
        (&["--executors", "-1"], "'-1' for '--executors <E>': write numbers of 1 or more"),
        (&["--cores", "100000"], "100000 cores per executor are too many; write at most 1000"),
        (&["--memory", "2x"], "'2x' for '--memory <SIZE>': write a size from 1 MiB"),
        (&["--partition-size", "0"], "'0' for '--partition-size <P>': write a whole number, 1 or more"),
        (&["--batch-size", "0"], "'0' for '--batch-size"),
        (&["--images", "0"], "'0' for '--images <N>': write a whole number, 1 or more"),
        (&["--timeout=-1"], "'-1' for '--timeout <TIME>': write a time above 0"),
        (&["--device", "abacus"], "there is no device abacus; choose auto, cpu, gpu or one of: 0 "),
        (&["--data", data, "--output", "/no/such/folder/a"], "the sample file /no/such/folder/a cannot be written"),
    ];
    for (arguments, sentence) in cases {
        let arguments = [&["run", "--format", "json"], *arguments].concat();
        let (code, out, err) = answer(&arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(sentence), "{arguments:?}: {err}");
        assert_eq!(err.trim().lines().count(), 1, "{arguments:?}: {err}");
    }
}

#[test]
fn a_run_whose_sample_is_not_saved_says_so() {
    let run = ["run", "--model", "lenet5", "--images", "40", "--sampling-rate", "1", "--device", "cpu"];
    let (code, _, errors) = answer(&run);
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("The sample was not saved; add --output FILE"), "{errors}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples.jsonl");
    let (code, _, errors) = answer(&[&run[..], &["--output", text(&file)]].concat());
    assert_eq!(code, 0, "{errors}");
    assert!(!errors.contains("not saved"), "{errors}");
}
