//! A run that continues while a test inspects its executors.
#![cfg(target_os = "linux")]

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::bench_folder::{foreglow, text};

/// A run of many seconds, inference or training.
pub fn long_run(folder: &tempfile::TempDir, mode: &str) -> Child {
    foreglow(&[
        "run",
        "--mode",
        mode,
        "--data",
        text(folder.path()),
        "--image-px",
        "224",
        "--sampling-rate",
        "1",
        "--executors",
        "2",
        "--device",
        "cpu",
        "--format",
        "json",
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap()
}

/// Waits for the two executors of a long run.
pub fn executors_of(parent: &Child) -> Vec<Pid> {
    wait_for_executors(parent, 2)
}

/// Waits until the process has `count` children and returns them.
pub fn wait_for_executors(parent: &Child, count: usize) -> Vec<Pid> {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", parent.id())).unwrap_or_default();
        let pids: Vec<_> = children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().unwrap())).collect();
        if pids.len() == count {
            return pids;
        }
        assert!(Instant::now() < patience, "no executors after 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}
