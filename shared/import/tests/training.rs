//! Files that training programs leave behind. The files in `training` were written by the programs
//! themselves, in short runs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "a test reads its fixtures")]

mod support;

use foreglow_import::{Given, Import};
use foreglow_shared::{Outcome, Sample};
use support::read;

/// Returns the description of a training job.
fn job(more: &[(&str, &str)]) -> Given {
    let mut given = Given::default();
    let job = [
        ("model", "mlp"),
        ("mode", "training"),
        ("image_px", "1"),
        ("images", "160"),
        ("epochs", "3"),
        ("batch_size", "4"),
        ("memory_per_executor_mib", "1024"),
    ];
    job.iter().chain(more).for_each(|(name, value)| given.labels.set(name, *value));
    given
}

/// Returns the only sample of a file.
fn one(import: Result<Import, String>) -> Sample {
    let mut samples = import.unwrap().samples;
    assert_eq!(samples.len(), 1);
    samples.remove(0)
}

/// Returns the outcome, the units done and whether the times of start-up and work add up.
fn told(sample: &Sample) -> (Outcome, f64, String) {
    let curve = sample.progress.as_ref().unwrap();
    let (secs, done) = curve.last().unwrap();
    let all = sample.startup_secs.unwrap() + sample.completion_time_secs.unwrap();
    assert!((all - secs).abs() < 1e-3, "{all} and {secs}");
    (sample.outcome, done, curve.unit.clone())
}

#[test]
fn an_event_file_of_tensorboard_tells_steps_over_time() {
    let file = include_bytes!("training/tensorboardx.tfevents");
    let sample = one(read(file, &job(&[])));
    assert_eq!(told(&sample), (Outcome::TimedOut, 30.0, "steps".to_owned()));
    assert_eq!(sample.reason.as_deref(), Some("its progress ends after 30 of 120 steps"));
    assert!(sample.started_at.to_string().starts_with("2026-11-28T"), "{}", sample.started_at);
    let secs = sample.completion_time_secs.unwrap();
    assert!((1.4..30.0).contains(&secs), "{secs}");
    // The file of a run that goes on ends within a record.
    let sample = one(read(&file[..file.len() - 5], &job(&[("images", "44")])));
    assert_eq!((sample.outcome, told(&sample).1), (Outcome::TimedOut, 29.0));
    assert!(read(&file[..60], &job(&[])).unwrap_err().contains("no two steps"));
}

#[test]
fn the_event_file_of_a_trainer_tells_its_steps() {
    let sample = one(read(include_bytes!("training/trainer.tfevents"), &job(&[])));
    assert_eq!(told(&sample), (Outcome::Completed, 120.0, "steps".to_owned()));
    let secs = sample.completion_time_secs.unwrap() + sample.startup_secs.unwrap();
    assert!((13.0..16.0).contains(&secs), "{secs}");
}

#[test]
fn a_metric_of_mlflow_tells_steps_over_time() {
    let sample = one(read(include_str!("training/mlflow_loss"), &job(&[("images", "30")])));
    assert_eq!(told(&sample), (Outcome::TimedOut, 20.0, "steps".to_owned()));
    let sample = one(read(include_str!("training/mlflow_loss"), &job(&[("images", "20"), ("epochs", "4")])));
    assert_eq!(sample.outcome, Outcome::Completed);
}

