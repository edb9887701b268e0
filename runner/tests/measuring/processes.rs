//! Executors are processes: none outlives its engine, and one that dies fails only its own run.
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use foreglow_shared::{Outcome, parse_line};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::bench_folder::{classed_images, foreglow, images};
use crate::long_run::{executors_of, long_run};

/// Waits until all of these processes have ended.
pub fn wait_until_gone(pids: &[Pid]) {
    let patience = Instant::now() + Duration::from_secs(20);
    while pids.iter().any(|pid| test_kill_process(*pid).is_ok() && !is_zombie(*pid)) {
        assert!(Instant::now() < patience, "executors are still there after 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns whether a process has ended without being reaped.
fn is_zombie(pid: Pid) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
        .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

#[test]
fn a_killed_executor_makes_a_failed_sample() {
    for mode in ["inference", "training"] {
        a_killed_executor_fails(mode);
    }
}

fn a_killed_executor_fails(mode: &str) {
    let folder = classed_images();
    let run = long_run(&folder, mode);
    let executors = executors_of(&run);
    kill_process(executors[1], Signal::KILL).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let sample = parse_line(String::from_utf8(output.stdout).unwrap().trim()).unwrap();
    assert_eq!((sample.outcome, sample.completion_time_secs), (Outcome::Failed, None));
    let reason = sample.reason.unwrap();
    assert!(reason.contains("executor 2 of 2 ended early (signal: 9"), "{reason}");
    wait_until_gone(&executors);
}

#[test]
fn no_executor_outlives_a_killed_engine() {
    let folder = classed_images();
    for mode in ["inference", "training"] {
        let mut run = long_run(&folder, mode);
        let executors = executors_of(&run);
        run.kill().unwrap();
        run.wait().unwrap();
        wait_until_gone(&executors);
    }
}

#[test]
fn an_executor_ends_with_its_input() {
    let folder = images(4);
    let mut executor = foreglow(&["executor"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let job = serde_json::json!({
        "model": "lenet5", "image_px": 32, "batch_size": 2, "partition_size": 2, "threads": 1, "memory_mib": 512,
        "place": "cpu", "source": {"path": folder.path(), "kind": "folder"}, "images": 4, "sampling_rate": 1.0, "seed": 0,
    });
    let mut input = executor.stdin.take().unwrap();
    writeln!(input, "{job}").unwrap();
    for (index, first) in [(0, 0), (1, 2)] {
        writeln!(input, r#"{{"partition":{{"index":{index},"first":{first},"len":2}}}}"#).unwrap();
    }
    drop(input);
    let output = executor.wait_with_output().unwrap();
    assert!(output.status.success());
    let out = String::from_utf8(output.stdout).unwrap();
    let reports: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports[0]["ready"]["images"], 4);
    for (report, partition) in reports[1..3].iter().zip([0, 1]) {
        assert_eq!((&report["done"]["partition"], &report["done"]["images"]), (&partition.into(), &2.into()));
    }
    assert!(reports[3]["ended"]["peak_memory_mib"].as_u64().unwrap() > 0);
    assert_eq!(reports.len(), 4);
}

#[test]
fn an_executor_started_by_hand_explains_its_purpose() {
    let mut executor =
        foreglow(&["executor"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    executor.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let output = executor.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("an executor is started by `foreglow run` and `foreglow collect`, not by hand"), "{err}");
}
