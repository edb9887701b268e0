//! Enforcement of the configuration (processors, memory) and the resource use of each executor.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use foreglow_shared::{Outcome, Sample, parse_line};

use crate::bench_folder::{foreglow, images, sample, text};
use crate::long_run::{executors_of, long_run};

fn run(more: &[&str]) -> (i32, Sample) {
    let arguments = ["run", "--model", "lenet5", "--images", "40", "--sampling-rate", "1", "--device", "cpu"];
    sample(&[&arguments[..], more, &["--format", "json"]].concat())
}

fn processors(sample: &Sample) -> Vec<Vec<u64>> {
    let numbers = |list: &serde_json::Value| list.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    sample.extra["executors"].as_array().unwrap().iter().map(|executor| numbers(&executor["processors"])).collect()
}

#[test]
fn executors_are_pinned_to_disjoint_processors_if_there_are_enough() {
    let (code, sample) = run(&["--executors", "2", "--cores", "1"]);
    assert_eq!(code, 0, "{sample:?}");
    let own = processors(&sample);
    if sample.host.processors.unwrap() < 2 {
        eprintln!("SKIPPED in part: this machine has one processor");
        assert_eq!(own, [[0u64; 0]; 2]);
        return;
    }
    assert!(own.iter().all(|own| own.len() == 1) && own[0] != own[1], "{own:?}");

    let folder = images(100);
    let mut running = long_run(&folder, "inference");
    let patience = Instant::now() + Duration::from_secs(20);
    let lists: Vec<String> =
        executors_of(&running).into_iter().map(|pid| allowed(pid.as_raw_nonzero().get(), patience)).collect();
    assert_ne!(lists[0], lists[1]);
    running.kill().unwrap();
    running.wait().unwrap();

    let (_, crowded) = run(&["--executors", "2", "--cores", &sample.host.processors.unwrap().to_string()]);
    assert_eq!(processors(&crowded), [[0u64; 0]; 2], "twice as many slots as processors are left to the system");
}

/// Returns the processor of an executor once it is pinned to a single one.
fn allowed(pid: i32, patience: Instant) -> String {
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned();
        if list.parse::<u32>().is_ok() {
            return list;
        }
        assert!(Instant::now() < patience, "the executor still may use {list}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn executors_stay_on_the_processors_that_foreglow_may_use() {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let last = (0..rustix::thread::CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).max().unwrap();
    let bound = |executors: &str| {
        let run =
            foreglow(&["run", "--model", "lenet5", "--images", "40", "--executors", executors, "--device", "cpu"]);
        let mut command = Command::new("taskset");
        command.args(["-c", &last.to_string()]).arg(run.get_program()).args(run.get_args()).args(["--format", "json"]);
        for (name, value) in run.get_envs() {
            command.env(name, value.unwrap());
        }
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        parse_line(String::from_utf8(output.stdout).unwrap().trim()).unwrap()
    };
    let one = bound("1");
    assert_eq!((one.host.processors, processors(&one)), (Some(1), vec![vec![last as u64]]));
    assert_eq!(processors(&bound("2")), [[0u64; 0]; 2]);
}

#[test]
fn a_sample_has_the_resource_use_of_each_executor() {
    let (code, sample) = run(&["--executors", "2", "--cores", "1", "--partition-size", "4"]);
    assert_eq!(code, 0, "{sample:?}");
    let executors = sample.extra["executors"].as_array().unwrap();
    assert_eq!(executors.len(), 2);
    let sum = |name: &str| executors.iter().map(|executor| executor[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("partitions"), sum("images")), (10, 40));
    let bounds = ["cgroup", "rlimit"];
    assert!(
        executors.iter().all(|executor| bounds.contains(&executor["memory_bound"].as_str().unwrap())),
        "{executors:?}"
    );
    let largest = executors.iter().map(|executor| executor["peak_memory_mib"].as_u64().unwrap()).max();
    assert_eq!(sample.peak_memory_mib, largest);
    assert!((1..2048).contains(&largest.unwrap()), "{largest:?}");
    for phase in ["read_secs", "decode_secs", "copy_secs", "forward_secs"] {
        let of_all: f64 = executors.iter().map(|executor| executor["phases"][phase].as_f64().unwrap()).sum();
        assert!((sample.extra["phases"][phase].as_f64().unwrap() - of_all).abs() < 1e-5, "{phase}");
    }
}

#[test]
fn a_stopped_run_has_the_resource_use_so_far() {
    let folder = images(40);
    let arguments = ["run", "--data", text(folder.path()), "--image-px", "224", "--sampling-rate", "1"];
    let (code, sample) =
        sample(&[&arguments[..], &["--timeout", "0.5", "--device", "cpu", "--format", "json"]].concat());
    assert_eq!((code, sample.outcome), (1, Outcome::TimedOut));
    assert!(sample.peak_memory_mib.unwrap() > 40, "ResNet-18 alone has 45 MB of weights: {sample:?}");
}