#[test]
fn a_trace_of_pytorchs_profiler_tells_its_steps_and_what_they_wait_for() {
    let file = include_bytes!("training/profiler.pt.trace.json");
    let import = read(file, &job(&[])).unwrap();
    let told_by_notes = import.notes.join("\n");
    assert!(
        told_by_notes.contains("its 8 steps take 0.014 s on average, of which 37 % wait for data and 0 % communicate"),
        "{told_by_notes}"
    );
    let sample = one(Ok(import));
    assert_eq!(told(&sample), (Outcome::TimedOut, 8.0, "steps".to_owned()));
    assert_eq!(sample.startup_secs, Some(0.0));
    assert!(sample.started_at.to_string().starts_with("2026-11-30T"), "{}", sample.started_at);
    let cut = read(&file[..file.len() / 2], &job(&[])).unwrap_err();
    assert!(cut.contains("no complete trace") && cut.contains("export it again"), "{cut}");
    let without = br#"{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "aten::add", "ts": 1.5, "dur": 2}]}"#;
    assert!(read(without, &job(&[])).unwrap_err().contains("call step() of the profiler"));
}

#[test]
fn a_history_of_metrics_that_mlflow_exports_tells_steps_over_time() {
    let file = include_str!("training/mlflow_history.json");
    let sample = one(read(file, &told_as(&[("steps", "20")])));
    assert_eq!(told(&sample), (Outcome::Completed, 19.0, "steps".to_owned()));
    assert!(sample.started_at.to_string().starts_with("2026-11-30T03:"), "{}", sample.started_at);
    // The history with most values, wherever it is.
    let other = r#"{"key":"lr","value":NaN,"timestamp":1796009380219,"step":7},"#;
    let nested = format!("{{\"run\":{}}}", file.replacen("[\n", &format!("[\n{other}"), 1));
    assert_eq!(one(read(nested, &told_as(&[("steps", "20")]))).id, sample.id);
    assert!(read(&file[..900], &told_as(&[])).unwrap_err().contains("no complete export of MLflow"));
}

#[test]
fn the_files_of_a_run_of_weights_and_biases_tell_its_steps() {
    let given = told_as(&[("steps", "30")]);
    let csv = one(read(include_str!("training/wandb_history.csv"), &given));
    // Python writes a loss that is no number as NaN.
    let json = include_str!("training/wandb_history.jsonl");
    assert!(json.contains(": NaN"));
    let json = one(read(json, &given));
    assert_eq!(told(&json), (Outcome::Completed, 29.0, "steps".to_owned()));
    assert_eq!((json.id, json.progress), (csv.id, csv.progress));
    let import = read(include_str!("training/wandb-summary.json"), &given).unwrap();
    assert!(import.notes.iter().any(|note| note.contains("only the time of the whole run")), "{:?}", import.notes);
    let summary = one(Ok(import));
    assert_eq!((told(&summary).1, summary.completion_time_secs), (29.0, Some(2.0)));
}

#[test]
fn a_history_of_weights_and_biases_tells_steps_over_time() {
    let csv = "_step,_runtime,loss\n1,2.5,3\n2,3,NaN\n3,3.5,2\n";
    let json = "{\"_step\":1,\"_timestamp\":1795900000.5,\"loss\":3}\n{\"_step\":3,\"_timestamp\":1795900001.5}\n";
    let sample = one(read(csv, &job(&[])));
    assert_eq!((told(&sample).1, sample.startup_secs), (3.0, Some(2.0)));
    let sample = one(read(json, &job(&[])));
    assert_eq!((told(&sample).1, sample.completion_time_secs), (3.0, Some(1.0)));
}

#[test]
fn the_results_of_ultralytics_tell_epochs_over_time() {
    let csv = include_str!("training/ultralytics_results.csv");
    let sample = one(read(csv, &job(&[("mode", "")])));
    assert_eq!(told(&sample), (Outcome::Completed, 3.0, "epochs".to_owned()));
    assert!((sample.startup_secs.unwrap() + sample.completion_time_secs.unwrap() - 77.0429).abs() < 1e-3);
}

