//! End-to-end tests on GPUs. A Vulkan layer makes Mesa's software adapter look like one or two
//! discrete GPUs; everything above the driver is the same as on real hardware.
#![cfg(target_os = "linux")]

mod answers;
mod bench;
mod counting;
mod faults;
mod formats;
mod page;
mod training;

use std::path::Path;

use foreglow_shared::{Sample, parse_line};
use foreglow_tests::{Answer, GpuRig};

/// A run that takes a few seconds on a software adapter.
const SMALL: &str = "--model lenet5 --images 64 --sampling-rate 1 --batch-size 8 --cores 1";

/// Runs `foreglow` on a rig.
fn on(rig: &GpuRig, home: &Path, line: &str) -> Answer {
    let args: Vec<&str> = line.split_whitespace().collect();
    Answer::with(home, &args, rig.variables()).expect("foreglow starts")
}

/// Measures one run on a rig.
fn measured(rig: &GpuRig, home: &Path, arguments: &str) -> Sample {
    let answer = on(rig, home, &format!("run {SMALL} --format json {arguments}"));
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    parse_line(answer.stdout.trim()).expect("standard output is a sample")
}
