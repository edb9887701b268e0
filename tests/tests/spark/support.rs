//! Collections on a cluster, and their results.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use foreglow_shared::{Outcome, Sample, parse_line};
use foreglow_spark_log::{Application, EventLogReader};
use foreglow_tests::{Answer, Cluster, Program, spark_home, words};

/// A short job.
pub const SMALL: &str = "--model lenet5 --memory 600 --images 64 --sampling-rate 1 --executors 1 --cores 1";
/// A job that runs long enough to kill its processes.
pub const LARGE: &str = "--model resnet18 --image-px 128 --memory 1024 --images 400 --partition-size 100 --sampling-rate 1 \
                         --executors 2 --cores 1";

/// The arguments of a collection on this cluster, followed by those of `job`.
pub fn collect(cluster: &Cluster, home: &Path, job: &str) -> Vec<String> {
    arguments_of(&cluster.master, &cluster.ui, home, job)
}

pub fn arguments_of(master: &str, ui: &str, home: &Path, job: &str) -> Vec<String> {
    let (spark, output) = (spark_home().unwrap(), home.join("samples.jsonl"));
    let usual = format!(
        "collect --engine spark --master {master} --master-ui {ui} --spark-home \"{}\" --spark-conf \
         spark.ui.enabled=false --format json --output \"{}\" {job}",
        spark.display(),
        output.display()
    );
    words(&usual)
}

pub fn run(home: &Path, arguments: &[String]) -> Answer {
    Answer::of(home, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).unwrap()
}

pub fn start(home: &Path, arguments: &[String]) -> anyhow::Result<Program> {
    Program::start(home, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

pub fn samples(answer: &Answer) -> Vec<Sample> {
    answer.stdout.lines().map(|line| parse_line(line).unwrap()).collect()
}

pub fn only_sample(answer: &Answer) -> Sample {
    let mut samples = samples(answer);
    assert_eq!(samples.len(), 1, "{answer:?}");
    samples.remove(0)
}

pub fn failed_sample(program: &Program) -> anyhow::Result<Sample> {
    let line = program.wait_for_line("\"outcome\"", Duration::from_secs(300))?;
    let sample = parse_line(&line)?;
    assert_eq!((sample.outcome, sample.completion_time_secs), (Outcome::Failed, None));
    Ok(sample)
}

pub fn event_log(file: &Path) -> Application {
    let mut reader = EventLogReader::new();
    reader.push(&std::fs::read(file).unwrap());
    reader.finish().unwrap()
}

/// A sample without the fields reported only by executors, which event logs lack.
pub fn without_executors_words(sample: &Sample) -> Sample {
    let mut sample = Sample { images_processed: None, peak_memory_mib: None, ..sample.clone() };
    for name in ["phases", "training"] {
        sample.extra.remove(name);
    }
    sample
}

pub fn script(folder: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let file = folder.join("program.sh");
    std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// Starts a collection, and waits until all executors work on the timed job.
pub fn at_work(cluster: &Cluster, home: &Path, job: &str) -> anyhow::Result<(Program, Vec<u32>)> {
    let logs = tempfile::tempdir_in(home)?.keep();
    let arguments = collect(cluster, home, &format!("{job} --event-logs {}", logs.display()));
    let program = start(home, &arguments)?;
    cluster.wait_until("the timed job", |_| {
        let log = std::fs::read_dir(&logs)?.flatten().next().map(|entry| entry.path());
        let text = log.map(std::fs::read_to_string).transpose()?.unwrap_or_default();
        Ok(text.contains("\"foreglow measured\""))
    })?;
    let executors = cluster.executor_processes();
    assert_eq!(executors.len(), 2);
    Ok((program, executors))
}

pub fn kill(process: u32) {
    assert!(Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success());
}

pub fn no_executor_is_left(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.wait_until("no executor to be left", |cluster| {
        Ok(cluster.executor_processes().is_empty() && cluster.executor_jvms().is_empty())
    })
}