#[test]
fn a_run_without_a_date_ends_when_its_file_was_written() {
    let file = include_bytes!("training/ultralytics_results.csv");
    let undated = one(read(file, &job(&[])));
    let written = Given { written_at: "2026-11-28T18:00:00Z".parse().ok(), ..job(&[]) };
    let dated = one(read(file, &written));
    let secs = dated.progress.as_ref().unwrap().last().unwrap().0;
    assert_eq!(dated.started_at.as_millisecond(), 1_795_888_800_000 - (secs * 1000.0).round() as i64);
    assert_eq!(dated.id, undated.id, "a copy of the file has the same run");
    assert_eq!(undated.started_at.to_string(), "1970-01-01T00:00:00Z");
}

#[test]
fn metrics_of_lightning_have_no_times_and_are_refused_with_what_to_log() {
    let refused = read(include_str!("training/lightning_metrics.csv"), &job(&[])).unwrap_err();
    assert!(refused.contains("TensorBoardLogger"), "{refused}");
}

#[test]
fn a_finished_trainer_tells_its_time_and_its_checkpoints_do_not() {
    let state = include_str!("training/trainer_state.json");
    let mut given = job(&[("mode", "")]);
    given.labels = Default::default();
    for (name, value) in [("model", "mlp"), ("image_px", "1"), ("images", "160"), ("memory_per_executor_mib", "9")] {
        given.labels.set(name, value);
    }
    let sample = one(read(state, &given));
    assert_eq!((sample.outcome, sample.completion_time_secs), (Outcome::Completed, Some(14.2841)));
    assert_eq!((sample.workload.epochs, sample.workload.batch_size), (3, 4));
    let refused = read(state, &job(&[("epochs", "9")])).unwrap_err();
    assert!(refused.contains("epochs is \"3\" in the log, but --epochs says \"9\""), "{refused}");
    let running = include_str!("training/checkpoint_state.json");
    assert!(read(running, &given).unwrap_err().contains("event files of TensorBoard"));
    let results = r#"{"epoch":3.0,"train_runtime":14.2841,"train_samples":160,"train_samples_per_second":33.604,
        "train_steps_per_second":8.401}"#;
    let sample = one(read(results, &job(&[])));
    assert_eq!((sample.outcome, told(&sample).1), (Outcome::Completed, 120.0));
    let results = one(read(include_str!("training/all_results.json"), &told_as(&[])));
    assert_eq!((told(&results).1, results.completion_time_secs), (120.0, Some(1.6869)));
    // Losses that diverged.
    let diverged =
        state.replacen("\"loss\": ", "\"loss\": NaN, \"other\": -Infinity, \"text\": \"NaN \\\" NaN\", \"was\": ", 2);
    assert_ne!(diverged, state);
    assert_eq!(one(read(&diverged, &told_as(&[]))).id, one(read(state, &told_as(&[]))).id);
    assert_eq!(foreglow_import::steps_of_trainer(diverged.as_bytes()), Some(120));
}

#[test]
fn logs_tell_their_progress_and_ask_for_what_they_lack() {
    let mllog: String = (0..4)
        .map(|step| {
            format!(
                ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"POINT_IN_TIME\", \"key\": \
                 \"train_loss\", \"value\": 1.5, \"metadata\": {{\"samples_count\": {}}}}}\n",
                1_795_900_000_000_u64 + 5000 * step,
                step * 160
            )
        })
        .collect();
    let sample = one(read(&mllog, &job(&[])));
    assert_eq!(told(&sample), (Outcome::Completed, 480.0, "samples".to_owned()));
    assert_eq!(sample.completion_time_secs, Some(15.0));

    let lines = "[2026-11-28 10:00:00,000] [INFO] step=10, loss=1\n[2026-11-28 10:00:05,000] [INFO] step=20, loss=1\n\
                 [2026-11-28 10:00:10,000] [INFO] step=30, loss=1\n";
    assert_eq!(told(&one(read(lines, &job(&[])))).1, 30.0);
    let refused = read(lines, &Given::default()).unwrap_err();
    assert!(refused.contains("it counts steps") && refused.contains("give --steps"), "{refused}");
    let untimed = "step 1/9 loss\nstep 2/9 loss\nstep 3/9 loss\n";
    assert!(read(untimed, &job(&[])).unwrap_err().contains("no times"));
    // Two runs of the same file are one.
    assert_eq!(one(read(lines, &job(&[]))).id, one(read(lines, &job(&[]))).id);
}

