//! Where the sample of a run ends up: files, pipes and closed pipes.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use foreglow_shared::{Outcome, parse_line};

use crate::bench_folder::{answer, classed_images, foreglow, images, text};
use crate::long_run::executors_of;

const RUN: [&str; 9] = ["run", "--model", "lenet5", "--sampling-rate", "1", "--device", "cpu", "--format", "json"];

#[test]
fn no_other_command_replaces_the_file_of_a_run_before_the_sample_is_in_it() {
    let folder = classed_images();
    let file = folder.path().join("samples.jsonl");
    let small = images(2);
    let first = [&RUN[..], &["--data", text(small.path()), "--output", text(&file)]].concat();
    assert_eq!(answer(&first).0, 0);
    let id = parse_line(std::fs::read_to_string(&file).unwrap().trim()).unwrap().id.to_string();

    let data = ["run", "--data", text(folder.path()), "--image-px", "64", "--sampling-rate", "1", "--executors", "2"];
    let mut command = foreglow(&[&data[..], &["--device", "cpu", "--output", text(&file)]].concat());
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    executors_of(&run);
    let (code, _, err) = answer(&["samples", "remove", &id, "--from", text(&file)]);
    assert!(code == 2 && err.contains("another foreglow is measuring into"), "{code}: {err}");
    assert!(run.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
    assert_eq!(answer(&["samples", "remove", &id, "--from", text(&file)]).0, 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
}

#[test]
fn a_sample_that_cannot_be_saved_is_printed_all_the_same() {
    let folder = images(2);
    let (code, out, err) = answer(&[&RUN[..], &["--data", text(folder.path()), "--output", "/dev/full"]].concat());
    assert!(code == 1 && err.contains("the sample file /dev/full could not be written"), "{code}: {err}");
    assert_eq!(parse_line(out.trim()).unwrap().outcome, Outcome::Completed);
}

#[test]
fn samples_are_written_to_a_pipe_and_read_from_one() {
    let folder = images(2);
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let from = pipe.clone();
    let reader = std::thread::spawn(move || std::fs::read_to_string(from).unwrap());
    let (code, out, err) = answer(&[&RUN[..], &["--data", text(folder.path()), "--output", text(&pipe)]].concat());
    assert_eq!(code, 0, "{err}");
    let written = reader.join().unwrap();
    assert_eq!(written, out);
    let to = pipe.clone();
    let writer = std::thread::spawn(move || std::fs::write(to, written).unwrap());
    let (code, listed, err) = answer(&["samples", "list", text(&pipe), "--format", "json"]);
    writer.join().unwrap();
    assert_eq!((code, listed.lines().count()), (0, 1), "{err}");
    let to = pipe.clone();
    let writer = std::thread::spawn(move || std::fs::write(to, out).unwrap());
    let (code, imported, err) =
        answer(&["import", text(&pipe), "--format", "json", "--output", text(&folder.path().join("kept.jsonl"))]);
    writer.join().unwrap();
    assert_eq!((code, imported.lines().count()), (0, 1), "{err}");
}

#[test]
fn a_pipe_whose_reader_has_gone_loses_no_sample_silently() {
    let folder = images(2);
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let arguments = [&RUN[..], &["--data", text(folder.path()), "--output", text(&pipe)]].concat();
    let run = foreglow(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Opens the pipe, which lets the run begin, and goes.
    drop(std::fs::File::open(&pipe).unwrap());
    let output = run.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("could not be written"), "{err}");
}

#[test]
fn a_run_whose_output_nobody_reads_ends_without_an_error() {
    let folder = images(2);
    let arguments = [&RUN[..], &["--data", text(folder.path())]].concat();
    let mut run = foreglow(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(run.stdout.take());
    drop(run.stderr.take());
    assert_eq!(run.wait().unwrap().code(), Some(0));
    let mut refused = foreglow(&["plan", "none.jsonl"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(refused.stderr.take());
    assert_eq!(refused.wait().unwrap().code(), Some(2));
}
