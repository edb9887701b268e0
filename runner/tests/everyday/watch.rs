//! Jobs that are followed while they run.

use std::io::BufRead as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::foreglow::Foreglow;

const PATIENCE: Duration = Duration::from_secs(60);

/// A job that counts 40 steps, 25 a second.
const STEPS: &str = "i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo \"step $i/40 loss 1.5\"; sleep 0.04; done";

/// A log whose lines have times: 20 of 100 steps, one every 30 s.
fn log() -> String {
    let line = |step: u32| {
        let secs = 30 * step;
        format!("2026-11-28 18:{:02}:{:02},000 INFO step {step}/100 loss 1.5\n", secs / 60, secs % 60)
    };
    (1..=20).map(line).collect()
}

fn states(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_log_tells_what_is_left_what_it_costs_and_whether_the_deadline_is_met() {
    let home = Foreglow::new();
    let log = home.write("train.log", &log());
    let options = ["watch", &log, "--once", "--deadline", "2h", "--hourly-price", "3.60", "--format", "json"];
    let answer = home.run(&options);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let state = &states(&answer.stdout)[0];
    assert_eq!((&state["state"], &state["unit"]), (&"running".into(), &"steps".into()));
    assert_eq!((state["done"].as_f64(), state["of"].as_f64()), (Some(20.0), Some(100.0)));
    let left = state["left_secs"].as_f64().unwrap();
    // 80 steps of 30 s, less the time since the file was written.
    assert!((2340.0..=2400.0).contains(&left), "{state}");
    let interval = &state["left_interval"];
    assert!(interval["lower_secs"].as_f64().unwrap() <= left && interval["upper_secs"].as_f64().unwrap() >= left);
    assert!(state["deadline_probability"].as_f64().unwrap() > 0.99, "{state}");
    let cost = state["cost"]["at_the_end"].as_f64().unwrap();
    assert!((2.9..=3.05).contains(&cost), "{state}");
    let text = home.run(&["watch", &log, "--once"]);
    assert!(text.stdout.starts_with("20 of 100 steps, 20 %; left 39 min") || text.stdout.contains("left 40 min"));
}

#[test]
fn a_deadline_that_becomes_unlikely_runs_a_command_once() {
    let home = Foreglow::new();
    let (log, told) = (home.write("train.log", &log()), home.path("told"));
    let notify = format!("echo \"$FOREGLOW_STATE\" >> {told}");
    let answer = home.run(&["watch", &log, "--once", "--deadline", "20m", "--notify", &notify]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let patience = Instant::now() + PATIENCE;
    let lines = loop {
        let lines = std::fs::read_to_string(&told).unwrap_or_default();
        if lines.ends_with('\n') || Instant::now() > patience {
            break lines;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(lines, answer.stdout);
    assert!(lines.contains("meets the deadline with < 1 %"), "{lines}");
}

#[test]
fn a_command_keeps_its_output_and_its_end() {
    let home = Foreglow::new();
    let answer = home.run(&["watch", "--every", "1s", "--format", "json", "--", "sh", "-c", STEPS]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!((answer.stdout.lines().count(), answer.stdout.lines().last()), (40, Some("step 40/40 loss 1.5")));
    let of_foreglow: Vec<&str> =
        answer.stderr.lines().filter_map(|line| line.split_once("foreglow: ")).map(|(_, state)| state).collect();
    let states = states(&of_foreglow.join("\n"));
    assert_eq!(states.last().unwrap()["state"], "finished", "{}", answer.stderr);
    // The last report of a program comes before its end.
    let done = home.run(&["watch", "--", "sh", "-c", "for i in 10 20 30; do echo step $i/40; done"]);
    assert!(done.code == 0 && done.stderr.contains("foreglow: finished: 30 of 40 steps, 75 %"), "{}", done.stderr);
    let failed = home.run(&["watch", "--", "sh", "-c", "echo step 1/9; exit 3"]);
    assert_eq!((failed.code, failed.stdout.as_str()), (1, "step 1/9\n"));
    assert!(failed.stderr.contains("foreglow: ended early: 1 of 9 steps"), "{}", failed.stderr);
    assert!(failed.stderr.contains("the command failed: exit status: 3"), "{}", failed.stderr);
}

#[test]
fn a_command_that_writes_without_a_pause_is_followed_and_ends_with_an_interrupt() {
    let home = Foreglow::new();
    let mut command = home.command();
    let mut watch = command
        .args(["watch", "--every", "100ms", "--", "yes", "step 1/9"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let errors = std::io::BufReader::new(watch.stderr.take().unwrap());
    let states = errors.lines().map_while(Result::ok).filter(|line| line.starts_with("foreglow: 1 of 9 steps"));
    assert_eq!(states.take(3).count(), 3);
    rustix::process::kill_process(rustix::process::Pid::from_child(&watch), rustix::process::Signal::INT).unwrap();
    assert_eq!(watch.wait().unwrap().code(), Some(130));
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_is_followed_to_its_end_by_the_file_of_its_output() {
    let home = Foreglow::new();
    let log = home.path("out.log");
    let mut job = std::process::Command::new("sh")
        .args(["-c", STEPS])
        .stdout(std::fs::File::create(&log).unwrap())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let answer = home.run(&["watch", "--pid", &job.id().to_string(), "--every", "500ms", "--format", "json"]);
    job.wait().unwrap();
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let states = states(&answer.stdout);
    assert_eq!(states.last().unwrap()["state"], "finished", "{}", answer.stdout);
    let missing = home.run(&["watch", "--pid", &job.id().to_string()]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("there is no running process"), "{}", missing.stderr);
}

#[test]
fn a_log_is_followed_to_the_end_of_its_work_through_a_rotation() {
    let home = Foreglow::new();
    let log = home.write("train.log", "step 1/40 loss 1.5\n");
    let mut command = home.command();
    let mut watch = command
        .args(["watch", &log, "--every", "300ms", "--format", "json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(watch.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains(r#""done":1.0"#));
    for step in 2..=40 {
        if step == 20 {
            std::fs::rename(&log, home.path("train.log.1")).unwrap();
        }
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        std::io::Write::write_all(&mut file, format!("step {step}/40 loss 1.5\n").as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    let states: Vec<Value> = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(watch.wait().unwrap().success());
    let last = states.last().unwrap();
    assert_eq!((&last["state"], &last["done"]), (&"finished".into(), &40.0.into()), "{states:?}");
    assert!(states.iter().any(|state| state["state"] == "running" && state["left_secs"].is_number()), "{states:?}");
}

#[test]
fn what_cannot_be_followed_is_refused_with_what_to_do() {
    let home = Foreglow::new();
    let folder = home.path("");
    for (arguments, sentence) in [
        (vec!["watch"], "give a log, --pid PID, or -- COMMAND"),
        (vec!["watch", &folder], "it is not a regular file"),
        (vec!["watch", "no.log"], "no.log"),
        (vec!["watch", "--", "no-such-program"], "no-such-program cannot be started"),
        (vec!["watch", "x.log", "--progress", "("], "--progress"),
        (vec!["watch", "x.log", "--notify", "true"], "--deadline"),
    ] {
        let answer = home.run(&arguments);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(sentence), "{arguments:?}: {}", answer.stderr);
    }
}