/// Returns lines of steps, of which one takes a second.
fn steps(start: &str, steps: std::ops::RangeInclusive<u32>, of: &str) -> String {
    let start: foreglow_shared::Timestamp = start.parse().unwrap();
    let first = *steps.start();
    let at = |step: u32| start + std::time::Duration::from_secs(u64::from(step - first));
    steps.map(|step| format!("{} INFO step {step}{of} loss 1.5\n", at(step))).collect()
}

/// Returns a sample with the note that contains a text.
fn noted(log: &str, labels: &[(&str, &str)], note: &str) -> Sample {
    let import = read(log, &told_as(labels)).unwrap();
    assert!(import.notes.iter().any(|own| own.contains(note)), "{note}: {:?}", import.notes);
    one(Ok(import))
}

#[test]
fn of_several_runs_in_one_log_the_last_complete_one_counts() {
    let run = |start, last, of| steps(start, 1..=last, of);
    for of in ["/10", ""] {
        let twice = run("2026-11-28T10:00:00Z", 10, of) + &run("2026-11-28T11:00:00Z", 10, of);
        let note = if of.is_empty() { "started again" } else { "several runs, of which the last complete one counts" };
        let sample = noted(&twice, &[("steps", "10")], note);
        assert_eq!(
            (told(&sample), sample.completion_time_secs),
            ((Outcome::Completed, 10.0, "steps".into()), Some(9.0))
        );
        assert_eq!(sample.started_at.to_string(), "2026-11-28T11:00:00Z");
        // The second run is not complete.
        let cut = run("2026-11-28T10:00:00Z", 10, of) + &run("2026-11-28T11:00:00Z", 4, of);
        let sample = noted(&cut, &[("steps", "10")], "complete");
        assert_eq!(
            (told(&sample), sample.completion_time_secs),
            ((Outcome::Completed, 10.0, "steps".into()), Some(9.0))
        );
        assert_eq!(sample.started_at.to_string(), "2026-11-28T10:00:00Z");
    }
    // Two epochs of a job are one run, although the second starts late.
    let epochs = run("2026-11-28T10:00:00Z", 10, "/10") + &run("2026-11-28T11:00:00Z", 10, "/10");
    let sample = one(read(&epochs, &told_as(&[("epochs", "2")])));
    assert_eq!((told(&sample).1, sample.completion_time_secs), (20.0, Some(3609.0)));
}

#[test]
fn the_pause_of_a_run_that_was_resumed_is_no_work() {
    // From a checkpoint before the interruption, and from the last step.
    for (resumed, note) in [(41, "go back after a pause"), (51, "a pause of 4 h")] {
        for of in ["", "/100"] {
            let log = steps("2026-11-28T10:00:00Z", 1..=50, of) + &steps("2026-11-28T14:00:49Z", resumed..=100, of);
            let sample = noted(&log, &[("steps", "100")], note);
            assert_eq!((told(&sample).1, sample.completion_time_secs), (100.0, Some(99.0)), "{resumed}{of}");
            assert_eq!(sample.started_at.to_string(), "2026-11-28T10:00:00Z");
        }
    }
    // The file has only the second half.
    let half = steps("2026-11-28T10:00:00Z", 51..=100, "/100");
    let sample = noted(&half, &[], "its progress starts at 51 of 100 steps");
    assert_eq!(told(&sample).1, 50.0);
    assert_eq!(sample.outcome, Outcome::TimedOut);
    // A pause at each evaluation is part of the job.
    let evaluated: String = (0..5)
        .map(|part| steps(&format!("2026-11-28T1{part}:00:00Z"), 1 + 20 * part..=20 * (part + 1), "/100"))
        .collect();
    assert!(one(read(&evaluated, &told_as(&[]))).completion_time_secs > Some(14_000.0));
}

#[test]
fn a_batch_size_that_changes_is_said() {
    let line = |step: u32, size: u32| {
        format!(
            " [2026-11-28 10:00:{step:02}.500000] iteration {step:8}/      20 | consumed samples: 9 | elapsed time per \
             iteration (ms): 1000.0 | global batch size: {size:5} | micro batch size: 1 |\n"
        )
    };
    let log: String = (1..=20).map(|step| line(step, if step < 10 { 8 } else { 16 })).collect();
    noted(&log, &[], "its batch size changes from 8 to 16");
    let constant: String = (1..=20).map(|step| line(step, 8)).collect();
    let notes = read(constant, &told_as(&[])).unwrap().notes;
    assert!(!notes.iter().any(|note| note.contains("batch size")), "{notes:?}");
    let mllog = |at: u64, rest: &str| format!(":::MLLOG {{\"time_ms\": {}, {rest}}}\n", 1_795_900_000_000 + 1000 * at);
    let size =
        |at, value| mllog(at, &format!("\"key\": \"global_batch_size\", \"value\": {value}, \"metadata\": {{}}"));
    let step = |at| mllog(at, &format!("\"key\": \"loss\", \"value\": 1, \"metadata\": {{\"step_num\": {at}}}"));
    let log = [size(0, 8), step(1), step(2), size(2, 32), step(3)].concat();
    noted(&log, &[("steps", "9")], "its batch size changes from 8 to 32");
    let history = "_step,_runtime,batch_size\n1,2.5,8\n2,3,8\n3,3.5,16\n";
    noted(history, &[("steps", "9")], "its batch size changes from 8 to 16");
}

#[test]
fn the_start_of_a_log_has_the_offset_of_its_time_zone() {
    let log = steps("2026-11-28T10:00:00Z", 1..=9, "/9").replace("Z INFO", "+01:00 INFO");
    assert_eq!(one(read(&log, &told_as(&[]))).started_at.to_string(), "2026-11-28T09:00:00Z");
}

#[test]
fn data_of_another_kind_in_an_event_file_have_their_own_sentence() {
    // A data set in TFRecord: its records are messages `Example`.
    let example = b"\x0a\x12\x0a\x10\x0a\x05label\x12\x07\x1a\x05\x0a\x03\x01\x02\x03";
    let mut records = Vec::new();
    for _ in 0..3 {
        records.extend((example.len() as u64).to_le_bytes());
        records.extend([&[1, 2, 3, 4], &example[..], &[5, 6, 7, 8]].concat());
    }
    let refused = read(&records, &told_as(&[])).unwrap_err();
    assert!(refused.starts_with("it has no events of TensorBoard"), "{refused}");
    // A message without records.
    let named = |bytes: &'static [u8]| {
        let name = "events.out.tfevents.1.host".to_owned();
        let part = foreglow_import::Part::Content { name, bytes: Box::new(bytes) };
        foreglow_import::import(foreglow_import::Input::new([part]), &told_as(&[])).unwrap_err().to_string()
    };
    assert_eq!(named(example), refused);
}

#[test]
fn the_recorded_output_of_programs_is_a_training_run_if_it_has_times() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../progress/tests/output");
    // Those whose lines tell no times, and what the others lack besides.
    let untimed = ["lightning", "ultralytics", "pytorch_mnist", "pytorch_dcgan", "timm_benchmark"];
    let told_by_user: &[(&str, &[(&str, &str)])] = &[
        ("timm", &[("epochs", "2")]),
        ("torchvision", &[("epochs", "2")]),
        ("torchrun", &[("epochs", "3")]),
        ("pytorch_imagenet", &[("epochs", "12")]),
        ("pytorch_words", &[("epochs", "14")]),
        ("nanogpt", &[("steps", "61")]),
        ("deepspeed", &[("steps", "100")]),
        ("mlperf", &[("images", "160"), ("epochs", "3")]),
    ];
    let mut timed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "jsonl") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let chunks: Vec<(f64, String)> =
            std::fs::read_to_string(&path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let log: String = chunks.iter().map(|chunk| &*chunk.1).collect();
        let labels = told_by_user.iter().find(|known| known.0 == name).map_or(&[][..], |known| known.1);
        let import = read(&log, &told_as(labels));
        if untimed.contains(&&*name) {
            assert!(import.unwrap_err().contains("no times"), "{name}");
            continue;
        }
        let sample = one(import.map_err(|error| format!("{name}: {error}")));
        assert_eq!(sample.outcome, Outcome::Completed, "{name}: {sample:?}");
        // The times of the lines are those of the output between its first and its last step.
        let mut reader = foreglow_progress::Reader::new();
        chunks.iter().for_each(|(at, text)| reader.push(text.as_bytes(), *at));
        let span = |curve: &foreglow_shared::Curve| curve.points[curve.points.len() - 1].0 - curve.points[0].0;
        let (live, logged) = (span(&reader.curve().unwrap()), span(sample.progress.as_ref().unwrap()));
        // Keras leaves the first step out of its time, and bars tell whole seconds.
        if !name.starts_with("keras") {
            assert!((live - logged).abs() < 0.17 * live + 1.1, "{name}: {live} and {logged}");
        }
        timed += 1;
    }
    assert!(timed >= 14, "{timed}");
}

/// Returns what the user says about a run besides its job.
fn told_as(labels: &[(&str, &str)]) -> Given {
    let mut given = Given { name: Some("bert".to_owned()), ..Given::default() };
    labels.iter().for_each(|(name, value)| given.labels.set(name, *value));
    given
}

#[test]
fn a_run_of_steps_needs_no_images() {
    let file = include_bytes!("training/tensorboardx.tfevents");
    let sample = one(read(file, &told_as(&[("steps", "120")])));
    assert_eq!(told(&sample), (Outcome::TimedOut, 30.0, "steps".to_owned()));
    assert_eq!(sample.reason.as_deref(), Some("its progress ends after 30 of 120 steps"));
    let workload = &sample.workload;
    assert_eq!((workload.model.as_str(), workload.images, workload.noun()), ("bert", 120, "steps"));
    assert_eq!(sample.whole_units(), Some(120.0));
    // The same run has the same id, however its job is described.
    assert_eq!(sample.id, one(read(file, &job(&[]))).id);

    let state = one(read(include_str!("training/trainer_state.json"), &told_as(&[])));
    assert_eq!((state.outcome, state.workload.images, state.workload.epochs), (Outcome::Completed, 120, 1));
    assert_eq!(foreglow_import::steps_of_trainer(include_bytes!("training/checkpoint_state.json")), Some(120));
    let table = include_str!("training/ultralytics_results.csv");
    let epochs = one(read(table, &told_as(&[("epochs", "6")])));
    assert_eq!((epochs.outcome, epochs.workload.describe_data()), (Outcome::TimedOut, "6 epochs".to_owned()));
    assert_eq!((epochs.workload.epochs, epochs.whole_units()), (1, Some(6.0)));

    for (labels, reason) in [
        (&[][..], "give --steps"),
        (&[("steps", "120"), ("images", "9")], "omit one of them"),
        (&[("images", "160")], "give --epochs and --batch-size"),
    ] {
        let refused = read(file, &told_as(labels)).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
    assert!(read(table, &told_as(&[("steps", "9")])).unwrap_err().contains("it counts epochs; omit --steps"));
    assert!(read(table, &told_as(&[])).unwrap_err().contains("give --epochs"));
}

#[test]
fn the_machine_of_a_run_is_that_of_its_type() {
    let file = include_bytes!("training/tensorboardx.tfevents");
    let on = |machine: &str, labels: &[(&str, &str)]| {
        let labels = [labels, &[("steps", "120")]].concat();
        read(file, &Given { machine: Some(machine.to_owned()), ..told_as(&labels) })
    };
    let import = on("g5.xlarge", &[]).unwrap();
    assert_eq!(import.notes.iter().filter(|note| note.contains("1 GPU")).count(), 1, "{:?}", import.notes);
    let configuration = &import.samples[0].configuration;
    assert_eq!((configuration.accelerator.as_deref(), configuration.memory_per_executor_mib), (Some("A10G"), 15_872));
    assert!(on("p4d.24xlarge", &[]).unwrap_err().contains("has 8 GPUs; tell how many"));
    let sample = one(on("p4d.24xlarge", &[("gpus", "8")]));
    assert_eq!((sample.configuration.executors, sample.configuration.accelerator.as_deref()), (8, Some("A100")));
    let unknown = on("ours", &[]).unwrap();
    assert!(unknown.notes.iter().any(|note| note.contains("no GPU")), "{:?}", unknown.notes);
    assert!(unknown.notes.iter().any(|note| note.contains("--memory")), "{:?}", unknown.notes);
    assert!(on("ours", &[("gpus", "2")]).unwrap_err().contains("lacks accelerator; give --accelerator"));
}

#[test]
fn files_of_training_runs_are_recognised() {
    let is_run = foreglow_import::is_training_run;
    assert!(
        is_run(include_str!("training/trainer_state.json")) && is_run(include_str!("training/ultralytics_results.csv"))
    );
    assert!(is_run("step 1/9\nstep 2/9\nstep 3/9\n") && is_run("_step,_runtime\n1,2.5\n"));
    assert!(!is_run("JobID|State\n7|COMPLETED\n") && !is_run("{\"Event\":\"SparkListenerLogStart\"}\n"));
    assert!(!is_run("schema,id,model\n1,2,a\n") && !is_run(""));
}

#[test]
fn options_of_training_runs_are_refused_for_other_files() {
    let error = read("JobID|State\n7|COMPLETED\n", &told_as(&[("gpus", "2")])).unwrap_err();
    assert!(error.contains("lacks JobName"), "{error}");
    let sample = r#"{"schema":1,"id":"019aa6d1-0000-7000-8000-000000000001","workload":{"model":"a","mode":"inference","image_px":1,"images":9,"epochs":1,"batch_size":1},"configuration":{"executors":1,"cores_per_executor":1,"memory_per_executor_mib":9,"partition_size":1,"accelerator":null},"sampling_rate":1.0,"outcome":"completed","completion_time_secs":1.5,"engine":"local","runner_version":"0.1.0","host":{},"started_at":"2026-11-21T10:00:00Z"}"#;
    let refused = read(sample, &told_as(&[("gpus", "2")])).unwrap_err();
    assert!(refused.starts_with("--gpus is only for the files of training runs"), "{refused}");
}

#[test]
fn samples_and_records_are_not_taken_as_logs() {
    let sample = r#"{"schema":1,"id":"019aa6d1-0000-7000-8000-000000000001","workload":{"model":"a","mode":"inference","image_px":1,"images":9,"epochs":1,"batch_size":1},"configuration":{"executors":1,"cores_per_executor":1,"memory_per_executor_mib":9,"partition_size":1,"accelerator":"step 1/9"},"sampling_rate":1.0,"outcome":"completed","completion_time_secs":1.5,"engine":"local","runner_version":"0.1.0","host":{},"started_at":"2026-11-21T10:00:00Z"}"#;
    assert_eq!(one(read(sample, &Given::default())).completion_time_secs, Some(1.5));
    assert!(read("JobID|State\n7|COMPLETED\n", &Given::default()).unwrap_err().contains("sacct"));
}
